-- Where a file of the archive is kept since it left the disk of its worker: s3://bucket/KEY. NULL while it is there.
ALTER TABLE positions ADD COLUMN kept_at TEXT;

CREATE INDEX positions_by_file ON positions (file);
CREATE INDEX positions_on_disks ON positions (worker) WHERE store = 'archive' AND kept_at IS NULL;
