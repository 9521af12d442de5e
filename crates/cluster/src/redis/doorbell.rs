//! The doorbell: whoever wrote links for a shard rings it, and the shard's owner looks into its log at once.
//!
//! A ring is a hint and may be lost. The listener makes up for what it can know of: when it begins to listen to a shard,
//! and when it is back after an outage, it rings by itself, for there may be something. While it hears nothing it says
//! so, and the owner looks by the clock.

use super::Redis;
use super::link::{Link, TRY_LIMIT, classified, is_interrupted};
use redis::{PubSub, RedisError, RedisResult};
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the listener waits for a ring before it looks if the server still answers and which shards it owns.
const LISTEN: Duration = Duration::from_secs(1);
/// Between two tries to get back to a server that is away.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Look into the logs of these shards.
    Rung(Vec<u16>),
    /// Nothing is heard from now on: look by the clock.
    Away,
    /// Rings are heard, for the first time or again.
    Back,
}

/// Called on the listener's thread; what takes time belongs elsewhere.
pub type OnHeard = Box<dyn FnMut(Heard) + Send>;

/// Rings and listens, each on a thread of its own. Both end when it is dropped.
pub struct Doorbell {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// To be rung; a shard is in it once, which bounds it.
    to_ring: BTreeSet<u16>,
    owned: BTreeSet<u16>,
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Sets are changed whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps; true if the doorbell ended meanwhile.
    fn ended_within(&self, time: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, time, |state| !state.ended)
            .unwrap_or_else(PoisonError::into_inner);
        state.ended
    }
}

impl Doorbell {
    /// Listens to no shard yet: see [`Doorbell::own`].
    pub fn start(redis: &Redis, on_heard: OnHeard) -> std::io::Result<Doorbell> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let mut doorbell = Doorbell { shared: shared.clone(), threads: Vec::new() };
        let ringing = redis.clone();
        let for_ringer = shared.clone();
        let ringer = std::thread::Builder::new().name(String::from("doorbell-ring"));
        doorbell.threads.push(ringer.spawn(move || ring_until_ended(&ringing, &for_ringer))?);
        let listener = Listener {
            link: redis.link.clone(),
            channels: redis.key(format_args!("bell:")),
            shared,
            on_heard,
            hears: None,
        };
        let builder = std::thread::Builder::new().name(String::from("doorbell-listen"));
        doorbell.threads.push(builder.spawn(move || listener.listen_until_ended())?);
        Ok(doorbell)
    }

    /// Rings the shard's owner, whoever it is. Returns at once.
    pub fn ring(&self, shard: u16) {
        self.shared.lock().to_ring.insert(shard);
        self.shared.changed.notify_all();
    }

    /// Listens to these shards and no others, within a second; each new one is rung once.
    pub fn own(&self, shards: impl IntoIterator<Item = u16>) {
        self.shared.lock().owned = shards.into_iter().collect();
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn ring_until_ended(redis: &Redis, shared: &Shared) {
    loop {
        let shards = {
            let state = shared.lock();
            let mut state = shared
                .changed
                .wait_while(state, |state| state.to_ring.is_empty() && !state.ended)
                .unwrap_or_else(PoisonError::into_inner);
            if state.ended && state.to_ring.is_empty() {
                return;
            }
            std::mem::take(&mut state.to_ring)
        };
        let rung = redis.link.run(|connection| {
            let mut pipe = redis::pipe();
            for shard in &shards {
                pipe.cmd("PUBLISH").arg(redis.key(format_args!("bell:{shard}"))).arg(b"").ignore();
            }
            pipe.query::<()>(connection)
        });
        // The link has said that Redis is away; the listeners know it too.
        if let Err(error) = rung {
            tracing::debug!(%error, rings = shards.len(), "rings lost");
        }
    }
}

struct Listener {
    link: Arc<Link>,
    /// How the name of each shard's channel begins.
    channels: String,
    shared: Arc<Shared>,
    on_heard: OnHeard,
    /// None before it was tried.
    hears: Option<bool>,
}

impl Listener {
    fn listen_until_ended(mut self) {
        while !self.shared.lock().ended {
            let Err(error) = self.listen() else {
                return;
            };
            if is_interrupted(&error) {
                continue;
            }
            let before = self.hears.replace(false);
            // One that was never reached was missed by whoever made the connection.
            if before == Some(true) {
                tracing::warn!(error = %classified(error), "Redis notifications lost; polling instead");
            }
            if before != Some(false) {
                (self.on_heard)(Heard::Away);
            }
            if self.shared.ended_within(PAUSE) {
                return;
            }
        }
    }

    /// Until the doorbell ends, or the server fails.
    fn listen(&mut self) -> RedisResult<()> {
        let mut connection = self.link.connect()?;
        let mut rings = connection.as_pubsub();
        let mut heard = BTreeSet::new();
        loop {
            let (owned, ended) = {
                let state = self.shared.lock();
                (state.owned.clone(), state.ended)
            };
            if ended {
                return Ok(());
            }
            self.listen_to(&mut rings, &heard, &owned)?;
            let before = self.hears.replace(true);
            if before != Some(true) {
                if before == Some(false) {
                    tracing::info!("Redis notifications are back");
                }
                (self.on_heard)(Heard::Back);
            }
            // What was rung before the subscription is not heard.
            let new: Vec<u16> = owned.difference(&heard).copied().collect();
            if !new.is_empty() {
                (self.on_heard)(Heard::Rung(new));
            }
            heard = owned;
            self.hear(&mut rings)?;
        }
    }

    fn listen_to(
        &self,
        rings: &mut PubSub<'_>,
        now: &BTreeSet<u16>,
        then: &BTreeSet<u16>,
    ) -> RedisResult<()> {
        let names = |shards: std::collections::btree_set::Difference<'_, u16>| -> Vec<String> {
            shards.map(|shard| format!("{}{shard}", self.channels)).collect()
        };
        let (gone, new) = (names(now.difference(then)), names(then.difference(now)));
        // One by one: an answer to each is waited for, and that is how it is counted.
        gone.iter().try_for_each(|channel| rings.unsubscribe(channel))?;
        new.iter().try_for_each(|channel| rings.subscribe(channel))
    }

    /// Waits a while for rings and passes them on; silence is made sure of.
    fn hear(&mut self, rings: &mut PubSub<'_>) -> RedisResult<()> {
        rings.set_read_timeout(Some(LISTEN))?;
        let message = rings.get_message();
        rings.set_read_timeout(Some(TRY_LIMIT))?;
        match message {
            Ok(message) => {
                let shard = message.get_channel_name().strip_prefix(&self.channels);
                if let Some(shard) = shard.and_then(|number| number.parse().ok()) {
                    (self.on_heard)(Heard::Rung(vec![shard]));
                }
                Ok(())
            }
            Err(error) if is_silence(&error) => rings.ping().map(|_: redis::Value| ()),
            Err(error) => Err(error),
        }
    }
}

fn is_silence(error: &RedisError) -> bool {
    error.is_timeout()
}
