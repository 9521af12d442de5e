WHERE pages.repeated
  AND pages.batch > ?1
  AND pages.seq <= ?2
ORDER BY pages.seq
