WHERE pages.repeated
  AND pages.batch = ?1
ORDER BY pages.seq
