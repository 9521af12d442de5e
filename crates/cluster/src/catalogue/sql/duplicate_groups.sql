-- The largest groups, then the first pages of each.
WITH groups AS (
    SELECT duplicate_of, count(*) AS size
    FROM crawl_metadata
    WHERE job = $1
      AND duplicate_of IS NOT NULL
    GROUP BY duplicate_of
    ORDER BY size DESC, duplicate_of COLLATE "C"
    LIMIT $2
),
numbered AS (
    SELECT
        duplicate_of, size, url,
        row_number() OVER (PARTITION BY duplicate_of ORDER BY id) AS number
    FROM crawl_metadata
    JOIN groups USING (duplicate_of)
    WHERE job = $1
)
SELECT duplicate_of, size, url
FROM numbered
WHERE number <= $3
ORDER BY size DESC, duplicate_of COLLATE "C", number
