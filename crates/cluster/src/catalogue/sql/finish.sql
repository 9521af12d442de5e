INSERT INTO job_counts (job, class, word, count)
SELECT job, class, word, sum(count) FROM staged_counts
GROUP BY job, class, word
HAVING sum(count) <> 0
ON CONFLICT (job, class, word) DO UPDATE SET count = job_counts.count + excluded.count;

UPDATE catalogue_clock SET
    next_batch = next_batch + 1,
    next_page = next_page + (SELECT count(*) FROM staged_pages) - (SELECT count(*) FROM staged_known),
    next_fetch = next_fetch + (SELECT count(*) FROM staged_fetches);

INSERT INTO batches (batch, at, next_page, next_fetch)
SELECT next_batch - 1, 'epoch'::timestamptz + {at} * interval '1 ms', next_page, next_fetch FROM catalogue_clock;

DELETE FROM batches WHERE batch < (SELECT next_batch - 1 - {kept} FROM catalogue_clock);

-- Short enough to leave the server even if nobody reads it.
INSERT INTO staged_answer (answer)
SELECT concat_ws(
    ' ',
    next_batch - 1,
    next_page - (SELECT count(*) FROM staged_pages) + (SELECT count(*) FROM staged_known),
    (SELECT string_agg(ord || ':' || id, ' ') FROM staged_known)
)
FROM catalogue_clock;
