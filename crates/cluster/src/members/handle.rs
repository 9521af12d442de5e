//! How the owner of the frontier talks to the lease keeper: it sends commands and never waits.

use super::shared::Shared;
use argiope_frontier::member::Member;
use argiope_model::JobId;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// At most one command of each kind per shard or job is waiting, which bounds the queue.
pub(super) enum MemberCommand {
    HandedOver(u16),
    Dropped(u16),
    RequestPages(JobId),
    ReturnPages(JobId, u64),
    AnnounceLeave,
    /// Replies when the database is updated.
    Leave(Sender<()>),
    /// Check the table of leases now.
    Wake,
}

pub(super) struct MemberHandle {
    pub(super) commands: Sender<MemberCommand>,
    pub(super) shared: Arc<Shared>,
}

impl Member for MemberHandle {
    fn delivered(&mut self, shard: u16, offset: u64) {
        if let Some(reading) = self.shared.readings().get_mut(&shard) {
            (reading.delivered, reading.applied) = (offset, offset);
        }
        self.shared.wake_reader();
    }

    fn handed_over(&mut self, shard: u16) {
        let _ = self.commands.send(MemberCommand::HandedOver(shard));
    }

    fn dropped(&mut self, shard: u16) {
        let _ = self.commands.send(MemberCommand::Dropped(shard));
    }

    fn wants_pages(&mut self, job: JobId) {
        let _ = self.commands.send(MemberCommand::RequestPages(job));
    }

    fn returns_pages(&mut self, job: JobId, pages: u64) {
        let _ = self.commands.send(MemberCommand::ReturnPages(job, pages));
    }
}
