-- Only what is sorted by goes through the sorter; the rows are fetched one by one.
SELECT fetches.id
FROM fetches JOIN hosts ON hosts.id = fetches.host
WHERE fetches.id BETWEEN ?1 AND ?2
  AND (?3 IS NULL OR fetches.job = ?3)
ORDER BY hosts.host, fetches.started, fetches.duration_ms, fetches.id
