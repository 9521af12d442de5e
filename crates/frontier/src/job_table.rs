//! The open jobs, and those that have ended while the frontier ran.

use crate::hash::{FastMap, FastSet};
use crate::job::Job;
use argiope_model::JobId;

#[derive(Debug, Default)]
pub(crate) struct JobTable {
    open: FastMap<JobId, Job>,
    /// Messages for these are dropped; messages for unknown jobs wait.
    ended: FastSet<JobId>,
}

impl JobTable {
    pub(crate) fn get(&self, id: &JobId) -> Option<&Job> {
        self.open.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &JobId) -> Option<&mut Job> {
        self.open.get_mut(id)
    }

    pub(crate) fn contains_key(&self, id: &JobId) -> bool {
        self.open.contains_key(id)
    }

    /// The open job, created with `make` if it is not open yet.
    pub(crate) fn open(&mut self, id: JobId, make: impl FnOnce() -> Job) -> &mut Job {
        self.ended.remove(&id);
        self.open.entry(id).or_insert_with(make)
    }

    pub(crate) fn end(&mut self, id: JobId) {
        self.open.remove(&id);
        self.ended.insert(id);
    }

    pub(crate) fn has_ended(&self, id: JobId) -> bool {
        self.ended.contains(&id)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &JobId> {
        self.open.keys()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Job> {
        self.open.values()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Job> {
        self.open.values_mut()
    }
}
