//! What a worker tells of itself over HTTP: `/health` to whoever restarts it, `/ready` to whoever counts it in,
//! `/metrics` to Prometheus. The command that runs the worker plugs in a closure that says how it is.
//!
//! `/health` is 200 while the process works, whichever server is away: a restart would mend none of them. `/ready` is
//! 200 while it is a member of the cluster.

pub(crate) mod domains;
pub(crate) mod exposition;
pub(crate) mod figures;
pub(crate) mod histogram;
mod listener;
mod request;

use figures::Figures;
use serde_json::json;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Where a worker is between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Joining,
    Member,
    /// It hands its shards over.
    Draining,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Joining => "joining",
            State::Member => "member",
            State::Draining => "draining",
        }
    }
}

/// A server that the worker needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: &'static str,
    pub(crate) up: bool,
    /// What is wrong. Anybody who reaches the port can read it: no credentials.
    pub(crate) detail: Option<String>,
}

/// How a worker is, at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Vitals {
    pub(crate) state: State,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) figures: Figures,
}

/// Answers until it is dropped.
pub(crate) struct HealthServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HealthServer {
    /// `vitals` is called for each request and must wait for no server: while it waits, `/health` does not answer.
    pub(crate) fn start(
        listen: SocketAddr,
        vitals: impl Fn() -> Vitals + Send + Sync + 'static,
    ) -> io::Result<HealthServer> {
        let listener = TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("health".into()).spawn(move || {
            if let Err(error) = runtime.block_on(listener::listen(listener, Arc::new(vitals), stopped)) {
                tracing::error!(%address, %error, "health is not told any more");
            }
        })?;
        Ok(HealthServer { address, stop: Some(stop), thread: Some(thread) })
    }

    /// With the port that was found where 0 was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HealthServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What goes back over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    content_type: &'static str,
    body: String,
}

impl Answer {
    fn json(status: u16, body: &serde_json::Value) -> Answer {
        Answer { status, content_type: "application/json", body: format!("{body}\n") }
    }

    fn error(status: u16, error: &str, detail: &str) -> Answer {
        Answer::json(status, &json!({"error": error, "detail": detail}))
    }
}

/// The answer to what a path asks for.
fn answer(path: &str, vitals: &dyn Fn() -> Vitals) -> Answer {
    match path {
        "/health" => health(&vitals()),
        "/ready" => ready(vitals().state),
        "/metrics" => metrics(&vitals()),
        _ => Answer::error(404, "not found", "there are /health, /ready and /metrics"),
    }
}

fn health(vitals: &Vitals) -> Answer {
    let all_up = vitals.dependencies.iter().all(|dependency| dependency.up);
    let dependencies: serde_json::Map<_, _> = vitals
        .dependencies
        .iter()
        .map(|it| (it.name.to_owned(), json!({"up": it.up, "detail": it.detail})))
        .collect();
    Answer::json(
        200,
        &json!({
            "status": if all_up { "ok" } else { "degraded" },
            "state": vitals.state.word(),
            "dependencies": dependencies,
        }),
    )
}

fn ready(state: State) -> Answer {
    let is_ready = state == State::Member;
    Answer::json(if is_ready { 200 } else { 503 }, &json!({"ready": is_ready, "state": state.word()}))
}

fn metrics(vitals: &Vitals) -> Answer {
    let dependencies = vitals.dependencies.iter().map(|dependency| (dependency.name, dependency.up));
    Answer {
        status: 200,
        content_type: "text/plain; version=0.0.4; charset=utf-8",
        body: vitals.figures.exposed(dependencies),
    }
}

#[cfg(test)]
mod tests;
