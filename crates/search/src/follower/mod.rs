//! The follower that fills an index: pages in commit order in, documents out, with the position they reach.
//!
//! Where the text of a page comes from is behind [`PageTexts`]: the archive and an extractor of articles, which this room
//! does not know. Texts of links come with the text of the page they stand on, for it is read anyway; the link segments
//! of a store are in another order than its pages and would have to be read a second time.

mod anchors;
mod document_of;

use crate::document::{Document, DocumentId};
use crate::index::{Deletion, IndexBatch, IndexWriter};
use anchors::Anchors;
use argiope_model::PublicSuffixes;
use argiope_store::catalogue::StoredPage;
use argiope_store::error::Result;
use argiope_store::follower::{
    CommittedPages, Finished, Follow, PageSink, PageSource, PagesFollower, Position, Step, Turn,
};
use document_of::{document_of, id_of, is_searchable};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Text that is read before it is given to the index, in bytes: a batch of pages may be much longer.
const CHUNK_BYTES: usize = 8 << 20;
/// How long a page may wait to be found.
const COMMIT_AFTER: Duration = Duration::from_secs(2);

/// What of a page's content is searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageText {
    /// Where the catalogue has none.
    pub title: Option<String>,
    /// The main text, without navigation, banners and footers.
    pub text: String,
    pub links: Vec<LinkText>,
}

/// A link of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkText {
    /// [`argiope_model::Identity::key_u64`] of the URL it leads to.
    pub target: u64,
    pub text: String,
}

/// The port to the content of pages.
pub trait PageTexts: Send {
    /// None where the page has no text: an image, a page whose archive is gone. An error that may pass is retried; any
    /// other ends the follower.
    fn text_of(&mut self, page: &StoredPage) -> Result<Option<PageText>>;
}

impl<F: FnMut(&StoredPage) -> Result<Option<PageText>> + Send> PageTexts for F {
    fn text_of(&mut self, page: &StoredPage) -> Result<Option<PageText>> {
        self(page)
    }
}

/// Pages for an index.
pub struct IndexSink<Writer, Texts> {
    writer: Writer,
    texts: Texts,
    suffixes: Arc<PublicSuffixes>,
    anchors: Anchors,
    /// Since when something waits to be committed.
    waits_since: Option<Instant>,
}

/// What becomes of pages, in their order. Of several rounds of a page the last one counts.
#[derive(Default)]
struct Changes {
    list: Vec<(DocumentId, Change)>,
    places: HashMap<DocumentId, usize>,
    bytes: usize,
}

impl Changes {
    fn push(&mut self, id: DocumentId, change: Change) {
        self.bytes += match &change {
            Change::Indexed(document) => document.text.len() + 1024,
            Change::Removed => 0,
        };
        match self.places.get(&id).and_then(|place| self.list.get_mut(*place)) {
            Some(earlier) => earlier.1 = change,
            None => {
                self.places.insert(id, self.list.len());
                self.list.push((id, change));
            }
        }
    }
}

/// What becomes of a page.
enum Change {
    Indexed(Box<Document>),
    /// It is not searched any more.
    Removed,
}

impl<Writer: IndexWriter, Texts: PageTexts> IndexSink<Writer, Texts> {
    pub fn new(writer: Writer, texts: Texts, suffixes: Arc<PublicSuffixes>) -> IndexSink<Writer, Texts> {
        IndexSink { writer, texts, suffixes, anchors: Anchors::default(), waits_since: None }
    }

    /// A page that was never indexed needs no removal; one that was fetched again, or changed, may have been.
    fn change(&mut self, stored: &StoredPage, may_be_indexed: bool) -> Result<Option<Change>> {
        let row = &stored.row;
        let text = if is_searchable(row) { self.texts.text_of(stored)? } else { None };
        let Some(mut text) = text else {
            return Ok((may_be_indexed || row.round > 0).then_some(Change::Removed));
        };
        for link in std::mem::take(&mut text.links) {
            if link.target != row.url_key && !row.nofollow {
                self.anchors.add(link.target, &link.text);
            }
        }
        let anchors = self.anchors.take(row.url_key);
        Ok(Some(Change::Indexed(Box::new(document_of(row, text, anchors, &self.suffixes)))))
    }

    /// Takes pages. `after` gives the position after one of them, where one is reached.
    fn take(
        &mut self,
        pages: &[StoredPage],
        may_be_indexed: bool,
        after: &dyn Fn(&StoredPage) -> Option<Position>,
    ) -> Result<()> {
        let mut changes = Changes::default();
        for stored in pages {
            if let Some(change) = self.change(stored, may_be_indexed)? {
                changes.push(id_of(&stored.row), change);
            }
            if changes.bytes >= CHUNK_BYTES {
                self.add(std::mem::take(&mut changes), after(stored))?;
            }
        }
        self.add(changes, None)
    }

    /// Without a position the one before stays: what comes twice does no harm.
    fn add(&mut self, changes: Changes, reached: Option<Position>) -> Result<()> {
        let reached = match reached {
            Some(reached) => reached,
            None if changes.list.is_empty() => return Ok(()),
            None => self.writer.position()?,
        };
        let mut batch = IndexBatch { reached, ..IndexBatch::default() };
        for (id, change) in changes.list {
            match change {
                Change::Indexed(document) => batch.documents.push(*document),
                Change::Removed => batch.deletions.push(Deletion::Document(id)),
            }
        }
        self.writer.add(batch)?;
        self.waits_since.get_or_insert_with(Instant::now);
        Ok(())
    }

    /// Commits what has waited long enough; how long the rest may wait.
    pub fn commit_waiting(&mut self) -> Result<Option<Duration>> {
        let Some(since) = self.waits_since else { return Ok(None) };
        let waited = since.elapsed();
        if waited < COMMIT_AFTER {
            return Ok(Some(COMMIT_AFTER - waited));
        }
        self.commit()?;
        Ok(None)
    }

    pub fn commit(&mut self) -> Result<()> {
        self.waits_since = None;
        self.writer.commit()
    }

    pub fn writer(&self) -> &Writer {
        &self.writer
    }
}

impl<Writer: IndexWriter, Texts: PageTexts> PageSink for IndexSink<Writer, Texts> {
    fn position(&mut self) -> Result<Position> {
        self.writer.position()
    }

    fn store(&mut self, batch: &CommittedPages) -> Result<()> {
        let before = self.writer.position()?;
        let numbered = |stored: &StoredPage| Some(Position { page: stored.seq.max(before.page), ..before });
        self.take(&batch.pages, false, &numbered)?;
        self.take(&batch.overwritten, true, &|_| None)?;
        self.add(Changes::default(), Some(batch.reached))?;
        self.commit_waiting().map(|_| ())
    }

    fn finish(&mut self) -> Result<Finished> {
        self.commit()?;
        Ok(Finished::Yes)
    }
}

/// The follower, for [`argiope_store::follower::Follower::start`]. It commits what it took within two seconds, also when no
/// more pages come.
pub struct IndexFollower<Source, Writer, Texts>(PagesFollower<Source, IndexSink<Writer, Texts>>);

impl<Source: PageSource, Writer: IndexWriter, Texts: PageTexts> IndexFollower<Source, Writer, Texts> {
    pub fn new(source: Source, sink: IndexSink<Writer, Texts>) -> IndexFollower<Source, Writer, Texts> {
        IndexFollower(PagesFollower::new(source, sink))
    }

    /// Indexes all that is committed, and makes it durable.
    pub fn finish_all(&mut self) -> Result<()> {
        self.0.finish_all()
    }
}

impl<Source: PageSource, Writer: IndexWriter, Texts: PageTexts> Follow
    for IndexFollower<Source, Writer, Texts>
{
    fn step(&mut self, _: &Turn<'_>) -> Result<Step> {
        if self.0.advance()? {
            return Ok(Step::More);
        }
        let look_within = self.0.with_sink(IndexSink::commit_waiting)?;
        Ok(Step::CaughtUp { look_within })
    }

    fn finish(&mut self) -> Result<Finished> {
        Follow::finish(&mut self.0)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
