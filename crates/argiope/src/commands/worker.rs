//! `worker`: one member of a cluster, until it is stopped.

use crate::cli::WorkerArgs;
use crate::progress::Display;
use crate::signals::{Signal, Signals};
use argiope_config::{Failure, GlobalOptions, load_config};
use argiope_engine::Status;
use argiope_model::display::{bytes, count, counted};
use argiope_server::HealthServer;
use argiope_service::cluster::ClusterPlace;
use argiope_service::worker::{Departure, Member, Tended, Worker, WorkerRequest};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

pub(crate) fn run(global: &GlobalOptions, args: &WorkerArgs, display: &Display) -> Result<(), Failure> {
    let config = load_config(global)?;
    config.warnings().for_each(|warning| display.message(&warning));
    let place = ClusterPlace::open(&config.file)?;
    // Listens once it is a member; conflicts are reported before.
    let listen = args.listen.or(config.file.server.listen);
    if let Some(address) = listen {
        TcpListener::bind(address).map_err(|e| cannot_listen(address, &e))?;
    }
    let request = WorkerRequest { name: args.name.clone(), allow_private: args.allow_private };
    let worker = Worker::open(global, &config, place, &request, &|text| display.message(text))?;
    let signals = Signals::listen()?;
    display.message(&format!("worker {} joins {}", worker.name, worker.place.database.place()));
    let mut was_member = false;
    loop {
        match membership(&worker, listen, &signals, display) {
            Ok(Departure::Stopped { cut_off, files_left }) => {
                files_left.iter().for_each(|left| display.message(left));
                display.message(if cut_off {
                    CUT_OFF
                } else {
                    "everything is stored; other workers can take the shards"
                });
                return Ok(());
            }
            Ok(Departure::Dead) => {
                display
                    .message("this worker was silent for too long and others took its shards; joining again");
            }
            // Another outage of the database: earlier ones have not ended it either.
            Err(_) if was_member && !worker.database_answers() => {}
            Err(failure) => return Err(failure),
        }
        was_member = true;
        if !worker.wait_for_database(&|time| is_stopped_within(&signals, time)) {
            return Ok(());
        }
    }
}

/// The final message if others have the shards, or will take them.
const CUT_OFF: &str =
    "the lease has expired: other workers take the shards, and pending pages will be fetched again";

/// Until it is stopped or declared dead.
fn membership(
    worker: &Worker,
    listen: Option<SocketAddr>,
    signals: &Signals,
    display: &Display,
) -> Result<Departure, Failure> {
    let pause = |time| is_stopped_within(signals, time);
    if !worker.has_name_to_itself(&pause, &|text| display.message(text))? {
        return Ok(Departure::Stopped { cut_off: false, files_left: None });
    }
    let mut member = worker.join()?;
    let serve = |address| {
        HealthServer::start(address, Arc::new(member.vitals())).map_err(|e| cannot_listen(address, &e))
    };
    let health = listen.map(serve).transpose()?;
    watch(&mut member, signals, display);
    let departure = member.leave(|| {
        // A second stop ends it at once: the next start on this disk continues.
        if pause(LOOK_EVERY) {
            std::process::exit(130);
        }
    });
    drop(health);
    departure
}

fn is_stopped_within(signals: &Signals, time: Duration) -> bool {
    signals.wait(time) == Some(Signal::Stop)
}

fn watch(member: &mut Member<'_>, signals: &Signals, display: &Display) {
    let mut stops = 0;
    member.when_ended(signals.waker());
    let mut next_line = Instant::now() + LINE_EVERY;
    while !member.has_ended() {
        match signals.wait(LOOK_EVERY) {
            Some(Signal::Stop) => {
                stops += 1;
                if stops > 1 {
                    std::process::exit(130);
                }
                display.message(
                    "stopping: requests in flight may finish, then other workers take the shards; a second signal stops at once",
                );
                member.stop();
            }
            Some(Signal::Reload) => member.reload().iter().for_each(|text| display.message(text)),
            Some(Signal::Wake) | None => {}
        }
        if member.tend() == Tended::CutOff {
            display.message(CUT_OFF);
            std::process::exit(0);
        }
        if Instant::now() >= next_line {
            next_line = Instant::now() + LINE_EVERY;
            display.message(&line(&member.status(), member.shards()));
        }
    }
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot listen on {address}: {error}"))
        .hint("give another address with --listen, or as server.listen")
}

fn line(status: &Status, shards: usize) -> String {
    format!(
        "{} of {}, {} failed, {} queued, {} in flight, {}",
        counted(status.totals.pages, "page", "pages"),
        bytes(status.totals.bytes),
        count(status.totals.failed),
        count(status.queued()),
        count(status.requests.in_flight),
        counted(shards as u64, "shard", "shards"),
    )
}
