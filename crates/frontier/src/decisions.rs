//! Decisions made outside [`crate::Frontier::next`], waiting for the owner to collect them: steps, and notices for the
//! operator.

use crate::notice::Notice;
use crate::step::Step;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct Decisions {
    steps: VecDeque<Step>,
    notices: VecDeque<Notice>,
}

impl Decisions {
    pub(crate) fn push(&mut self, step: Step) {
        self.steps.push_back(step);
    }

    pub(crate) fn next(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    pub(crate) fn notice(&mut self, notice: Notice) {
        self.notices.push_back(notice);
    }

    pub(crate) fn take_notices(&mut self) -> VecDeque<Notice> {
        std::mem::take(&mut self.notices)
    }
}
