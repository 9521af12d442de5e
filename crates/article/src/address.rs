//! References of a page as whole URLs, written so that Markdown cannot misread them.

use url::Url;

/// Longer references are no places to go to, and a longer base would be written with every link.
const LONGEST: usize = 2048;

pub(crate) struct Addresses {
    base: Option<Url>,
}

impl Addresses {
    /// `base` is what the page itself says its references are relative to.
    pub(crate) fn new(page: Option<&str>, base: Option<&str>) -> Addresses {
        let page = page.filter(|page| page.len() <= LONGEST).and_then(|page| Url::parse(page).ok());
        let own = base.filter(|base| base.len() <= LONGEST).and_then(|base| match &page {
            Some(page) => page.join(base.trim()).ok(),
            None => Url::parse(base.trim()).ok(),
        });
        Addresses { base: own.or(page).filter(|base| base.as_str().len() <= LONGEST) }
    }

    /// The whole URL; without a base the reference as it is. None where it leads nowhere: scripts, mail, data.
    pub(crate) fn absolute(&self, reference: &str) -> Option<String> {
        let reference = reference.trim();
        if reference.is_empty() || reference.len() > LONGEST {
            return None;
        }
        let address = match &self.base {
            Some(base) => base.join(reference).ok()?,
            None => match Url::parse(reference) {
                Ok(url) => url,
                Err(url::ParseError::RelativeUrlWithoutBase) => return Some(escaped(reference)),
                Err(_) => return None,
            },
        };
        matches!(address.scheme(), "http" | "https" | "mailto" | "ftp").then(|| escaped(address.as_str()))
    }
}

fn escaped(address: &str) -> String {
    let mut escaped = String::with_capacity(address.len());
    for c in address.chars() {
        match c {
            '(' => escaped.push_str("%28"),
            ')' => escaped.push_str("%29"),
            '<' => escaped.push_str("%3C"),
            '>' => escaped.push_str("%3E"),
            '\\' => escaped.push_str("%5C"),
            '`' => escaped.push_str("%60"),
            c if c.is_whitespace() || c.is_control() => escaped.push_str("%20"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_whole_urls() {
        let addresses = Addresses::new(Some("https://example.com/a/b"), None);
        assert_eq!(addresses.absolute("c?d=1").as_deref(), Some("https://example.com/a/c?d=1"));
        assert_eq!(addresses.absolute("/x_(y)").as_deref(), Some("https://example.com/x_%28y%29"));
        assert_eq!(addresses.absolute("javascript:void(0)"), None);
        let based = Addresses::new(Some("https://example.com/a/b"), Some("/other/"));
        assert_eq!(based.absolute("c").as_deref(), Some("https://example.com/other/c"));
        assert_eq!(Addresses::new(None, None).absolute("c d").as_deref(), Some("c%20d"));
    }
}
