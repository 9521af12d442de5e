-- One piece of a stream: short enough to hold no snapshot for long.
WHERE pages.seq > ?1
  AND pages.seq <= ?2
  AND (?3 IS NULL OR pages.job = ?3)
  AND (?4 OR NOT pages.noindex)
ORDER BY pages.seq
LIMIT ?5
