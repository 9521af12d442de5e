//! Signals, waited for as events.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals as Incoming};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT or SIGTERM.
    Stop,
    /// SIGHUP.
    Reload,
}

pub(crate) struct Signals {
    handle: Handle,
    from: Receiver<Signal>,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Signals> {
        let mut incoming = Incoming::new([SIGINT, SIGTERM, SIGHUP])?;
        let handle = incoming.handle();
        let (to, from) = sync_channel(8);
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for number in incoming.forever() {
                let signal = if number == SIGHUP { Signal::Reload } else { Signal::Stop };
                // More than a few unheard ones say nothing new.
                let _ = to.try_send(signal);
            }
        })?;
        Ok(Signals { handle, from })
    }

    pub(crate) fn wait(&self, patience: Duration) -> Option<Signal> {
        match self.from.recv_timeout(patience) {
            Ok(signal) => Some(signal),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                None
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
    }
}
