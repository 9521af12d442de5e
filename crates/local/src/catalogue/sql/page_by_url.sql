WHERE pages.url_key = ?1
  AND (?2 IS NULL OR pages.job = ?2)
ORDER BY pages.job DESC, pages.round DESC
LIMIT 1
