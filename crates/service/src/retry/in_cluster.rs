//! A retry in a cluster: URLs go to their shards as messages, and their rows leave the catalogue.

use crate::cluster::{CLIENT, ClusterPlace, database_failure, kafka_failure};
use crate::{directory, selection};
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Session;
use argiope_cluster::members::{send, set_job_state};
use argiope_config::Failure;
use argiope_engine::{failures_after, visit_of};
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, Job, JobState, StoredPage};
use argiope_store::clock::now;

/// Sends the URLs to their shards and sets the job running. It does not end before all of them are sent.
pub fn put_back(
    place: &ClusterPlace,
    reader: &dyn CatalogueReader,
    job: &Job,
    all_failed: bool,
    named: &[StoredPage],
) -> Result<u64, Failure> {
    let store = |e| directory::store_failure(&e);
    let rules = selection::spec(job)?.normal_form.compile();
    let mut session = place.session()?;
    let mut sender = place.sender(CLIENT)?;
    let mut catalogue = PostgresCatalogue::open(&place.database, CLIENT).map_err(store)?;
    let set_state = |session: &mut Session, state: JobState| {
        set_job_state(session, job.id, state.as_str(), None, None).map_err(|e| database_failure(&e))
    };
    set_state(&mut session, JobState::Pending)?;
    let mut queued = 0;
    let mut send_again = |session: &mut Session, pages: &[StoredPage]| -> Result<(), Failure> {
        let visits: Vec<_> = pages.iter().filter_map(|page| visit_of(&page.row, &rules)).collect();
        queued += visits.len() as u64;
        let prepared = sender.prepare(place.addressing().again(visits)).map_err(|e| kafka_failure(&e))?;
        send(session, &prepared).map_err(|e| database_failure(&e))?;
        let forgotten = pages.iter().map(|page| page.row.key()).collect();
        catalogue.commit(&Batch { at: now(), forgotten, ..Batch::default() }).map_err(store)?;
        Ok(())
    };
    if !named.is_empty() {
        send_again(&mut session, named)?;
    }
    let mut after = 0;
    if all_failed {
        loop {
            let failed = failures_after(reader, job.id, after).map_err(store)?;
            let Some(last) = failed.last() else { break };
            after = last.seq;
            send_again(&mut session, &failed)?;
        }
    }
    let prepared = sender.prepare(place.addressing().begin(job.id, false)).map_err(|e| kafka_failure(&e))?;
    send(&mut session, &prepared).map_err(|e| database_failure(&e))?;
    set_state(&mut session, JobState::Running)?;
    Ok(queued)
}
