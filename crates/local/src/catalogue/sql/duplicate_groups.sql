-- The largest groups, then the first pages of each.
WITH groups AS (
    SELECT duplicate_of, count(*) AS size
    FROM pages
    WHERE seq BETWEEN ?2 AND ?3
      AND job = ?1
      AND duplicate_of IS NOT NULL
    GROUP BY duplicate_of
    ORDER BY size DESC, duplicate_of
    LIMIT ?4
),
numbered AS (
    SELECT
        duplicate_of, size, url,
        row_number() OVER (PARTITION BY duplicate_of ORDER BY seq) AS number
    FROM pages
    JOIN groups USING (duplicate_of)
    WHERE seq BETWEEN ?2 AND ?3
      AND job = ?1
)
SELECT duplicate_of, size, url
FROM numbered
WHERE number <= ?5
ORDER BY size DESC, duplicate_of, number
