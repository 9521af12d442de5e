//! One server, spoken to over HTTP in JSON.

use super::MAPPING;
use crate::http::{Answer, Http, Request};
use argiope_store::error::{ErrorKind, Result, StoreError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use hyper::Method;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use url::Url;

const SETTING: &str = "search.url";
/// A page of hits with their texts is the longest answer.
const LONGEST_ANSWER: usize = 64 << 20;
/// Of an error of the server that is shown.
const LONGEST_REASON: usize = 300;

/// How the server knows us.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum SearchAuth {
    #[default]
    None,
    Basic {
        user: String,
        password: String,
    },
    /// As the server gives it out: `id:key`, in base64.
    ApiKey(String),
}

/// Secrets stay out of logs.
impl std::fmt::Debug for SearchAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SearchAuth::None => "None",
            SearchAuth::Basic { .. } => "Basic",
            SearchAuth::ApiKey(_) => "ApiKey",
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchSettings {
    /// `https://search.example:9200`, with a path where it is behind a proxy.
    pub url: String,
    /// [`super::INDEX`] unless something else is said.
    pub index: String,
    pub auth: SearchAuth,
    /// A file with the authorities that are trusted, instead of the system's.
    pub authorities: Option<PathBuf>,
}

/// A server and an index on it. Cloning it shares the connections.
#[derive(Clone)]
pub struct SearchServer {
    http: Arc<Http>,
    url: Url,
    index: String,
    authorization: Option<String>,
    place: Arc<str>,
}

/// What a request is about.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// Behind the name of the index: `_search`.
    pub(super) path: &'a str,
    pub(super) body: Bytes,
    pub(super) content_type: &'static str,
}

impl SearchServer {
    /// Does not connect.
    pub fn new(settings: &SearchSettings) -> Result<SearchServer> {
        let wrong = |message: String| StoreError::new(ErrorKind::Usage, SETTING, message);
        let mut url = Url::parse(&settings.url)
            .map_err(|error| wrong(format!("'{}' is no address ({error})", settings.url)))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(format!("'{}' has no http:// or https:// in front", settings.url)));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(String::from("has a user in it; use search.user and search.password")));
        }
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        let index = if settings.index.is_empty() { super::INDEX } else { &settings.index };
        let fits = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.')
        };
        if !index.bytes().all(fits) || index.starts_with(['_', '-', '.']) || index.len() > 200 {
            let message =
                format!("'{index}' is no name of an index; use lower-case letters, digits, - and _");
            return Err(StoreError::new(ErrorKind::Usage, "search.index", message));
        }
        let http = Http::start(&url, settings.authorities.as_deref())
            .map_err(|error| wrong(format!("'{url}' cannot be used ({error})")))?;
        let authorization = match &settings.auth {
            SearchAuth::None => None,
            SearchAuth::Basic { user, password } => {
                Some(format!("Basic {}", BASE64.encode(format!("{user}:{password}"))))
            }
            SearchAuth::ApiKey(key) => Some(format!("ApiKey {key}")),
        };
        let place = format!("the index {index} at {url}").into();
        Ok(SearchServer { http: Arc::new(http), url, index: index.to_owned(), authorization, place })
    }

    /// Where it is, as people write it.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Makes the index where it is not there.
    pub fn prepare(&self) -> Result<()> {
        let answer = self.exchange(Call { method: Method::HEAD, ..Call::get("") })?;
        match answer.status {
            200..300 => return Ok(()),
            404 => {}
            _ => return Err(self.refused(&answer)),
        }
        let body = Bytes::from_static(MAPPING.as_bytes());
        let answer = self.exchange(Call { method: Method::PUT, body, ..Call::get("") })?;
        // Another worker may have made it meanwhile.
        if answer.status == 400 && self.reason(&answer).contains("resource_already_exists_exception") {
            return Ok(());
        }
        self.done(answer).map(|_| ())
    }

    /// Makes everything that was sent visible.
    pub(super) fn refresh(&self) -> Result<()> {
        self.done(self.exchange(Call { method: Method::POST, ..Call::get("_refresh") })?).map(|_| ())
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let answer =
            self.exchange(Call { method: Method::POST, body: body.to_string().into(), ..Call::get(path) })?;
        self.done(answer)
    }

    /// Deletes the index with everything in it, for whoever wants it built again.
    pub fn delete_index(&self) -> Result<()> {
        let answer = self.exchange(Call { method: Method::DELETE, ..Call::get("") })?;
        if answer.status == 404 { Ok(()) } else { self.done(answer).map(|_| ()) }
    }

    pub(super) fn exchange(&self, call: Call<'_>) -> Result<Answer> {
        let mut url = self.url.clone();
        let (path, query) = match call.path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (call.path, None),
        };
        let slash = if path.is_empty() { "" } else { "/" };
        url.set_path(&format!("{}{}{slash}{path}", self.url.path(), self.index));
        url.set_query(query);
        let mut headers = Vec::new();
        if !call.body.is_empty() {
            headers.push((String::from("content-type"), call.content_type.to_owned()));
        }
        headers.extend(self.authorization.clone().map(|value| (String::from("authorization"), value)));
        let request =
            Request { method: call.method, url, headers, body: call.body, longest_answer: LONGEST_ANSWER };
        self.http.exchange(request).map_err(|error| {
            let message = format!("{} cannot be reached ({error})", self.place);
            StoreError::new(ErrorKind::Unreachable, SETTING, message).with_source(error)
        })
    }

    /// The answer, if it says that it went well.
    pub(super) fn done(&self, answer: Answer) -> Result<Value> {
        if !(200..300).contains(&answer.status) {
            return Err(self.refused(&answer));
        }
        serde_json::from_slice(&answer.body).map_err(|error| {
            StoreError::new(
                ErrorKind::Io,
                SETTING,
                format!("{} does not answer in JSON ({error})", self.place),
            )
        })
    }

    fn refused(&self, answer: &Answer) -> StoreError {
        let said = format!("{} answers {} {}", self.place, answer.status, self.reason(answer));
        let said = said.trim_end().to_owned();
        match answer.status {
            401 | 403 => {
                let advice = "look at search.user and search.password or search.api_key, and what they are allowed to do";
                StoreError::new(ErrorKind::Usage, SETTING, format!("{said}; {advice}"))
            }
            404 => StoreError::new(ErrorKind::NotFound, SETTING, format!("there is no such index: {said}")),
            408 | 429 | 500.. => StoreError::new(ErrorKind::Unreachable, SETTING, said),
            _ => StoreError::new(ErrorKind::Io, SETTING, said),
        }
    }

    /// What the server says of an error.
    fn reason(&self, answer: &Answer) -> String {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let error = body.get("error").unwrap_or(&body);
        reason_of(error)
    }
}

/// The kind and reason of an error as the server writes it, bounded in length.
pub(super) fn reason_of(error: &Value) -> String {
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut reason = match error.as_str() {
        Some(text) => text.to_owned(),
        None => format!("{} {}", text(error, "type"), text(error, "reason")),
    };
    if let Some(cause) =
        error.get("root_cause").and_then(|causes| causes.get(0)).or_else(|| error.get("caused_by"))
    {
        let cause = text(cause, "reason");
        if !cause.is_empty() && !reason.contains(&cause) {
            reason = format!("{reason}: {cause}");
        }
    }
    reason.truncate(reason.floor_char_boundary(LONGEST_REASON));
    reason.trim().to_owned()
}

impl<'a> Call<'a> {
    pub(super) fn get(path: &'a str) -> Call<'a> {
        Call { method: Method::GET, path, body: Bytes::new(), content_type: "application/json" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str, index: &str) -> SearchSettings {
        SearchSettings { url: url.into(), index: index.into(), ..SearchSettings::default() }
    }

    #[test]
    fn what_is_wrong_names_the_setting() {
        for (url, index, named) in [
            ("search.test", "", "search.url: 'search.test' is no address"),
            ("ftp://search.test", "", "search.url: 'ftp://search.test' has no http://"),
            ("http://me:secret@search.test", "", "search.url: has a user"),
            ("http://search.test", "Pages", "search.index: 'Pages'"),
            ("http://search.test", "_all", "search.index: '_all'"),
        ] {
            let error = SearchServer::new(&settings(url, index)).err().unwrap();
            assert_eq!(error.kind, ErrorKind::Usage);
            assert!(error.to_string().starts_with(named), "{error}");
        }
        let server = SearchServer::new(&settings("https://search.test/behind", "")).unwrap();
        assert_eq!(server.place(), "the index crawl_metadata at https://search.test/behind/");
    }

    #[test]
    fn secrets_are_not_shown() {
        let auth = SearchAuth::Basic { user: "me".into(), password: "secret".into() };
        assert_eq!(format!("{auth:?}"), "Basic");
    }

    #[test]
    fn an_error_is_shown_with_its_cause() {
        let error =
            serde_json::json!({"type": "a", "reason": "b", "root_cause": [{"type": "c", "reason": "d"}]});
        assert_eq!(reason_of(&error), "a b: d");
        assert_eq!(reason_of(&"x".repeat(500).into()).len(), LONGEST_REASON);
    }
}
