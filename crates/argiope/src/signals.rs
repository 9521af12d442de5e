//! Signals, and other events that a command waits for.

use argiope_config::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals as Incoming};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
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

type OnStop = Box<dyn FnMut(u32) + Send>;

pub(crate) struct Signals {
    handle: Handle,
    on_stop: Arc<Mutex<Option<OnStop>>>,
    to: SyncSender<Signal>,
    from: Receiver<Signal>,
}

impl Signals {
    pub(crate) fn listen() -> Result<Signals, Failure> {
        Signals::start().map_err(|e| Failure::failed(format!("cannot listen for signals: {e}")))
    }

    fn start() -> io::Result<Signals> {
        let mut incoming = Incoming::new([SIGINT, SIGTERM, SIGHUP])?;
        let handle = incoming.handle();
        let (to, from) = sync_channel(8);
        let heard = to.clone();
        let on_stop: Arc<Mutex<Option<OnStop>>> = Arc::default();
        let tell = Arc::clone(&on_stop);
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            let mut stops = 0;
            for number in incoming.forever() {
                let signal = if number == SIGHUP { Signal::Reload } else { Signal::Stop };
                if signal == Signal::Stop {
                    stops += 1;
                    if let Some(tell) = tell.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                        tell(stops);
                    }
                }
                // More than a few pending ones add nothing.
                let _ = heard.try_send(signal);
            }
        })?;
        Ok(Signals { handle, on_stop, to, from })
    }

    /// Called with each stop and its number, on the thread that receives it: for code that waits for something else and
    /// may have to end.
    pub(crate) fn when_stopped(&self, tell: impl FnMut(u32) + Send + 'static) {
        *self.on_stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(tell));
    }

    /// Ends a [`Signals::wait`], the current or the next one.
    pub(crate) fn waker(&self) -> impl FnOnce() + Send + 'static {
        let to = self.to.clone();
        move || {
            // If there is no room, there is enough to wake up for.
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
