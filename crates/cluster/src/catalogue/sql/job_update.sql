UPDATE jobs SET
    state = coalesce(change.state, jobs.state),
    -- A message belongs to the state it came with.
    message = CASE WHEN change.state IS NULL THEN coalesce(change.message, jobs.message) ELSE change.message END,
    spec = coalesce(change.spec, jobs.spec),
    started_at = coalesce(jobs.started_at, change.started_at),
    finished_at = CASE WHEN change.state IS NULL THEN jobs.finished_at ELSE change.finished_at END
FROM staged_jobs AS change
WHERE change.ord = {ord}
  AND jobs.id = change.job;
