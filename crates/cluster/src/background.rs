//! A background thread that runs until its handle is dropped.

use crate::server_error::{Result, ServerError, ServerErrorKind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

pub struct Background {
    /// Closed when the handle is dropped.
    open: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The thread's view of its handle.
pub struct StopSignal(Receiver<()>);

impl StopSignal {
    /// Sleeps for this time; true if the handle was dropped meanwhile.
    pub fn stopped_within(&self, limit: Duration) -> bool {
        self.0.recv_timeout(limit) != Err(RecvTimeoutError::Timeout)
    }

    pub fn is_stopped(&self) -> bool {
        self.0.try_recv() == Err(TryRecvError::Disconnected)
    }
}

impl Background {
    pub fn start(name: &str, work: impl FnOnce(StopSignal) + Send + 'static) -> Result<Background> {
        let (open, held) = channel();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(StopSignal(held)));
        let thread = thread.map_err(|error| {
            let message = format!("cannot start a thread: {error}");
            ServerError::new(ServerErrorKind::Misconfigured, "the system", message)
        })?;
        Ok(Background { open: Some(open), thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.open = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
