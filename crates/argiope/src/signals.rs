//! Signals, and what else a command waits for, as events.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals as Incoming};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT or SIGTERM.
    Stop,
    /// SIGHUP.
    Reload,
    /// From this process: see [`Signals::waker`].
    Wake,
}

pub(crate) struct Signals {
    handle: Handle,
    to: SyncSender<Signal>,
    from: Receiver<Signal>,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Signals> {
        let mut incoming = Incoming::new([SIGINT, SIGTERM, SIGHUP])?;
        let handle = incoming.handle();
        let (to, from) = sync_channel(8);
        let heard = to.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for number in incoming.forever() {
                let signal = if number == SIGHUP { Signal::Reload } else { Signal::Stop };
                // More than a few unheard ones say nothing new.
                let _ = heard.try_send(signal);
            }
        })?;
        Ok(Signals { handle, to, from })
    }

    /// Ends a [`Signals::wait`] when it is called, the one under way or the next.
    pub(crate) fn waker(&self) -> impl FnOnce() + Send + 'static {
        let to = self.to.clone();
        move || {
            // If there is no room, whoever waits has enough to wake up for.
            let _ = to.try_send(Signal::Wake);
        }
    }

    pub(crate) fn wait(&self, patience: Duration) -> Option<Signal> {
        self.from.recv_timeout(patience).ok()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
    }
}
