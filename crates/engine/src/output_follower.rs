//! `crawl -o` as a follower of the committer. The position of the file is stored with the committer's own batches: no
//! second writer and no extra sync, and a batch that removes a page from the catalogue also records that the file must
//! be rewritten.

use crate::error::EngineError;
use crate::scheduler::Report;
use argiope_model::JobId;
use argiope_store::catalogue::{CatalogueReader, OutputPosition};
use argiope_store::export::{Output, OutputProgress};
use argiope_store::follower::{
    CatalogueSource, Follower, FollowerOptions, Followers, LagUnit, Outcome, PagesFollower, Position,
    RecentSource,
};
use crossbeam_channel::Sender;
use std::sync::Arc;

pub(crate) struct OutputFollower {
    progress: Arc<OutputProgress>,
    follower: Follower,
}

impl OutputFollower {
    /// Starts to write the pages that the file lacks. A permanent error ends the crawl.
    pub(crate) fn start(
        output: Output,
        reader: Box<dyn CatalogueReader>,
        followers: &Followers,
        reports: Sender<Vec<Report>>,
    ) -> Result<OutputFollower, EngineError> {
        let commits = followers.commits();
        commits.begin_at(Position { page: reader.last_page()?, batch: reader.last_batch()? });
        let progress = Arc::clone(output.progress());
        let recent = commits.read_recent(Position { page: progress.page(), batch: 0 });
        let source = RecentSource::new(recent, CatalogueSource::new(reader, Some(progress.job())));
        let (committed, written) = (Arc::clone(commits), Arc::clone(&progress));
        let behind = move || committed.last_page().saturating_sub(written.page());
        let name = format!("-o {}", progress.path());
        let options = FollowerOptions {
            on_failure: Box::new(move |error| {
                let _ = reports.send(vec![Report::Fatal(error.into())]);
            }),
            ..FollowerOptions::new(name, LagUnit::Pages, Box::new(behind))
        };
        let follower = Follower::start(options, PagesFollower::new(source, output))?;
        followers.add(&follower);
        Ok(OutputFollower { progress, follower })
    }

    /// To be stored with the next batch, which removes pages of these jobs from the catalogue.
    pub(crate) fn position(&self, mut forgotten: impl Iterator<Item = JobId>) -> OutputPosition {
        if forgotten.any(|job| job == self.progress.job()) {
            self.progress.out_of_date();
        }
        self.progress.position()
    }

    /// Writes all committed pages. Returns the position to store; none if it failed, which was reported.
    pub(crate) fn finish(self) -> Result<Option<OutputPosition>, EngineError> {
        match self.follower.drain(None) {
            Outcome::CaughtUp => Ok(Some(self.progress.position())),
            Outcome::Stopped | Outcome::Failed => Ok(None),
            Outcome::Panicked => Err(EngineError::Panicked(String::from("output"))),
        }
    }
}
