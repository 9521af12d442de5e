//! The base for resolving the links of a page.

use super::general::{invalid, origin_of, request_form};
use super::plain::PlainBase;
use super::{MAX_INPUT, NormalRules, Url, UrlError};
use std::cell::OnceCell;

/// The base for resolving the links of a page: its own URL, or its `<base>`.
pub struct Base {
    text: Box<str>,
    /// The text for the general parser, built when first needed.
    parsed: OnceCell<url::Url>,
    /// The same for the fast path, if that applies.
    plain: Option<PlainBase>,
}

impl Base {
    pub fn new(url: &Url) -> Base {
        let plain = PlainBase::new(url.scheme(), url.origin().as_bytes(), url.path(), url.query());
        Base { text: url.as_str().into(), parsed: OnceCell::new(), plain }
    }

    fn from_parsed(parsed: url::Url) -> Base {
        let plain = origin_of(&parsed)
            .ok()
            .and_then(|(scheme, origin)| PlainBase::new(scheme, &origin, parsed.path(), parsed.query()));
        Base { text: parsed.as_str().into(), parsed: OnceCell::from(parsed), plain }
    }

    fn parsed(&self) -> Result<&url::Url, UrlError> {
        if let Some(parsed) = self.parsed.get() {
            return Ok(parsed);
        }
        let parsed = url::Url::parse(&self.text).map_err(invalid)?;
        Ok(self.parsed.get_or_init(|| parsed))
    }

    /// A `<base href>` is itself resolved against the page's URL.
    pub fn rebase(&self, href: &str) -> Result<Base, UrlError> {
        let href = checked(href)?;
        self.parsed()?.join(href).map(Base::from_parsed).map_err(invalid)
    }

    /// Resolves a reference from a page, entities already decoded. An empty reference, or one that is only a fragment,
    /// gives the base itself.
    pub fn join(&self, href: &str, rules: &NormalRules) -> Result<Url, UrlError> {
        let href = checked(href)?;
        match self.plain.as_ref().and_then(|base| base.join(href, rules)) {
            Some(answer) => answer,
            None => self.join_generally(href, rules),
        }
    }

    /// With the `url` crate alone.
    pub(super) fn join_generally(&self, href: &str, rules: &NormalRules) -> Result<Url, UrlError> {
        request_form(&self.parsed()?.join(href).map_err(invalid)?, rules)
    }
}

/// White space around a reference is not part of it.
fn checked(href: &str) -> Result<&str, UrlError> {
    let href = href.trim_matches(|c: char| c <= ' ');
    if href.len() > MAX_INPUT { Err(UrlError::TooLong) } else { Ok(href) }
}
