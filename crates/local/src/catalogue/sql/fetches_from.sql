WHERE fetches.id >= ?1
ORDER BY fetches.id
LIMIT ?2
