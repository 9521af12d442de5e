//! Marks duplicates when pages are stored: the earliest page of a job with the same content, or nearly the same text, is
//! the original (`argiope_duplicates`). The committer asks before each batch, so that the order is that of the catalogue.
//!
//! The index of a job is made from the catalogue's originals when the first page of the job comes, and so a process that
//! was killed goes on with the same answers. In a cluster every worker has one of its own. It reads what the others have
//! stored meanwhile, every few seconds; two workers that store copies of one page in the same seconds take both for
//! originals.

use crate::error::EngineError;
use crate::job::{JobContext, Jobs};
use crate::visit_record::Settlement;
use argiope_duplicates::{DuplicateIndex, Facts, Reason, Verdict};
use argiope_model::{JobId, RequestKind, Url};
use argiope_store::catalogue::{CatalogueReader, PageRow, StoredOriginal};
use argiope_store::error::StoreError;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How long a worker of a cluster goes on without reading what others have stored.
const LEARN_EVERY: Duration = Duration::from_secs(5);

pub(crate) struct Duplicates {
    reader: Box<dyn CatalogueReader>,
    jobs: HashMap<JobId, JobIndex>,
}

struct JobIndex {
    index: DuplicateIndex,
    /// The last page that was read of the catalogue.
    seq: u64,
    read_at: Instant,
}

/// A page of a batch that is a duplicate.
struct Found {
    place: usize,
    job: JobId,
    verdict: Verdict,
    /// The page that it duplicates.
    original: u64,
}

/// Duplicates of one batch: where they are, and whether the original is stored.
#[derive(Default)]
pub(crate) struct Marked {
    originals_known: HashMap<usize, bool>,
}

impl Duplicates {
    pub(crate) fn new(reader: Box<dyn CatalogueReader>) -> Duplicates {
        Duplicates { reader, jobs: HashMap::new() }
    }

    /// Decides for each page, in order, whether it is a duplicate of an earlier one.
    pub(crate) fn mark(
        &mut self,
        pages: &mut [PageRow],
        jobs: &Jobs,
        in_cluster: bool,
    ) -> Result<Marked, EngineError> {
        let mut contexts = HashMap::new();
        let mut found = Vec::new();
        for (place, row) in pages.iter_mut().enumerate() {
            // The archive has looked at its own files only, whichever job they are of.
            row.page.duplicate_of = None;
            if row.page.status != Some(200) || row.page.bytes.unwrap_or(0) == 0 {
                continue;
            }
            let job = row.job;
            let Some(context) = contexts.entry(job).or_insert_with(|| jobs.get(job)) else { continue };
            let index = match self.jobs.get_mut(&job) {
                Some(index) if in_cluster && index.read_at.elapsed() >= LEARN_EVERY => {
                    index.read(self.reader.as_ref(), job, DuplicateIndex::learn)?;
                    index
                }
                Some(index) => index,
                None => {
                    self.jobs.retain(|job, _| jobs.get(*job).is_some());
                    let limit = usize::try_from(context.spec.duplicate_limit).unwrap_or(usize::MAX);
                    let index = JobIndex::open(self.reader.as_ref(), job, limit)?;
                    self.jobs.entry(job).or_insert(index)
                }
            };
            let canonical = canonical_of(row, context);
            let facts = Facts { canonical: canonical.is_some(), ..facts_of(row) };
            if let Some(verdict) = index.index.judge(&facts)
                && let Some(original) = verdict.known_page().or(canonical)
            {
                found.push(Found { place, job, verdict, original });
            }
        }
        self.name_originals(pages, &found)
    }

    /// Originals are known by their keys; their URLs are in the batch or in the catalogue.
    fn name_originals(&self, pages: &mut [PageRow], found: &[Found]) -> Result<Marked, EngineError> {
        let wanted: HashSet<(JobId, u64)> = found.iter().map(|found| (found.job, found.original)).collect();
        let mut urls: HashMap<(JobId, u64), String> = HashMap::new();
        if !wanted.is_empty() {
            let here = pages.iter().filter(|row| wanted.contains(&(row.job, row.url_key)));
            urls.extend(here.map(|row| ((row.job, row.url_key), row.page.url.clone())));
        }
        let jobs: HashSet<JobId> = found.iter().map(|found| found.job).collect();
        for job in jobs {
            let missing = wanted.iter().filter(|key| key.0 == job && !urls.contains_key(*key));
            let missing: Vec<u64> = missing.map(|(_, key)| *key).collect();
            if !missing.is_empty() {
                let stored = self.reader.page_urls(job, &missing)?;
                urls.extend(stored.into_iter().map(|(key, url)| ((job, key), url)));
            }
        }
        let mut marked = Marked::default();
        for Found { place, job, verdict, original } in found {
            let Some(row) = pages.get_mut(*place) else { continue };
            let url = urls.get(&(*job, *original)).cloned();
            marked.originals_known.insert(*place, url.is_some());
            row.page.duplicate_of = match verdict.reason {
                Reason::Canonical => url.or_else(|| row.page.canonical.clone()),
                Reason::SameContent | Reason::Near { .. } => url,
            };
        }
        Ok(marked)
    }
}

impl Marked {
    /// Whether the page at this place of the batch is a duplicate whose original is stored, or about to be: all that it links to
    /// can be found without it.
    pub(crate) fn is_dispensable(&self, place: usize) -> bool {
        self.originals_known.get(&place).copied().unwrap_or(false)
    }
}

/// Forgets the pages that a duplicate links to, for a job that does not follow them. What it is shown with is kept.
pub(crate) fn unfollow(settlement: &mut Settlement) {
    for discovery in &mut settlement.discoveries {
        discovery.found.retain(|found| found.kind != RequestKind::Page);
    }
    settlement.discoveries.retain(|discovery| !discovery.found.is_empty());
}

/// Whether a stored page is a duplicate of one that is stored, too.
pub(crate) fn has_stored_original(
    row: &PageRow,
    job: &JobContext,
    reader: &dyn CatalogueReader,
) -> Result<bool, StoreError> {
    let original = row.page.duplicate_of.as_deref();
    let Some(original) = original.and_then(|url| Url::parse(url, &job.normal).ok()) else { return Ok(false) };
    Ok(reader.page(Some(job.id), original.normal())?.is_some())
}

impl JobIndex {
    fn open(reader: &dyn CatalogueReader, job: JobId, limit: usize) -> Result<JobIndex, EngineError> {
        let mut index = JobIndex { index: DuplicateIndex::new(limit), seq: 0, read_at: Instant::now() };
        index.read(reader, job, DuplicateIndex::restore)?;
        index.index.restored();
        let (originals, bytes) = (index.index.len(), index.index.memory_bytes());
        tracing::debug!(job = job.0, originals, bytes, "originals read from the catalogue");
        Ok(index)
    }

    /// Reads the originals that were stored since it was read last.
    fn read(
        &mut self,
        reader: &dyn CatalogueReader,
        job: JobId,
        remember: fn(&mut DuplicateIndex, &Facts),
    ) -> Result<(), EngineError> {
        let JobIndex { index, seq, read_at } = self;
        let after = *seq;
        reader.originals(job, after, &mut |stored| {
            let StoredOriginal { seq: number, url_key, content_hash, simhash, word_count } = stored;
            *seq = number;
            remember(
                index,
                &Facts {
                    page: url_key,
                    content: content_hash,
                    canonical: false,
                    simhash,
                    word_count: word_count.unwrap_or(0),
                },
            );
            Ok(ControlFlow::Continue(()))
        })?;
        *read_at = Instant::now();
        Ok(())
    }
}

fn facts_of(row: &PageRow) -> Facts {
    let page = &row.page;
    Facts {
        page: row.url_key,
        content: page.content_hash,
        canonical: false,
        simhash: page.simhash,
        word_count: page.word_count.unwrap_or(0),
    }
}

/// The key of the page that the canonical link names, if that is another page: neither this one nor the one that it was
/// redirected to.
fn canonical_of(row: &PageRow, job: &JobContext) -> Option<u64> {
    let page = &row.page;
    let canonical = page.canonical.as_deref()?;
    if canonical == page.url || page.final_url.as_deref() == Some(canonical) {
        return None;
    }
    let key = |url: &str| Url::parse(url, &job.normal).ok().map(|url| url.identity().key_u64());
    let named = key(canonical)?;
    let is_own = named == row.url_key || page.final_url.as_deref().and_then(key) == Some(named);
    (!is_own).then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use argiope_local::catalogue::{CatalogueSettings, SqliteCatalogue};
    use argiope_model::{ContentHash, JobSpec, Page, SimHash};
    use argiope_store::catalogue::{Batch, Catalogue, NewJob, url_key};

    struct Bench {
        catalogue: SqliteCatalogue,
        jobs: Jobs,
        duplicates: Duplicates,
        in_cluster: bool,
        _directory: tempfile::TempDir,
    }

    impl Bench {
        fn new(spec: JobSpec) -> Bench {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("catalogue.db");
            let mut catalogue = SqliteCatalogue::open(&path, CatalogueSettings::default()).unwrap();
            let new = NewJob {
                name: None,
                seeds_hash: "h".into(),
                spec: "{}".into(),
                created_at: Default::default(),
                user: None,
            };
            assert_eq!(catalogue.create_job(&new).unwrap().id, JobId(1));
            let jobs = Jobs::default();
            jobs.insert(sample::job(spec));
            let duplicates = Duplicates::new(catalogue.reader().unwrap());
            Bench { catalogue, jobs, duplicates, in_cluster: false, _directory: directory }
        }

        /// As a process that starts after the last one was killed.
        fn restart(&mut self) {
            self.duplicates = Duplicates::new(self.catalogue.reader().unwrap());
        }

        /// Stores a batch. What each page is a duplicate of, and whether it is dispensable.
        fn store(&mut self, pages: Vec<PageRow>) -> Vec<Option<(String, bool)>> {
            let mut pages = pages;
            let marked = self.duplicates.mark(&mut pages, &self.jobs, self.in_cluster).unwrap();
            self.catalogue.commit(&Batch { pages: pages.clone(), ..Batch::default() }).unwrap();
            let each = pages.into_iter().enumerate();
            each.map(|(place, row)| Some((path(&row.page.duplicate_of?), marked.is_dispensable(place))))
                .collect()
        }
    }

    fn path(url: &str) -> String {
        url.strip_prefix("http://a.test").unwrap_or(url).to_owned()
    }

    fn row(path: &str, content: u8, simhash: u64) -> PageRow {
        let url = format!("http://a.test{path}");
        let page = Page {
            url: url.clone(),
            final_url: Some(url.clone()),
            status: Some(200),
            bytes: Some(1000),
            content_hash: Some(ContentHash([content; 32])),
            simhash: Some(SimHash(simhash)),
            word_count: Some(500),
            ..Page::default()
        };
        PageRow::new(JobId(1), url_key(&url), "a.test", page)
    }

    fn canonical(mut row: PageRow, url: &str) -> PageRow {
        row.page.canonical = Some(url.to_owned());
        row
    }

    fn of(path: &str) -> Option<(String, bool)> {
        Some((path.to_owned(), true))
    }

    #[test]
    fn duplicates_name_the_earliest_page_of_their_batch_or_of_an_earlier_one() {
        let mut bench = Bench::new(JobSpec::default());
        let batch =
            vec![row("/", 1, 0), row("/copy", 1, 0), row("/print", 2, 0b111), row("/other", 3, 0xffff)];
        assert_eq!(bench.store(batch), [None, of("/"), of("/"), None]);
        let batch =
            vec![row("/later", 4, 0b101), row("/copy2", 3, 0), row("/", 1, 0), row("/apart", 5, 0b1111)];
        assert_eq!(
            bench.store(batch),
            [of("/"), of("/other"), None, None],
            "stored again, it is no copy of itself"
        );
    }

    #[test]
    fn a_process_that_was_killed_goes_on_with_the_same_answers() {
        let pages: Vec<PageRow> = (0..120u64)
            .map(|n| {
                row(&format!("/{n}"), (n % 90) as u8, (n % 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (n % 5))
            })
            .collect();
        let answers = |stops: &[usize]| {
            let mut bench = Bench::new(JobSpec::default());
            let (mut all, mut from) = (Vec::new(), 0);
            for stop in stops.iter().copied().chain([pages.len()]) {
                for page in &pages[from..stop] {
                    all.extend(bench.store(vec![page.clone()]));
                }
                from = stop;
                bench.restart();
            }
            all
        };
        let whole = answers(&[]);
        assert!(whole.iter().flatten().count() > 50);
        assert_eq!(answers(&[1, 2, 40, 41, 100]), whole);
    }

    #[test]
    fn a_canonical_link_to_another_page_wins_over_the_text() {
        let mut bench = Bench::new(JobSpec::default());
        let batch = vec![
            row("/", 1, 0),
            canonical(row("/sorted", 2, 0), "http://a.test/list"),
            canonical(row("/list", 3, 0xffff), "http://a.test/list"),
            canonical(row("/sorted2", 4, 0xffff), "http://a.test/list#top"),
            canonical(row("/copy", 1, 0), "http://a.test/list"),
            canonical(row("/elsewhere", 5, 0), "http://b.test/"),
        ];
        let elsewhere = Some((String::from("http://b.test/"), false));
        assert_eq!(bench.store(batch), [None, of("/list"), None, of("/list"), of("/"), elsewhere]);
        // Nothing may be left out for a page that is not there yet.
        let early = canonical(row("/early", 6, 0x0f0f), "http://a.test/late");
        assert_eq!(bench.store(vec![early.clone()]), [Some((String::from("/late"), false))]);
        let reader = bench.catalogue.reader().unwrap();
        let mut stored = early;
        stored.page.duplicate_of = Some(String::from("http://a.test/late"));
        let job = bench.jobs.get(JobId(1)).unwrap();
        assert!(!has_stored_original(&stored, &job, reader.as_ref()).unwrap());
        assert_eq!(bench.store(vec![row("/late", 7, 0x0f0f)]), [None]);
        assert!(has_stored_original(&stored, &job, reader.as_ref()).unwrap());
    }

    #[test]
    fn the_page_that_a_redirect_ended_at_is_the_page_itself() {
        let mut bench = Bench::new(JobSpec::default());
        let mut moved = canonical(row("/old", 1, 0), "http://a.test/new");
        moved.page.final_url = Some(String::from("http://a.test/new"));
        assert_eq!(bench.store(vec![moved]), [None]);
    }

    #[test]
    fn what_has_no_content_of_its_own_is_nobodys_duplicate() {
        let mut bench = Bench::new(JobSpec::default());
        let mut missing = [row("/1", 1, 0), row("/2", 1, 0)];
        missing.iter_mut().for_each(|row| row.page.status = Some(404));
        let mut empty = [row("/3", 2, 0), row("/4", 2, 0)];
        empty.iter_mut().for_each(|row| row.page.bytes = Some(0));
        let mut short = [row("/5", 3, 0), row("/6", 4, 0)];
        short.iter_mut().for_each(|row| row.page.word_count = Some(10));
        let all: Vec<PageRow> = missing.into_iter().chain(empty).chain(short).collect();
        assert_eq!(bench.store(all), [None, None, None, None, None, None]);
    }

    #[test]
    fn beyond_the_limit_the_oldest_are_forgotten_and_with_none_nothing_is_found() {
        let mut bench = Bench::new(JobSpec { duplicate_limit: 1, ..JobSpec::default() });
        let batch = vec![row("/1", 1, 0), row("/2", 2, 0xffff), row("/3", 1, 0), row("/4", 1, 0)];
        assert_eq!(bench.store(batch), [None, None, None, of("/3")]);
        let mut none = Bench::new(JobSpec { duplicate_limit: 0, ..JobSpec::default() });
        assert_eq!(none.store(vec![row("/1", 1, 0), row("/2", 1, 0)]), [None, None]);
    }

    #[test]
    fn a_worker_learns_what_others_have_stored() {
        let mut bench = Bench::new(JobSpec::default());
        bench.in_cluster = true;
        assert_eq!(bench.store(vec![row("/", 1, 0)]), [None]);
        let theirs = vec![row("/theirs", 2, 0xffff)];
        bench.catalogue.commit(&Batch { pages: theirs, ..Batch::default() }).unwrap();
        let index = bench.duplicates.jobs.get_mut(&JobId(1)).unwrap();
        index.read_at = index.read_at.checked_sub(LEARN_EVERY).unwrap();
        assert_eq!(bench.store(vec![row("/copy", 2, 0)]), [of("/theirs")]);
        assert_eq!(bench.store(vec![row("/near", 3, 0xfffe)]), [of("/theirs")]);
    }
}
