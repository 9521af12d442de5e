SELECT
    host, root_domain, robots_text, robots_fetched_at, robots_status, crawl_delay_ms, delay_ms, is_allowed,
    page_count, error_count, bytes, last_request_at
FROM hosts
WHERE host = $1
