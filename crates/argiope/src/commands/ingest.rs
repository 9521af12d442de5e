//! `ingest`: a list of URLs, however long, into a job of a cluster.

use crate::cli::IngestArgs;
use crate::commands::output::print;
use crate::outage::{Doing, Waiting};
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions, check_name, load_config};
use argiope_model::display::{count, counted};
use argiope_service::cluster::ClusterPlace;
use argiope_service::ingest::{IngestRequest, UrlList, ingest};
use argiope_service::outage::Outages;
use std::path::Path;

pub(crate) fn run(global: &GlobalOptions, args: &IngestArgs, display: &Display) -> Result<(), Failure> {
    check_name(&args.name)?;
    let config = load_config(global)?;
    let place = ClusterPlace::open(&config.file)?;
    let list = match args.source.as_deref() {
        Some(source) if source == Path::new("-") => {
            Some(UrlList::read(String::from("-"), Box::new(std::io::stdin()))?)
        }
        Some(source) => Some(UrlList::open(&config.file, source)?),
        None => None,
    };
    let request = IngestRequest {
        name: args.name.clone(),
        depth: args.depth,
        skip_recent: args.skip_recent,
        keep_open: args.keep_open,
        let_end: args.let_end,
        allow_private: args.allow_private,
    };
    let waiting = Waiting { display, doing: Doing::Ingesting, signals: None };
    let outages = Outages::of(&place, &waiting);
    let done = ingest(&place, &config.file, &request, list, outages, &|text| display.message(text))?;
    let job = done.job;
    match done.list {
        None => {
            let how = if args.keep_open { "is kept open" } else { "ends when all its URLs are crawled" };
            print(&format!("job {job} {how}\n"))
        }
        Some(reached) => print(&format!(
            "{} sent to job {job}, {} skipped; 'argiope status {}' shows its progress\n",
            counted(reached.sent, "URL", "URLs"),
            count(reached.skipped),
            args.name
        )),
    }
}
