-- A visit that is recorded again keeps its number. The parameters are those of page_insert.sql.
UPDATE pages SET
    url_key = ?2, job = ?3, round = ?4, batch = ?5, repeated = ?6, noindex = ?7, nofollow = ?8,
    host = ?9, status = ?10, fetch_ms = ?11, bytes = ?12, depth = ?13, url = ?14, final_url = ?15,
    error = ?16, duplicate_of = ?17, source = ?18, title = ?19, description = ?20, keywords = ?21,
    author = ?22, language = ?23, canonical = ?24, content_type = ?25, content_hash = ?26,
    simhash = ?27, word_count = ?28, topics = ?29, links = ?30, crawled_at = ?31, archive = ?32,
    redirects = ?33, retry_count = ?34, priority = ?35, scheduled_at = ?36, next_crawl_at = ?37,
    crawl_count = ?38, error_count = ?39, started = ?40, duration_ms = ?41, dns_us = ?42,
    connect_us = ?43, tls_us = ?44, first_byte_us = ?45, download_us = ?46, og_title = ?47,
    og_description = ?48, og_image = ?49, og_type = ?50, headings = ?51, etag = ?52,
    last_modified = ?53, worker_id = ?54
WHERE seq = ?1
