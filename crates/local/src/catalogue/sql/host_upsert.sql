INSERT INTO hosts (
    host, root_domain, robots_text, robots_fetched_at, robots_status, crawl_delay_ms, delay_ms, is_allowed,
    page_count, error_count, bytes, last_request_at
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT (host) DO UPDATE SET
    root_domain = excluded.root_domain,
    robots_text = coalesce(excluded.robots_text, robots_text),
    robots_fetched_at = coalesce(excluded.robots_fetched_at, robots_fetched_at),
    robots_status = coalesce(excluded.robots_status, robots_status),
    crawl_delay_ms = excluded.crawl_delay_ms,
    delay_ms = excluded.delay_ms,
    is_allowed = excluded.is_allowed,
    page_count = excluded.page_count,
    error_count = excluded.error_count,
    bytes = excluded.bytes,
    last_request_at = coalesce(excluded.last_request_at, last_request_at)
