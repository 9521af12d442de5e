SELECT hosts.host, delays.longest
FROM (
    SELECT host AS id, max(required_delay_ms) AS longest
    FROM fetches
    WHERE id BETWEEN ?2 AND ?3
      AND job = ?1
    GROUP BY host
) AS delays
JOIN hosts ON hosts.id = delays.id
