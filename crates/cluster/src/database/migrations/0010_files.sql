-- When a file was found to be gone from the disk of its worker, and to be nowhere else. It may come back with the disk.
ALTER TABLE positions ADD COLUMN lost_at TIMESTAMPTZ;

DROP INDEX positions_on_disks;
CREATE INDEX positions_on_disks ON positions (worker) WHERE kept_at IS NULL;

-- The content of the page was in such a file: raw_html_path says where it was.
ALTER TABLE crawl_metadata ADD COLUMN archive_lost BOOLEAN NOT NULL DEFAULT false;

CREATE INDEX crawl_metadata_lost ON crawl_metadata (job) WHERE archive_lost;
