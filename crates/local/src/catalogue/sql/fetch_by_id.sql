WHERE fetches.id = ?1
