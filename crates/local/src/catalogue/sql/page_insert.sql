INSERT INTO pages (
    seq, url_key, job, round, batch, repeated, noindex, nofollow, host, status, fetch_ms, bytes,
    depth, url, final_url, error, duplicate_of, source, title, description, keywords, author,
    language, canonical, content_type, content_hash, simhash, word_count, topics, links,
    crawled_at, archive, redirects, retry_count, priority, scheduled_at, next_crawl_at,
    crawl_count, error_count, started, duration_ms, dns_us, connect_us, tls_us, first_byte_us,
    download_us, og_title, og_description, og_image, og_type, headings, etag, last_modified,
    worker_id
) VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
    ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40,
    ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54
)
