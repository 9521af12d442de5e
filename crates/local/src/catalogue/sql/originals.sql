-- One piece of a stream.
SELECT seq, url_key, content_hash, simhash, word_count
FROM pages
WHERE seq > ?1
  AND seq <= ?2
  AND job = ?3
  AND status = 200
  AND bytes > 0
  AND duplicate_of IS NULL
ORDER BY seq
LIMIT ?4
