-- What is said of a page's links is no refusal of the page.
DELETE FROM skipped
WHERE url_key = ?1
  AND job = ?2
  AND reason <> 'too_many_links'
RETURNING reason
