SELECT
    pages.seq, pages.url_key, pages.job, pages.round, pages.batch, pages.repeated, pages.noindex,
    pages.nofollow, hosts.host, pages.status, pages.fetch_ms, pages.bytes, pages.depth, pages.url,
    pages.final_url, pages.error, pages.duplicate_of, pages.source, pages.title, pages.description,
    pages.keywords, pages.author, pages.language, pages.canonical, pages.content_type,
    pages.content_hash, pages.simhash, pages.word_count, pages.topics, pages.links,
    pages.crawled_at, pages.archive, pages.redirects, pages.retry_count, pages.priority,
    pages.scheduled_at, pages.next_crawl_at, pages.crawl_count, pages.error_count, pages.started,
    pages.duration_ms, pages.dns_us, pages.connect_us, pages.tls_us, pages.first_byte_us,
    pages.download_us, pages.og_title, pages.og_description, pages.og_image, pages.og_type,
    pages.headings, pages.etag, pages.last_modified, pages.worker_id
FROM pages JOIN hosts ON hosts.id = pages.host
