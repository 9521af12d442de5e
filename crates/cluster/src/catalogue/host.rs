//! Converts hosts, their figures and their robots.txt from the columns of the catalogue.

use crate::database::{Answer, Cells};
use argiope_store::catalogue::{HostFigures, HostRow, RobotsRow};
use tokio_postgres::Row;

pub(super) fn host_row(row: &Row) -> Answer<Option<HostRow>> {
    let mut from = Cells::of(row);
    Ok(Some(HostRow {
        host: from.text()?,
        root_domain: from.text()?,
        robots_text: from.optional_text()?,
        robots_fetched_at: from.optional_time()?,
        robots_status: from.optional_short()?,
        crawl_delay_ms: from.optional_number()?,
        delay_ms: from.number()?,
        is_allowed: from.take()?,
        page_count: from.number()?,
        error_count: from.number()?,
        bytes: from.number()?,
        last_request_at: from.optional_time()?,
    }))
}

pub(super) fn figures_row(row: &Row) -> Answer<Option<HostFigures>> {
    let mut from = Cells::of(row);
    Ok(Some(HostFigures {
        host: from.text()?,
        pages: from.number()?,
        failed: from.number()?,
        bytes: from.number()?,
        mean_fetch_ms: from.number()?,
        max_fetch_ms: from.number()?,
    }))
}

pub(super) fn robots_row(row: &Row) -> Answer<Option<RobotsRow>> {
    let mut from = Cells::of(row);
    let origin = from.text()?;
    let (fetched_at, status) = (from.time()?, from.optional_short()?);
    Ok(Some(RobotsRow { origin, fetched_at, status, body: from.take()? }))
}
