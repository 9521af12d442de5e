//! What workers, committer and cluster report to the scheduler.

use super::{Command, Scheduler};
use crate::committer::Stored;
use crate::error::EngineError;
use crate::log;
use crate::visit_record::VisitRecord;
use argiope_frontier::member::MemberEvent;
use argiope_frontier::{Answer, Disposition, HostIndex, RobotsAnswered, Token, Unresolved};
use argiope_model::Millis;
use argiope_store::clock::now;
use std::net::IpAddr;
use std::sync::Arc;

/// Notices kept for the status.
const NOTICES: usize = 20;

/// A report to the scheduler.
pub(crate) enum Report {
    Answered {
        token: Token,
        answer: Answer,
    },
    /// The host was not reached; the record waits for the frontier's decision.
    Failed {
        token: Token,
        answer: Answer,
        record: Box<VisitRecord>,
    },
    Robots {
        token: Token,
        answer: Answer,
        outcome: RobotsAnswered,
    },
    Resolved {
        host: HostIndex,
        result: Result<(Arc<[IpAddr]>, Millis), Unresolved>,
    },
    /// The scheduler has ended, or the turn did not come: no request was sent.
    NotAsked {
        token: Token,
    },
    /// The lease did not hold when its turn came, or expired while it was in flight (`sent`).
    TakenBack {
        token: Token,
        sent: bool,
    },
    /// Its response came after the end of the term in which it was sent; [`Order::Late`] decides what to do with it.
    Late {
        worker: usize,
        token: Token,
    },
    Stored(Stored),
    /// The frontier's batches up to this number are durable.
    Synced(u64),
    Member(MemberEvent),
    Command(Command),
    Fatal(EngineError),
}

impl Scheduler {
    pub(super) fn take(&mut self, batch: Vec<Report>) -> Result<(), EngineError> {
        let at = now();
        for report in batch {
            match report {
                Report::Answered { token, answer } => {
                    self.frontier.answered(token, &answer, at);
                }
                Report::Failed { token, answer, record } => {
                    match self.frontier.answered(token, &answer, at) {
                        Disposition::Record => self.commit_queue.put(*record),
                        Disposition::Hold => {
                            self.run.held.insert(token, record);
                        }
                    }
                }
                Report::Robots { token, answer, outcome } => {
                    self.frontier.answered(token, &answer, at);
                    if let Some(news) = self.frontier.robots_answered(token, outcome, at) {
                        self.offer_sitemaps(&news, at);
                    }
                }
                Report::Resolved { host, result } => self.frontier.resolved(host, result, at),
                Report::NotAsked { token } => self.frontier.abandon(token, at),
                Report::TakenBack { token, sent } => self.frontier.take_back(token, sent, at),
                Report::Late { worker, token } => self.late(worker, token, at),
                Report::Stored(stored) => self.stored(stored, at),
                Report::Synced(batches) => {
                    self.frontier.batches_durable(batches);
                    self.hand_over_stored(batches, at);
                }
                Report::Member(event) => self.member_event(event, at)?,
                Report::Command(command) => self.command(command, at)?,
                Report::Fatal(error) => return Err(error),
            }
        }
        let notices = self.frontier.take_notices();
        notices.iter().for_each(log::notice);
        self.run.notices.extend(notices.iter().map(log::notice_words));
        while self.run.notices.len() > NOTICES {
            self.run.notices.pop_front();
        }
        Ok(())
    }
}
