WHERE fetches.id BETWEEN ?1 AND ?2
  AND fetches.url = ?3
  AND fetches.scheduled_url IS NOT NULL
  AND fetches.job = ?4
ORDER BY fetches.started, fetches.id
LIMIT ?5
