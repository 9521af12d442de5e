SELECT
    fetches.id, fetches.url_key, fetches.job, hosts.host, fetches.started, fetches.duration_ms,
    fetches.kind, fetches.round, fetches.attempt, fetches.hop, fetches.outcome, fetches.status,
    fetches.error, fetches.bytes, fetches.url, fetches.scheduled_url, fetches.address,
    fetches.rule, fetches.rule_line, fetches.required_delay_ms, fetches.per_host, fetches.dns_us,
    fetches.connect_us, fetches.tls_us, fetches.first_byte_us, fetches.download_us,
    fetches.worker_id
FROM fetches JOIN hosts ON hosts.id = fetches.host
