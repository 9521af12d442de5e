WHERE fetches.id BETWEEN ?1 AND ?2
  AND fetches.url_key = ?3
  AND (?4 IS NULL OR fetches.job = ?4)
ORDER BY fetches.started, fetches.id
LIMIT ?5
