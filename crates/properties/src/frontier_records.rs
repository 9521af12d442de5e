//! Stored records of the frontier: what can be read is read back as it was, what cannot is refused, and a frontier
//! that was restored from them works.

use crate::choice;
use argiope_frontier::codec::{decode_visit, encode_visit};
use argiope_frontier::memory::MemoryState;
use argiope_frontier::message::Message;
use argiope_frontier::state::{Change, HostKey, ShardState, StateBatch, StateError};
use argiope_frontier::{Frontier, FrontierConfig, JobLimits, LastStop, Step, read_job_counts};
use argiope_model::{FingerprintKey, JobId, JobSpec, Millis, PublicSuffixes};
use argiope_politeness::{HostState, PolitenessRules, PolitenessSettings};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

const NOW: Millis = Millis(1_767_323_045_678);
const JOB: JobId = JobId(1);

/// The first byte says which record the rest is.
pub(crate) fn are_read_back_or_refused(bytes: &[u8]) {
    let (chosen, record) = choice(bytes);
    match chosen % 4 {
        0 => visit(record),
        1 => politeness(record),
        2 => host(record, chosen),
        _ => job(record),
    }
}

fn visit(record: &[u8]) {
    let Ok(visit) = decode_visit(JOB, 3, record) else { return };
    let written = encode_visit(&visit);
    assert!(written.len() <= record.len(), "no record is shorter than what is written");
    assert_eq!(decode_visit(JOB, 3, &written), Ok(visit));
}

/// What owners of shards tell each other.
pub(crate) fn messages_are_read_back_or_refused(bytes: &[u8]) {
    let Ok(message) = Message::decode(bytes) else { return };
    let written = message.encode();
    assert_eq!(Message::decode(&written), Ok(message.clone()));
    if let Message::Found(discovery) = &message {
        let urls: usize = discovery.found.iter().map(|one| one.url.as_str().len()).sum();
        assert!(urls <= bytes.len() * 32, "few bytes stand for many");
    }
}

fn politeness(record: &[u8]) {
    let Ok(state) = HostState::decode(record) else { return };
    let mut written = Vec::new();
    state.encode(&mut written);
    assert_eq!(HostState::decode(&written).ok(), Some(state));
    assert!(state.ready_at(NOW, &rules().for_host("")) >= NOW.min(state.next_allowed()));
}

fn host(record: &[u8], chosen: u8) {
    let counts = vec![2, 0, 0, 0, 0, 0, 0, 0];
    let last_stop = if chosen & 4 == 0 { LastStop::Clean } else { LastStop::Unclean };
    let key = HostKey { shard: 3, number: 7 };
    let changes = vec![
        Change::Job { job: JOB, shard: 3, record: counts },
        Change::Host { key, record: record.to_vec() },
    ];
    let Ok(mut frontier) = restored(changes, last_stop) else { return };
    // Each step is one of few, for there is one host, and nothing is queued for it.
    let comes_to_rest = (0..100).any(|_| match frontier.next(NOW) {
        Step::LoadQueue { host, at, .. } => {
            frontier.queue_loaded(host, at.job, Vec::new(), true, NOW);
            false
        }
        step => matches!(step, Step::Wait(_)),
    });
    assert!(comes_to_rest);
}

fn job(record: &[u8]) {
    let counts = read_job_counts(record);
    let frontier =
        restored(vec![Change::Job { job: JOB, shard: 3, record: record.to_vec() }], LastStop::Clean);
    assert_eq!(counts.is_ok(), frontier.is_ok());
    if let (Ok(counts), Ok(frontier)) = (counts, frontier) {
        let progress = frontier.progress(JOB).expect("a job that is open");
        assert_eq!(progress.pages, counts.pages);
    }
}

fn restored(changes: Vec<Change>, last_stop: LastStop) -> Result<Frontier, StateError> {
    static SUFFIXES: OnceLock<Arc<PublicSuffixes>> = OnceLock::new();
    let suffixes = SUFFIXES.get_or_init(|| Arc::new(PublicSuffixes::bundled()));
    let mut state = MemoryState::new();
    state.apply(StateBatch { changes, marks: Vec::new() })?;
    let mut frontier = Frontier::new(
        FrontierConfig::default(),
        suffixes.clone(),
        FingerprintKey::new([5; 16]),
        rules(),
        NOW,
    );
    let opens = HashMap::from([(JOB, JobLimits::of(&JobSpec::default(), "argiope"))]);
    frontier.restore(&state, &opens, last_stop, NOW)?;
    Ok(frontier)
}

fn rules() -> Arc<PolitenessRules> {
    static RULES: OnceLock<Arc<PolitenessRules>> = OnceLock::new();
    RULES
        .get_or_init(|| {
            Arc::new(
                PolitenessRules::compile(&PolitenessSettings::default()).expect("the defaults are valid"),
            )
        })
        .clone()
}
