UPDATE jobs SET
    first_page = coalesce(first_page, ?2),
    last_page = coalesce(?3, last_page),
    first_fetch = coalesce(first_fetch, ?4),
    last_fetch = coalesce(?5, last_fetch)
WHERE id = ?1
