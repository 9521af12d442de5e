INSERT INTO crawl_metadata (id, batch, repeated, {columns})
SELECT next_page - 1 + row_number() OVER (ORDER BY ord), next_batch, false, {columns}
FROM staged_pages CROSS JOIN catalogue_clock
WHERE NOT EXISTS (SELECT FROM staged_known WHERE staged_known.ord = staged_pages.ord);
