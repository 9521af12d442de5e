//! Control of the jobs of a data directory that no process owns: its stores are opened for each operation, under its
//! lock.

use super::stored::{self, internal, of_failure, of_store};
use super::{ControlError, ControlErrorKind, JobControl};
use crate::directory::{self, DataDirectory};
use crate::kept_cookies::KeptCookies;
use crate::shell::shell_word;
use argiope_frontier::state::{Change, StateBatch};
use argiope_model::{JobId, JobSpec};
use argiope_store::catalogue::Catalogue;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct DirectoryAtRest {
    path: PathBuf,
}

impl DirectoryAtRest {
    pub fn new(path: &Path) -> DirectoryAtRest {
        DirectoryAtRest { path: path.to_owned() }
    }

    fn open(&self) -> Result<(DataDirectory, Box<dyn Catalogue>), ControlError> {
        let directory = DataDirectory::open_existing(&self.path).map_err(|failure| {
            let error = of_failure(failure);
            // A process has just taken it: the next attempt finds its socket.
            let kind =
                if directory::is_owned(&self.path) { ControlErrorKind::Unavailable } else { error.kind };
            ControlError { kind, ..error }
        })?;
        let catalogue = directory.catalogue().map_err(of_failure)?;
        Ok((directory, catalogue))
    }
}

impl JobControl for DirectoryAtRest {
    fn pause(&self, job: JobId) -> Result<(), ControlError> {
        let (_directory, mut catalogue) = self.open()?;
        stored::pause(catalogue.as_mut(), job)
    }

    /// Refused: no process is here that would crawl it.
    fn resume(&self, job: JobId) -> Result<(), ControlError> {
        let reader = directory::reader(&self.path).map_err(of_failure)?;
        let stored = stored::unfinished(&reader, job)?;
        let text = format!("no process crawls in {}", self.path.display());
        let error = ControlError::new(ControlErrorKind::Conflict, text);
        Err(match stored.name {
            Some(name) => error.hint(format!("'argiope crawl --name {}' resumes the job", shell_word(&name))),
            None => error.hint("the command that started the job resumes it"),
        })
    }

    fn cancel(&self, job: JobId) -> Result<(), ControlError> {
        let (_directory, mut catalogue) = self.open()?;
        stored::cancel(catalogue.as_mut(), job)
    }

    /// The frontier first: a deletion that was interrupted can be repeated while the catalogue has the job.
    fn delete(&self, job: JobId) -> Result<(), ControlError> {
        let (directory, mut catalogue) = self.open()?;
        stored::job(catalogue.reader().map_err(|error| of_store(&error))?.as_ref(), job)?;
        let failed = |error| of_failure(directory::state_failure(&directory.path, &error));
        let mut state = directory.state().map_err(of_failure)?;
        let batch = StateBatch { changes: vec![Change::ForgetJob(job)], marks: Vec::new() };
        state.apply(batch).and_then(|()| state.sync()).map_err(failed)?;
        KeptCookies::of(&directory.path, job).delete().map_err(|error| internal(&error))?;
        catalogue.delete_job(job).map_err(|error| of_store(&error))
    }

    fn change(&self, job: JobId, spec: JobSpec) -> Result<(), ControlError> {
        let (_directory, mut catalogue) = self.open()?;
        stored::change(catalogue.as_mut(), job, &spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use argiope_frontier::QueueCounts;
    use argiope_frontier::queue::{Entry, OrderKey};
    use argiope_frontier::state::{HostKey, QueueAt};
    use argiope_frontier::stored_job_counts;
    use argiope_model::{Fingerprint, Page};
    use argiope_store::catalogue::{
        Batch, CatalogueReader, JobState, NewJob, OutputPosition, PageQuery, PageRow, url_key,
    };
    use std::ops::ControlFlow;
    use std::time::Duration;

    struct Home {
        folder: tempfile::TempDir,
    }

    impl Home {
        /// With jobs `one` and `two`: each with a stored page, a queued URL, and an output.
        fn with_two_jobs() -> Home {
            let folder = tempfile::tempdir().unwrap();
            let directory = DataDirectory::open(folder.path(), 4).unwrap();
            let mut catalogue = directory.catalogue().unwrap();
            let mut state = directory.state().unwrap();
            for name in ["one", "two"] {
                let spec = JobSpec { seeds: vec![format!("http://{name}.test/")], ..JobSpec::default() };
                let new = NewJob {
                    name: Some(name.to_owned()),
                    seeds_hash: name.to_owned(),
                    spec: serde_json::to_string(&spec).unwrap(),
                    created_at: argiope_model::Millis(1),
                    user: None,
                };
                let job = catalogue.create_job(&new).unwrap().id;
                let url = format!("http://{name}.test/page");
                let page = Page { url: url.clone(), status: Some(200), ..Page::default() };
                let pages = vec![PageRow::new(job, url_key(&url), format!("{name}.test"), page)];
                let outputs = vec![OutputPosition { job, path: "/x/out.jsonl".into(), seq: 1, length: 9 }];
                catalogue.commit(&Batch { pages, outputs, ..Batch::default() }).unwrap();
                let order = OrderKey { rank: 1, depth: 0, sequence: u64::from(job.0) };
                let changes = vec![
                    Change::Queue { at: queue_of(job), entry: Entry { order, value: Box::from([1u8, 2]) } },
                    Change::Seen { job, shard: 0, fingerprints: vec![Fingerprint(7)] },
                ];
                state.apply(StateBatch { changes, marks: Vec::new() }).unwrap();
                state.sync().unwrap();
            }
            Home { folder }
        }

        fn control(&self) -> Box<dyn JobControl> {
            Box::new(DirectoryAtRest::new(self.folder.path()))
        }

        fn reader(&self) -> impl CatalogueReader + use<> {
            directory::reader(self.folder.path()).unwrap()
        }

        fn state(&self, job: JobId) -> Option<JobState> {
            self.reader().job(job).unwrap().map(|job| job.state)
        }

        fn queued(&self, job: JobId) -> usize {
            let directory = DataDirectory::open_existing(self.folder.path()).unwrap();
            directory.state().unwrap().load_queue(queue_of(job), None, 10).unwrap().len()
        }
    }

    fn queue_of(job: JobId) -> QueueAt {
        QueueAt { job, host: HostKey { shard: 0, number: job.0 } }
    }

    fn kind(done: Result<(), ControlError>) -> ControlErrorKind {
        done.unwrap_err().kind
    }

    const ONE: JobId = JobId(1);
    const TWO: JobId = JobId(2);
    const NONE: JobId = JobId(9);

    #[test]
    fn a_job_is_paused_and_cancelled_once() {
        let home = Home::with_two_jobs();
        let control = home.control();
        control.pause(ONE).unwrap();
        control.pause(ONE).unwrap();
        assert_eq!((home.state(ONE), home.state(TWO)), (Some(JobState::Paused), Some(JobState::Pending)));
        control.cancel(ONE).unwrap();
        assert_eq!(home.state(ONE), Some(JobState::Cancelled));
        for refused in [control.cancel(ONE), control.pause(ONE), control.resume(ONE)] {
            let error = refused.unwrap_err();
            assert_eq!(
                (error.kind, &*error.detail),
                (ControlErrorKind::Conflict, "job 1 is already cancelled")
            );
        }
        assert_eq!(home.queued(ONE), 1, "only a deletion removes its queue");
    }

    #[test]
    fn a_job_is_not_resumed_where_nothing_crawls() {
        let home = Home::with_two_jobs();
        let error = home.control().resume(TWO).unwrap_err();
        assert_eq!(error.kind, ControlErrorKind::Conflict);
        assert!(error.hint.unwrap().contains("crawl --name two"));
        assert_eq!(home.state(TWO), Some(JobState::Pending));
    }

    #[test]
    fn a_deleted_job_leaves_no_row_no_queue_and_no_seen_set_and_others_stay() {
        let home = Home::with_two_jobs();
        let data = home.folder.path();
        std::fs::create_dir(data.join("cookies")).unwrap();
        std::fs::write(data.join("cookies/1.txt"), "").unwrap();
        home.control().delete(ONE).unwrap();
        assert!(!data.join("cookies/1.txt").exists());
        assert_eq!((home.state(ONE), home.queued(ONE)), (None, 0));
        assert_eq!((home.state(TWO), home.queued(TWO)), (Some(JobState::Pending), 1));
        let reader = home.reader();
        assert_eq!(reader.output_position(ONE, "/x/out.jsonl").unwrap(), None);
        assert!(reader.output_position(TWO, "/x/out.jsonl").unwrap().is_some());
        let mut urls = Vec::new();
        let all = PageQuery { include_noindex: true, ..PageQuery::default() };
        reader
            .pages(&all, &mut |page| {
                urls.push(page.row.page.url);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        assert_eq!(urls, ["http://two.test/page"]);
        assert_eq!(kind(home.control().delete(ONE)), ControlErrorKind::NotFound);
        let state = DataDirectory::open_existing(data).unwrap().state().unwrap();
        assert_eq!(stored_job_counts(state.as_ref(), ONE).unwrap(), None::<QueueCounts>);
    }

    #[test]
    fn limits_are_changed_and_what_makes_another_job_is_refused() {
        let home = Home::with_two_jobs();
        let control = home.control();
        let spec = || crate::selection::spec(&home.reader().job(ONE).unwrap().unwrap()).unwrap();
        let wanted = JobSpec { max_pages: Some(7), delay: Some(Duration::from_secs(3)), ..spec() };
        control.change(ONE, wanted.clone()).unwrap();
        assert_eq!(spec(), wanted);
        assert_eq!(home.state(ONE), Some(JobState::Pending), "its state stays");
        let other = JobSpec { archive: !wanted.archive, ..wanted.clone() };
        assert_eq!(kind(control.change(ONE, other)), ControlErrorKind::Invalid);
        assert_eq!(spec(), wanted);
        control.cancel(ONE).unwrap();
        assert_eq!(kind(control.change(ONE, wanted)), ControlErrorKind::Conflict);
    }

    #[test]
    fn an_unknown_job_is_not_found_and_a_directory_in_use_is_left_alone() {
        let home = Home::with_two_jobs();
        let control = home.control();
        for refused in [
            control.pause(NONE),
            control.resume(NONE),
            control.cancel(NONE),
            control.delete(NONE),
            control.change(NONE, JobSpec::default()),
        ] {
            assert_eq!(kind(refused), ControlErrorKind::NotFound);
        }
        let place = Place::Directory(home.folder.path().to_owned());
        super::super::job_control(&place).pause(ONE).unwrap();
        let _owner = DataDirectory::open(home.folder.path(), 4).unwrap();
        assert_eq!(kind(control.cancel(ONE)), ControlErrorKind::Unavailable);
        assert_eq!(home.state(ONE), Some(JobState::Paused));
    }
}
