-- What limits and trap rules cut off: how much of a page, and all of them of a job without reading the other refusals.
ALTER TABLE skipped ADD COLUMN amount INTEGER NOT NULL DEFAULT 0;

CREATE INDEX skipped_cuts ON skipped (job, id)
WHERE reason IN ('trap', 'too_many_links', 'url_too_long', 'body_truncated');
