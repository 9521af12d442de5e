INSERT INTO robots_bodies (hash, body)
SELECT DISTINCT ON (hash) hash, body FROM staged_robots
ON CONFLICT DO NOTHING;

INSERT INTO robots (origin, fetched_at, status, hash)
SELECT DISTINCT ON (origin, fetched_at) origin, fetched_at, status, hash
FROM staged_robots
ORDER BY origin, fetched_at, ord DESC
ON CONFLICT (origin, fetched_at) DO UPDATE SET status = excluded.status, hash = excluded.hash;
