UPDATE jobs SET
    state = coalesce(?2, state),
    -- A message belongs to the state it came with.
    message = CASE WHEN ?2 IS NULL THEN coalesce(?3, message) ELSE ?3 END,
    spec = coalesce(?4, spec),
    started_at = coalesce(started_at, ?5),
    finished_at = CASE WHEN ?2 IS NULL THEN finished_at ELSE ?6 END
WHERE id = ?1
