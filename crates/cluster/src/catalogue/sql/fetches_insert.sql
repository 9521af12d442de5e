INSERT INTO fetches (id, {columns})
SELECT next_fetch - 1 + row_number() OVER (ORDER BY ord), {columns}
FROM staged_fetches CROSS JOIN catalogue_clock;

INSERT INTO staged_counts (job, class, word, count)
SELECT job, 'total', 'requests', count(*) FROM staged_fetches GROUP BY job
UNION ALL
SELECT job, 'total', 'received', sum(bytes)::bigint FROM staged_fetches GROUP BY job;
