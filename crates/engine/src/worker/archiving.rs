//! Writes exchanges to the archive, several at once, and notes in their records where they are.

use super::Worker;
use super::processing::ProcessedPage;
use crate::error::EngineError;
use argiope_fetch::{Fetch, Fetched};
use argiope_model::{ArchiveRef, JobSpec, RequestKind, Resources, Visit};
use argiope_store::archive::{Exchange, Response};
use argiope_store::warc::{VisitMetadata, VisitOutcome};

/// What of an exchange goes into the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Nothing,
    /// Only that it took place, and its result.
    Metadata,
    All,
}

impl Kept {
    /// Without an archive, retries and redirects are still recorded: recovery needs them.
    pub(crate) fn of(spec: &JobSpec, metadata: &VisitMetadata) -> Kept {
        match metadata.visit.kind {
            _ if metadata.outcome == VisitOutcome::Final && !spec.archive => Kept::Nothing,
            RequestKind::Resource if spec.resources != Resources::Keep => Kept::Metadata,
            _ => Kept::All,
        }
    }
}

impl<F: Fetch> Worker<F> {
    /// Appends the exchanges to the archive, if there is one, in one write.
    pub(super) fn archive(&self, pages: &mut [ProcessedPage]) -> Result<(), EngineError> {
        let mut appender = self.appender.borrow_mut();
        let Some(appender) = appender.as_mut() else { return Ok(()) };
        let kept = pages.iter().filter(|page| page.kept != Kept::Nothing);
        let exchanges: Vec<Exchange<'_>> = kept.map(exchange_of).collect();
        if exchanges.is_empty() {
            return Ok(());
        }
        let appended = appender.append_all(&exchanges)?;
        for (page, appended) in pages.iter_mut().filter(|page| page.kept != Kept::Nothing).zip(appended) {
            if page.kept == Kept::All {
                page.record.archived(&appended.at, appended.duplicate_of.as_ref());
            }
            page.record.position = Some(appended.position());
        }
        Ok(())
    }
}

fn exchange_of(page: &ProcessedPage) -> Exchange<'_> {
    match page.kept {
        Kept::All => whole_exchange(&page.metadata, &page.fetched, page.payload_sha256),
        Kept::Metadata | Kept::Nothing => Exchange {
            metadata: &page.metadata,
            address: Some(page.fetched.address.ip()),
            request_head: None,
            response: None,
            previous: None,
        },
    }
}

pub(super) fn whole_exchange<'a>(
    metadata: &'a VisitMetadata,
    fetched: &'a Fetched,
    body_sha256: Option<[u8; 32]>,
) -> Exchange<'a> {
    Exchange {
        metadata,
        address: Some(fetched.address.ip()),
        request_head: Some(&fetched.request_head),
        response: Some(Response { head: &fetched.head, body: &fetched.body, body_sha256 }),
        previous: previous_copy(&metadata.visit),
    }
}

/// The archived response that validators were sent of: a `304` becomes a revisit record that refers to it.
fn previous_copy(visit: &Visit) -> Option<&ArchiveRef> {
    visit.validators()?;
    visit.previous.as_ref()?.archive.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Decision;
    use crate::sample::{ENDED, hop, url, visit};
    use crate::worker::rows::RequestContext;
    use argiope_frontier::Completion;
    use argiope_model::{FetchTimings, PreviousFetch, Validators};
    use std::time::Duration;

    fn kept(spec: &JobSpec, kind: RequestKind, completion: Completion) -> Kept {
        let visit = Visit { kind, ..visit("http://a.test/x") };
        let context = RequestContext { ticket: None, rule: None, delay: Duration::ZERO, per_host: 1 };
        let decision = Decision { completion, error: None, dead_letter: false };
        Kept::of(spec, &context.metadata(&visit, &decision, FetchTimings::default(), Some(200)))
    }

    const DONE: Completion = Completion::Done { counted: true };
    const RETRY: Completion = Completion::Retry { due: ENDED };

    #[test]
    fn without_an_archive_only_what_recovery_needs_is_kept() {
        let spec = JobSpec { archive: false, ..JobSpec::default() };
        assert_eq!(kept(&spec, RequestKind::Page, DONE), Kept::Nothing);
        assert_eq!(kept(&spec, RequestKind::Page, RETRY), Kept::All);
        assert_eq!(kept(&JobSpec::default(), RequestKind::Page, DONE), Kept::All);
    }

    #[test]
    fn resources_that_are_only_checked_leave_their_metadata() {
        let check = JobSpec { resources: Resources::Check, ..JobSpec::default() };
        let keep = JobSpec { resources: Resources::Keep, ..JobSpec::default() };
        assert_eq!(kept(&check, RequestKind::Resource, DONE), Kept::Metadata);
        assert_eq!(kept(&keep, RequestKind::Resource, DONE), Kept::All);
        assert_eq!(kept(&check, RequestKind::Page, DONE), Kept::All);
    }

    #[test]
    fn the_previous_copy_is_that_of_the_url_that_validators_were_sent_to() {
        let archive: Option<ArchiveRef> = "a.warc.gz:7".parse().ok();
        let previous =
            PreviousFetch { url: url("http://a.test/x"), validators: Validators::default(), archive };
        let recrawl = Visit { previous: Some(Box::new(previous.clone())), ..visit("http://a.test/x") };
        assert_eq!(previous_copy(&recrawl), previous.archive.as_ref());
        assert_eq!(previous_copy(&hop(recrawl, "http://a.test/y")), None);
        assert_eq!(previous_copy(&visit("http://a.test/x")), None);
    }
}
