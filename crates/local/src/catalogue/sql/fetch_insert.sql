INSERT INTO fetches (
    id, url_key, job, host, started, duration_ms, kind, round, attempt, hop, outcome, status,
    error, bytes, url, scheduled_url, address, rule, rule_line, required_delay_ms, per_host,
    dns_us, connect_us, tls_us, first_byte_us, download_us, worker_id
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
    ?22, ?23, ?24, ?25, ?26, ?27
)
