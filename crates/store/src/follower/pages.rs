//! A follower from a source of pages to a sink. [`super::Follower`] gives it a thread; callers with their own loop call
//! it directly.

use super::{Finished, Follow, PageSink, PageSource, Position, Step, Turn};
use crate::error::Result;

pub struct PagesFollower<From, To> {
    source: From,
    sink: To,
    /// None before the first step and after a failure: the sink knows its position.
    position: Option<Position>,
}

impl<From: PageSource, To: PageSink> PagesFollower<From, To> {
    pub fn new(source: From, sink: To) -> PagesFollower<From, To> {
        PagesFollower { source, sink, position: None }
    }

    pub fn sink(&self) -> &To {
        &self.sink
    }

    /// Does something with the sink between two batches. After an error the sink is asked where to continue.
    pub fn with_sink<T>(&mut self, work: impl FnOnce(&mut To) -> Result<T>) -> Result<T> {
        let outcome = work(&mut self.sink);
        if outcome.is_err() {
            self.position = None;
        }
        outcome
    }

    /// Passes one batch on. False if there was nothing new.
    pub fn advance(&mut self) -> Result<bool> {
        let position = match self.position.take() {
            Some(position) => position,
            None => self.sink.position()?,
        };
        let batch = self.source.read_after(position)?;
        let is_new = batch.reached != position;
        if is_new {
            self.sink.store(&batch)?;
        }
        self.position = Some(batch.reached);
        Ok(is_new)
    }

    /// Passes on all that is committed.
    pub fn catch_up(&mut self) -> Result<()> {
        while self.advance()? {}
        Ok(())
    }

    /// Passes on all that is committed and makes it durable.
    pub fn finish_all(&mut self) -> Result<()> {
        loop {
            self.catch_up()?;
            if self.finish_once()? == Finished::Yes {
                return Ok(());
            }
        }
    }

    fn finish_once(&mut self) -> Result<Finished> {
        let finished = self.with_sink(PageSink::finish)?;
        if finished == Finished::StartsOver {
            self.position = None;
        }
        Ok(finished)
    }
}

impl<From: PageSource, To: PageSink> Follow for PagesFollower<From, To> {
    fn step(&mut self, _: &Turn<'_>) -> Result<Step> {
        Ok(if self.advance()? { Step::More } else { Step::CaughtUp { look_within: None } })
    }

    fn finish(&mut self) -> Result<Finished> {
        self.finish_once()
    }
}
