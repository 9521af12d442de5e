SELECT robots.origin, robots.fetched_at, robots.status, robots_bodies.body
FROM robots JOIN robots_bodies ON robots_bodies.hash = robots.hash
WHERE robots.origin = ?1
ORDER BY robots.fetched_at
