INSERT INTO hosts ({columns})
SELECT DISTINCT ON (host) {columns} FROM staged_hosts ORDER BY host, ord DESC
ON CONFLICT (host) DO UPDATE SET
    root_domain = excluded.root_domain,
    robots_text = coalesce(excluded.robots_text, hosts.robots_text),
    robots_fetched_at = coalesce(excluded.robots_fetched_at, hosts.robots_fetched_at),
    robots_status = coalesce(excluded.robots_status, hosts.robots_status),
    crawl_delay_ms = excluded.crawl_delay_ms,
    delay_ms = excluded.delay_ms,
    is_allowed = excluded.is_allowed,
    page_count = excluded.page_count,
    error_count = excluded.error_count,
    bytes = excluded.bytes,
    last_request_at = coalesce(excluded.last_request_at, hosts.last_request_at);
