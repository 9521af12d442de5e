SELECT url, final_url, status_code, fetch_ms, error_message, duplicate_of, source
FROM crawl_metadata
WHERE job = $1
  AND {wanted}
ORDER BY {order}
LIMIT $2
