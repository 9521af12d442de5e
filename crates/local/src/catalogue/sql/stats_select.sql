SELECT at, pages, failed, skipped, bytes, pending, in_progress, hosts_active, hosts_waiting
FROM job_stats
WHERE job = ?1
  AND at >= ?2
ORDER BY at
