SELECT origin, fetched_at, status, body
FROM robots JOIN robots_bodies USING (hash)
WHERE origin = $1
ORDER BY fetched_at
