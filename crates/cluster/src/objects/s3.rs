//! Objects in S3 or a compatible server. Requests are signed in their URL; every body has its MD5, which the server
//! checks; a file is uploaded in parts, several at once.

use super::{ObjectHead, ObjectMetadata, Objects, checked_key, not_found};
use crate::http::{Answer, Http, Request};
use argiope_store::error::{ErrorKind, Result, StoreError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use hyper::Method;
use md5::{Digest, Md5};
use rusty_s3::actions::{CreateMultipartUpload, ListObjectsV2, S3Action};
use rusty_s3::{Bucket, Credentials, UrlStyle};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use url::Url;

const SETTING: &str = "storage.html_bucket";
/// Validity of a signature: longer than any request takes.
const VALID_FOR: Duration = Duration::from_secs(600);
/// Files up to this length go in one piece; S3 wants parts of 5 MB at least.
const PART_BYTES: u64 = 8 << 20;
const PARTS_AT_ONCE: u64 = 4;
/// Responses with only a few words of XML.
const SHORT_ANSWER: usize = 64 * 1024;
const LONG_ANSWER: usize = 4 << 20;
/// The prefix of metadata headers.
const FACT_HEADER: &str = "x-amz-meta-";

pub struct S3 {
    bucket: Bucket,
    credentials: Credentials,
    http: Http,
    place: String,
}

impl S3 {
    /// Without an endpoint the bucket is at Amazon. Does not connect.
    pub fn new(
        name: &str,
        region: &str,
        endpoint: Option<&str>,
        key: String,
        secret: String,
        token: Option<String>,
    ) -> Result<S3> {
        let wrong = |message: String| StoreError::new(ErrorKind::Usage, SETTING, message);
        let address = endpoint.map_or_else(|| format!("https://s3.{region}.amazonaws.com"), str::to_owned);
        let url = Url::parse(&address)
            .map_err(|error| wrong(format!("'{address}' is not an address ({error})")))?;
        // Amazon's certificates match only names without dots; other servers are often at an IP address.
        let style =
            if endpoint.is_none() && !name.contains('.') { UrlStyle::VirtualHost } else { UrlStyle::Path };
        let bucket = Bucket::new(url, style, name.to_owned(), region.to_owned())
            .map_err(|error| wrong(format!("'{address}' is not valid ({error})")))?;
        let credentials = match token {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        };
        let http = Http::start(bucket.base_url(), None)
            .map_err(|error| wrong(format!("'{address}' is not valid ({error})")))?;
        let place = format!("s3://{name} at {}", bucket.base_url());
        Ok(S3 { bucket, credentials, http, place })
    }

    fn ask<'a, A: S3Action<'a>>(
        &self,
        mut action: A,
        headers: Vec<(String, String)>,
        body: Bytes,
        longest_answer: usize,
    ) -> Result<Answer> {
        for (name, value) in &headers {
            action.headers_mut().insert(name.clone(), value.clone());
        }
        let request =
            Request { method: method(A::METHOD), url: action.sign(VALID_FOR), headers, body, longest_answer };
        self.http.exchange(request).map_err(|error| {
            let message = format!("{} is unreachable ({error})", self.place);
            StoreError::new(ErrorKind::Unreachable, SETTING, message).with_source(error)
        })
    }

    /// The response, if it reports success.
    fn done(&self, key: &str, answer: Answer) -> Result<Answer> {
        if (200..300).contains(&answer.status) { Ok(answer) } else { Err(self.refused(key, &answer)) }
    }

    fn refused(&self, key: &str, answer: &Answer) -> StoreError {
        let text = String::from_utf8_lossy(answer.body.get(..SHORT_ANSWER).unwrap_or(&answer.body));
        let code = element(&text, "Code").unwrap_or("no word");
        let detail = element(&text, "Message").unwrap_or_default();
        let said = format!("{} returned {} {code} {detail}", self.place, answer.status);
        let said = said.trim_end().to_owned();
        match (answer.status, code) {
            (404, "NoSuchBucket") => {
                StoreError::new(ErrorKind::Usage, SETTING, format!("there is no such bucket: {said}"))
            }
            (404, _) => not_found(key, &self.place),
            (401 | 403, _) => {
                let advice = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions";
                StoreError::new(ErrorKind::Usage, SETTING, format!("{said}; {advice}"))
            }
            (408 | 409 | 429 | 500.., _) => StoreError::new(ErrorKind::Unreachable, SETTING, said),
            _ => StoreError::new(ErrorKind::Io, key, said),
        }
    }

    fn put_parts(&self, key: &str, file: &File, length: u64, object_metadata: &ObjectMetadata) -> Result<()> {
        let create = self.bucket.create_multipart_upload(Some(&self.credentials), key);
        let answer =
            self.done(key, self.ask(create, metadata_headers(object_metadata), Bytes::new(), SHORT_ANSWER)?)?;
        let text = String::from_utf8_lossy(&answer.body);
        let upload =
            CreateMultipartUpload::parse_response(&text).map_err(|error| self.garbled(key, &error))?;
        let upload = upload.upload_id();
        let uploaded =
            self.upload_parts(key, file, length, upload).and_then(|etags| self.complete(key, upload, &etags));
        if uploaded.is_err() {
            // Parts of an incomplete upload are stored and paid for; the store's lifecycle rules remove what remains.
            let abort = self.bucket.abort_multipart_upload(Some(&self.credentials), key, upload);
            if let Err(error) = self.ask(abort, Vec::new(), Bytes::new(), SHORT_ANSWER) {
                tracing::debug!(key, %error, "cannot abort an upload; its parts remain in the store");
            }
        }
        uploaded
    }

    /// Uploads all parts, several at once; returns their tags in order.
    fn upload_parts(&self, key: &str, file: &File, length: u64, upload: &str) -> Result<Vec<String>> {
        let parts = length.div_ceil(PART_BYTES);
        let next = AtomicU64::new(0);
        let etags = Mutex::new(vec![String::new(); usize::try_from(parts).unwrap_or(0)]);
        let work = || -> Result<()> {
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= parts {
                    return Ok(());
                }
                // After a failure the others need not continue.
                let etag = self
                    .upload_part(key, file, length, upload, part)
                    .inspect_err(|_| next.store(parts, Ordering::Relaxed))?;
                let mut etags = etags.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(slot) = usize::try_from(part).ok().and_then(|at| etags.get_mut(at)) {
                    *slot = etag;
                }
            }
        };
        std::thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..PARTS_AT_ONCE.min(parts)).map(|_| scope.spawn(work)).collect();
            let mut outcome = Ok(());
            for worker in workers {
                let died =
                    || Err(StoreError::new(ErrorKind::Io, key, "a thread that uploaded a part panicked"));
                outcome = outcome.and(worker.join().unwrap_or_else(|_| died()));
            }
            outcome
        })?;
        Ok(etags.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn upload_part(&self, key: &str, file: &File, length: u64, upload: &str, part: u64) -> Result<String> {
        let offset = part * PART_BYTES;
        let mut bytes = vec![0; usize::try_from(PART_BYTES.min(length - offset)).unwrap_or(0)];
        file.read_exact_at(&mut bytes, offset).map_err(|error| StoreError::io(key, error))?;
        // Parts are counted from one.
        let number = u16::try_from(part + 1).unwrap_or(u16::MAX);
        let action = self.bucket.upload_part(Some(&self.credentials), key, number, upload);
        let headers = vec![content_md5(&bytes)];
        let answer = self.done(key, self.ask(action, headers, bytes.into(), SHORT_ANSWER)?)?;
        let etag = answer.headers.get("etag").and_then(|value| value.to_str().ok());
        etag.map(str::to_owned).ok_or_else(|| self.garbled(key, &"a part without a tag"))
    }

    fn complete(&self, key: &str, upload: &str, etags: &[String]) -> Result<()> {
        let etags = etags.iter().map(String::as_str);
        let action = self.bucket.complete_multipart_upload(Some(&self.credentials), key, upload, etags);
        let body = action.clone().body();
        let answer = self.done(key, self.ask(action, Vec::new(), body.into(), SHORT_ANSWER)?)?;
        // The status may be 200 before the server knows the result.
        match element(&String::from_utf8_lossy(&answer.body), "Code") {
            None => Ok(()),
            Some(code) => {
                let message = format!("{} could not assemble the parts: {code}", self.place);
                Err(StoreError::new(ErrorKind::Unreachable, SETTING, message))
            }
        }
    }

    fn garbled(&self, key: &str, error: &dyn std::fmt::Display) -> StoreError {
        StoreError::new(ErrorKind::Io, key, format!("{} does not respond like S3 ({error})", self.place))
    }

    fn put_with(
        &self,
        key: &str,
        body: &[u8],
        object_metadata: &ObjectMetadata,
        more: Option<(&str, &str)>,
    ) -> Result<Answer> {
        checked_key(key)?;
        let mut headers = metadata_headers(object_metadata);
        headers.push(content_md5(body));
        headers.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let action = self.bucket.put_object(Some(&self.credentials), key);
        self.ask(action, headers, Bytes::copy_from_slice(body), SHORT_ANSWER)
    }
}

impl Objects for S3 {
    fn place(&self) -> &str {
        &self.place
    }

    fn address(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.bucket.name())
    }

    fn check(&self) -> Result<()> {
        let action = self.bucket.head_bucket(Some(&self.credentials));
        let answer = self.ask(action, Vec::new(), Bytes::new(), SHORT_ANSWER)?;
        match answer.status {
            404 => {
                let message = format!("there is no such bucket: {}", self.place);
                Err(StoreError::new(ErrorKind::Usage, SETTING, message))
            }
            _ => self.done("", answer).map(|_| ()),
        }
    }

    fn put(&self, key: &str, body: &[u8], object_metadata: &ObjectMetadata) -> Result<()> {
        self.done(key, self.put_with(key, body, object_metadata, None)?).map(|_| ())
    }

    fn put_new(&self, key: &str, body: &[u8], object_metadata: &ObjectMetadata) -> Result<bool> {
        // Not every server supports the condition: for others, check first.
        if self.head(key)?.is_some() {
            return Ok(false);
        }
        let answer = self.put_with(key, body, object_metadata, Some(("if-none-match", "*")))?;
        match answer.status {
            412 => Ok(false),
            _ => self.done(key, answer).map(|_| true),
        }
    }

    fn put_file(&self, key: &str, path: &Path, object_metadata: &ObjectMetadata) -> Result<()> {
        checked_key(key)?;
        let failed = |error: io::Error| StoreError::io(path.display().to_string(), error);
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length <= PART_BYTES {
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            file.read_exact_at(&mut bytes, 0).map_err(failed)?;
            self.put(key, &bytes, object_metadata)?;
        } else {
            self.put_parts(key, &file, length, object_metadata)?;
        }
        let stored = self.head(key)?.map(|head| head.length);
        if stored != Some(length) {
            let message = format!("has {stored:?} bytes in {} after {length} were sent", self.place);
            return Err(StoreError::new(ErrorKind::Unreachable, key, message));
        }
        Ok(())
    }

    fn head(&self, key: &str) -> Result<Option<ObjectHead>> {
        checked_key(key)?;
        let action = self.bucket.head_object(Some(&self.credentials), key);
        let answer = self.ask(action, Vec::new(), Bytes::new(), SHORT_ANSWER)?;
        if answer.status == 404 {
            return Ok(None);
        }
        let answer = self.done(key, answer)?;
        let text = |value: &hyper::header::HeaderValue| value.to_str().ok().map(str::to_owned);
        let length = answer.headers.get("content-length").and_then(|value| text(value)?.parse().ok());
        let length = length.ok_or_else(|| self.garbled(key, &"an object without a length"))?;
        let fact = |(name, value): (&hyper::header::HeaderName, _)| {
            Some((name.as_str().strip_prefix(FACT_HEADER)?.to_owned(), text(value)?))
        };
        Ok(Some(ObjectHead { length, object_metadata: answer.headers.iter().filter_map(fact).collect() }))
    }

    fn get(&self, key: &str, offset: u64, length: u64) -> Result<Vec<u8>> {
        checked_key(key)?;
        let Some(last) = length.checked_sub(1).map(|more| offset.saturating_add(more)) else {
            return Ok(Vec::new());
        };
        let action = self.bucket.get_object(Some(&self.credentials), key);
        let headers = vec![(String::from("range"), format!("bytes={offset}-{last}"))];
        let longest = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(SHORT_ANSWER);
        let answer = self.ask(action, headers, Bytes::new(), longest)?;
        match answer.status {
            // Beyond the end, or of an object without any byte.
            416 => Ok(Vec::new()),
            200 if offset > 0 => Err(self.garbled(key, &"the whole object instead of a range")),
            _ => Ok(self.done(key, answer)?.body.into()),
        }
    }

    fn delete(&self, key: &str) -> Result<()> {
        checked_key(key)?;
        let action = self.bucket.delete_object(Some(&self.credentials), key);
        let answer = self.ask(action, Vec::new(), Bytes::new(), SHORT_ANSWER)?;
        if answer.status == 404 { Ok(()) } else { self.done(key, answer).map(|_| ()) }
    }

    fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let mut keys: Vec<String> = Vec::new();
        let mut after = after.map(str::to_owned);
        while keys.len() < limit {
            let mut action = self.bucket.list_objects_v2(Some(&self.credentials));
            action.with_prefix(prefix.to_owned());
            action.with_max_keys((limit - keys.len()).min(1000));
            if let Some(after) = &after {
                action.with_start_after(after.clone());
            }
            let answer = self.done(prefix, self.ask(action, Vec::new(), Bytes::new(), LONG_ANSWER)?)?;
            let text = String::from_utf8_lossy(&answer.body);
            let page = ListObjectsV2::parse_response(&text).map_err(|error| self.garbled(prefix, &error))?;
            let found = page.contents.into_iter().map(|object| object.key);
            let before = keys.len();
            keys.extend(found);
            after = keys.last().cloned();
            if keys.len() == before || page.next_continuation_token.is_none() {
                break;
            }
        }
        Ok(keys)
    }
}

fn method(method: rusty_s3::Method) -> Method {
    match method {
        rusty_s3::Method::Head => Method::HEAD,
        rusty_s3::Method::Get => Method::GET,
        rusty_s3::Method::Post => Method::POST,
        rusty_s3::Method::Put => Method::PUT,
        rusty_s3::Method::Delete => Method::DELETE,
    }
}

fn content_md5(body: &[u8]) -> (String, String) {
    (String::from("content-md5"), BASE64.encode(Md5::digest(body)))
}

fn metadata_headers(object_metadata: &ObjectMetadata) -> Vec<(String, String)> {
    object_metadata.iter().map(|(name, value)| (format!("{FACT_HEADER}{name}"), value.clone())).collect()
}

/// The text of the first element of this name, where it is plain.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (value, _) = rest.split_once('<')?;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_for_what_is_wrong_is_found() {
        let text = "<?xml?><Error><Code>NoSuchBucket</Code><Message>not there</Message></Error>";
        assert_eq!(
            (element(text, "Code"), element(text, "Message")),
            (Some("NoSuchBucket"), Some("not there"))
        );
        assert_eq!(
            (element(text, "Key"), element("<Code>", "Code"), element("", "Code")),
            (None, None, None)
        );
    }
}
