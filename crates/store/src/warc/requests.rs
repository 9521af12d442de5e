//! Requests that are alike: most requests of a crawl differ only in path and host, which are those of the URL. One of
//! each kind is written to a file; later visits refer to that record.

use super::record_id::RecordId;
use argiope_model::Url;

/// Jobs have headers of their own; kinds beyond this number are written again.
const MOST_KINDS: usize = 8;

/// A request whose path and host are those of its URL.
pub(super) struct RequestForm<'h> {
    /// `Host: `, as it is spelled.
    host: &'h [u8],
    /// Everything after the host.
    rest: &'h [u8],
}

impl<'h> RequestForm<'h> {
    /// `None` for any other request, such as one to a proxy.
    pub(super) fn of(head: &'h [u8], url: &Url) -> Option<RequestForm<'h>> {
        let after = head.strip_prefix(b"GET ")?.strip_prefix(url.path_and_query().as_bytes())?;
        let fields = after.strip_prefix(b" HTTP/1.1\r\n")?;
        let (host, value) = fields.split_at_checked(b"Host: ".len())?;
        if !host.eq_ignore_ascii_case(b"Host: ") {
            return None;
        }
        let rest = value.strip_prefix(url.host().as_bytes())?;
        rest.starts_with(b"\r\n").then_some(RequestForm { host, rest })
    }
}

/// The request records of a file that later visits can refer to.
#[derive(Default)]
pub(super) struct RequestsWritten {
    kinds: Vec<(Vec<u8>, RecordId)>,
}

impl RequestsWritten {
    pub(super) fn like(&self, form: &RequestForm<'_>) -> Option<RecordId> {
        let found = self.kinds.iter().find(|(kind, _)| {
            kind.split_at_checked(form.host.len())
                .is_some_and(|(host, rest)| host == form.host && rest == form.rest)
        });
        found.map(|(_, id)| *id)
    }

    pub(super) fn written(&mut self, form: &RequestForm<'_>, id: RecordId) {
        if self.like(form).is_some() {
            return;
        }
        if self.kinds.len() >= MOST_KINDS {
            self.kinds.remove(0);
        }
        self.kinds.push(([form.host, form.rest].concat(), id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warc::RecordIds;

    #[test]
    fn requests_are_alike_if_only_path_and_host_differ_and_are_the_urls() {
        let url = |text: &str| Url::from_stored(text).unwrap();
        let (one, other) = (url("http://a.example/x?y=1"), url("https://b.example:8080/"));
        let head = b"GET /x?y=1 HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\r\n";
        let form = RequestForm::of(head, &one).unwrap();
        let mut written = RequestsWritten::default();
        assert!(written.like(&form).is_none());
        let id = RecordIds::new([1; 16]).draw();
        written.written(&form, id);
        let like = b"GET / HTTP/1.1\r\nHost: b.example:8080\r\nAccept: */*\r\n\r\n";
        assert_eq!(written.like(&RequestForm::of(like, &other).unwrap()), Some(id));
        for unlike in [
            "GET / HTTP/1.1\r\nHost: b.example:8080\r\nAccept: */*\r\nIf-None-Match: \"1\"\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: b.example:8080\r\nAccept: */*\r\n\r\n",
        ] {
            let form = RequestForm::of(unlike.as_bytes(), &other).unwrap();
            assert_eq!(written.like(&form), None, "{unlike}");
        }
        for no_form in [
            "GET https://b.example:8080/ HTTP/1.1\r\nHost: b.example:8080\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: b.example:80800\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: b.example:8080\r\n\r\n",
            "GET / HTTP/1.1\r\nAccept: */*\r\nHost: b.example:8080\r\n\r\n",
            "",
        ] {
            assert!(RequestForm::of(no_form.as_bytes(), &other).is_none(), "{no_form}");
        }
    }

    #[test]
    fn so_many_kinds_of_requests_are_known_at_a_time() {
        let url = Url::from_stored("http://a.example/").unwrap();
        let (mut written, mut ids) = (RequestsWritten::default(), RecordIds::new([1; 16]));
        let heads: Vec<String> = (0..=MOST_KINDS)
            .map(|n| format!("GET / HTTP/1.1\r\nHost: a.example\r\nX: {n}\r\n\r\n"))
            .collect();
        let forms: Vec<_> =
            heads.iter().map(|head| RequestForm::of(head.as_bytes(), &url).unwrap()).collect();
        for form in &forms {
            written.written(form, ids.draw());
        }
        assert!(written.like(&forms[0]).is_none());
        assert!(forms[1..].iter().all(|form| written.like(form).is_some()));
    }
}
