//! Logs in before a job starts: posts a form and follows redirects, each request after the delay of its host. Nothing of it is
//! archived or catalogued, because it contains a password.

use crate::classify;
use crate::config::EngineConfig;
use crate::error::EngineError;
use crate::job::JobContext;
use crate::robots::unqueued_visit;
use argiope_extract::hidden_fields;
use argiope_fetch::{
    DecodeScratch, Fetch, FetchRequest, Fetched, HttpFetcher, Resolver, SendPermit, Start, Tls, decode,
    encode_form,
};
use argiope_frontier::{Answer, Frontier};
use argiope_model::{Base, LoginForm, RequestKind, Url};
use argiope_politeness::AnswerResult;
use argiope_store::clock::now;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const MAX_HOPS: usize = 5;
const MAX_BODY: usize = 4 << 20;
/// A login does not wait longer than this for a host that asked for a pause.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// The job keeps the cookies that the login sets.
pub(crate) fn log_in(
    config: &EngineConfig,
    frontier: &mut Frontier,
    job: &JobContext,
    form: &LoginForm,
) -> Result<(), EngineError> {
    let settings = |what: &dyn fmt::Display| EngineError::Settings(what.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| settings(&format!("cannot start the runtime of the login: {e}")))?;
    let resolver = Resolver::new(config.resolver.clone(), runtime.handle().clone())
        .map_err(|e| settings(&format!("dns: {e}")))?;
    let tls = Tls::load(&config.tls).map_err(|e| settings(&e))?;
    let fetcher = HttpFetcher::new(config.fetcher.clone(), tls, resolver.clone());
    let local = tokio::task::LocalSet::new();
    let asking = Asking { fetcher: &fetcher, resolver: &resolver, config, job, form };
    local.block_on(&runtime, asking.log_in(frontier)).map_err(EngineError::Login)
}

struct Asking<'a> {
    fetcher: &'a HttpFetcher,
    resolver: &'a Resolver,
    config: &'a EngineConfig,
    job: &'a JobContext,
    form: &'a LoginForm,
}

impl Asking<'_> {
    async fn log_in(&self, frontier: &mut Frontier) -> Result<(), String> {
        let hidden = match &self.form.page {
            Some(page) => self.hidden_fields(frontier, page).await?,
            None => Vec::new(),
        };
        let fields = self.form.fields.iter().chain(&hidden);
        let body = encode_form(fields.map(|(name, value)| (name.as_str(), value.as_str())));
        let (url, answer) = self.send(frontier, &self.form.url, Some(body)).await?;
        self.judge(&url, &answer)
    }

    async fn hidden_fields(
        &self,
        frontier: &mut Frontier,
        page: &Url,
    ) -> Result<Vec<(String, String)>, String> {
        let (url, answer) = self.send(frontier, page, None).await?;
        let status = answer.status.as_u16();
        if status >= 400 {
            return Err(format!("the page with the form, {url}, returned {status}"));
        }
        let decoded = decode(&answer.headers, &answer.body, MAX_BODY, &mut DecodeScratch::new());
        let names: Vec<&str> = self.form.fields.iter().map(|(name, _)| name.as_str()).collect();
        Ok(hidden_fields(&decoded.bytes, &names))
    }

    /// Sends a request and follows redirects. Returns the last URL and its response.
    async fn send(
        &self,
        frontier: &mut Frontier,
        to: &Url,
        mut body: Option<Bytes>,
    ) -> Result<(Url, Fetched), String> {
        let mut url = to.clone();
        for _ in 0..=MAX_HOPS {
            let answer = self.ask(frontier, &url, body.as_ref()).await?;
            let status = answer.status.as_u16();
            self.job.cookies.take(&url, &answer.headers, answer.timings.ended);
            let Some(location) = answer.redirect() else { return Ok((url, answer)) };
            let to = Base::new(&url).join(&location, &self.job.normal);
            url = to.map_err(|error| format!("{url} redirects to '{location}': {error}"))?;
            // Only these statuses repeat a POST (RFC 9110, 15.4), and no other host gets the password.
            if !matches!(status, 307 | 308) || url.origin() != self.form.url.origin() {
                body = None;
            }
        }
        Err(format!("{to} redirects more than {MAX_HOPS} times"))
    }

    async fn ask(&self, frontier: &mut Frontier, url: &Url, body: Option<&Bytes>) -> Result<Fetched, String> {
        let free = frontier.free_at(url.host(), now());
        let wait = free.since(now());
        if wait > LONGEST_WAIT {
            return Err(format!("{} asks for a pause of another {} s", url.host(), wait.as_secs()));
        }
        tokio::time::sleep(wait).await;
        let proxied = self.config.fetcher.proxies.of(url).is_some() || self.job.spec.proxy.is_some();
        let addresses = match self.resolver.resolve(url.host_name()).await {
            Ok(resolved) => resolved.addresses,
            Err(_) if proxied => Arc::from([]),
            Err(error) => return Err(format!("cannot resolve {}: {error}", url.host_name())),
        };
        let rules = self.config.politeness.for_host(url.host());
        let profile = self.job.profile(&rules, url);
        let cookie = self.job.cookies.header(None, url, now());
        let request = FetchRequest {
            url,
            start: Start::now(),
            addresses: &addresses,
            dns_us: 0,
            profile: &profile,
            validators: None,
            head_only: false,
            cookie: cookie.as_ref(),
            form: body,
            timeout: self.job.timeout(0),
            max_body_bytes: MAX_BODY,
            permit: SendPermit::default(),
        };
        let fetched = self.fetcher.fetch(request).await;
        let (result, timings) = match &fetched {
            Ok(answer) => (AnswerResult::Status(answer.status.as_u16()), answer.timings),
            Err(error) => (AnswerResult::Failed(error.kind.kind()), error.timings),
        };
        let retry_after = fetched
            .as_ref()
            .ok()
            .and_then(|answer| classify::retry_after(&answer.headers, answer.status.as_u16(), timings.ended));
        let visit = unqueued_visit(self.job, RequestKind::Page, url);
        let outcome = classify::outcome(&visit, result, &timings, retry_after);
        frontier.asked_beside(self.job.id, url.host(), &Answer { ended: timings.ended, outcome }, now());
        fetched.map_err(|error| format!("{url}: {}", classify::error_text(&error)))
    }

    fn judge(&self, url: &Url, answer: &Fetched) -> Result<(), String> {
        let status = answer.status.as_u16();
        if status >= 400 {
            return Err(format!("{url} returned {status}"));
        }
        let home = &self.form.url;
        if let Some(name) = &self.form.success_cookie
            && !self.job.cookies.has(name, home, now())
        {
            return Err(format!("{url} returned {status}, but the cookie '{name}' was not set"));
        }
        if let Some(text) = &self.form.success_text {
            let decoded = decode(&answer.headers, &answer.body, MAX_BODY, &mut DecodeScratch::new());
            if !String::from_utf8_lossy(&decoded.bytes).contains(text.as_str()) {
                return Err(format!("{url} returned {status}, but '{text}' is not in its response"));
            }
        }
        let has_check = self.form.success_cookie.is_some() || self.form.success_text.is_some();
        if !has_check && self.job.cookies.header(None, home, now()).is_none() {
            return Err(format!("{url} returned {status} and set no cookie"));
        }
        Ok(())
    }
}
