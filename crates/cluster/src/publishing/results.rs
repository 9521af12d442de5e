//! Pages for the topic `crawl_results`: a sink whose position moves when Kafka has acknowledged.

use super::positions::{self, OVERWRITTEN_PAGES, PAGES};
use super::topic_writer::{Record, TopicWriter};
use crate::database::Session;
use crate::kafka::Topic;
use crate::kafka::messages::CrawlResult;
use crate::server_error::ServerError;
use argiope_store::catalogue::StoredPage;
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::follower::{CommittedPages, PageSink, Position};

pub struct ResultsSink<'a> {
    session: &'a mut Session,
    writer: &'a mut TopicWriter,
    published: u64,
}

impl<'a> ResultsSink<'a> {
    pub fn new(session: &'a mut Session, writer: &'a mut TopicWriter) -> ResultsSink<'a> {
        ResultsSink { session, writer, published: 0 }
    }

    /// How far the position of new pages has moved.
    pub(super) fn published(&self) -> u64 {
        self.published
    }

    fn record(&self, stored: &StoredPage) -> Option<Record> {
        self.writer.record(&stored.row.page.url, &CrawlResult::from(&stored.row))
    }
}

impl PageSink for ResultsSink<'_> {
    fn position(&mut self) -> Result<Position> {
        let page = positions::read(self.session, PAGES)?;
        Ok(Position { page, batch: positions::read(self.session, OVERWRITTEN_PAGES)? })
    }

    fn store(&mut self, batch: &CommittedPages) -> Result<()> {
        let records: Vec<Record> =
            batch.pages.iter().chain(&batch.overwritten).filter_map(|stored| self.record(stored)).collect();
        self.writer.write(Topic::CrawlResults, &records).map_err(failed)?;
        let Position { page, batch: number } = batch.reached;
        positions::advance(self.session, &[(PAGES, page), (OVERWRITTEN_PAGES, number)])?;
        self.published += batch.pages.len() as u64;
        Ok(())
    }
}

fn failed(error: ServerError) -> StoreError {
    StoreError::new(ErrorKind::Unreachable, error.setting, error.message.clone()).with_source(error)
}
