//! Tells the owner of a shard that there is something new in its log, by Redis publish/subscribe, so that it need not poll.
//!
//! A notification is a hint and may be lost. The listener compensates: when it subscribes to a shard, and when it
//! reconnects after an outage, it reports all shards concerned, because there may be something new. While disconnected,
//! it reports that, and the owner polls.

use super::Redis;
use super::link::{Link, TRY_LIMIT, classified, is_interrupted};
use redis::{PubSub, RedisError, RedisResult};
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the listener waits for a notification before it pings the server and checks which shards are owned.
const LISTEN: Duration = Duration::from_secs(1);
/// Between two attempts to reconnect.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotifierEvent {
    /// There may be new messages in the logs of these shards.
    Notified(Vec<u16>),
    /// No notifications arrive from now on: poll instead.
    Disconnected,
    /// Notifications arrive, for the first time or again.
    Connected,
}

/// Called on the listener's thread; must not block.
pub type OnNotifierEvent = Box<dyn FnMut(NotifierEvent) + Send>;

/// Publishes and listens, each on its own thread. Dropping it ends both.
pub struct ShardNotifier {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Shards to notify; each is in it once at most, which bounds it.
    pending: BTreeSet<u16>,
    owned: BTreeSet<u16>,
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Sets are never left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps; true if the notifier was dropped meanwhile.
    fn ended_within(&self, time: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, time, |state| !state.ended)
            .unwrap_or_else(PoisonError::into_inner);
        state.ended
    }
}

impl ShardNotifier {
    /// Does not listen to any shard yet: see [`ShardNotifier::listen_to`].
    pub fn start(redis: &Redis, on_event: OnNotifierEvent) -> std::io::Result<ShardNotifier> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let mut notifier = ShardNotifier { shared: shared.clone(), threads: Vec::new() };
        let publishing = redis.clone();
        let for_publisher = shared.clone();
        let publisher = std::thread::Builder::new().name(String::from("notifier-publish"));
        notifier.threads.push(publisher.spawn(move || publish_until_ended(&publishing, &for_publisher))?);
        let listener = Listener {
            link: redis.link.clone(),
            channels: redis.key(format_args!("bell:")),
            shared,
            on_event,
            connected: None,
        };
        let builder = std::thread::Builder::new().name(String::from("notifier-listen"));
        notifier.threads.push(builder.spawn(move || listener.listen_until_ended())?);
        Ok(notifier)
    }

    /// Notifies the shard's owner, whoever it is. Returns at once.
    pub fn notify(&self, shard: u16) {
        self.shared.lock().pending.insert(shard);
        self.shared.changed.notify_all();
    }

    /// Listens to exactly these shards, within a second; each new one is reported once.
    pub fn listen_to(&self, shards: impl IntoIterator<Item = u16>) {
        self.shared.lock().owned = shards.into_iter().collect();
    }
}

impl Drop for ShardNotifier {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn publish_until_ended(redis: &Redis, shared: &Shared) {
    loop {
        let shards = {
            let state = shared.lock();
            let mut state = shared
                .changed
                .wait_while(state, |state| state.pending.is_empty() && !state.ended)
                .unwrap_or_else(PoisonError::into_inner);
            if state.ended && state.pending.is_empty() {
                return;
            }
            std::mem::take(&mut state.pending)
        };
        let published = redis.link.run(|connection| {
            let mut pipe = redis::pipe();
            for shard in &shards {
                pipe.cmd("PUBLISH").arg(redis.key(format_args!("bell:{shard}"))).arg(b"").ignore();
            }
            pipe.query::<()>(connection)
        });
        // The link has logged that Redis is unreachable; the listeners notice by themselves.
        if let Err(error) = published {
            tracing::debug!(%error, shards = shards.len(), "notifications lost");
        }
    }
}

struct Listener {
    link: Arc<Link>,
    /// The prefix of every shard's channel name.
    channels: String,
    shared: Arc<Shared>,
    on_event: OnNotifierEvent,
    /// None before the first attempt.
    connected: Option<bool>,
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
            let before = self.connected.replace(false);
            // The caller has reported a server that was never reached.
            if before == Some(true) {
                tracing::warn!(error = %classified(error), "Redis notifications lost; polling instead");
            }
            if before != Some(false) {
                (self.on_event)(NotifierEvent::Disconnected);
            }
            if self.shared.ended_within(PAUSE) {
                return;
            }
        }
    }

    /// Until the notifier is dropped or the server fails.
    fn listen(&mut self) -> RedisResult<()> {
        let mut connection = self.link.connect()?;
        let mut messages = connection.as_pubsub();
        let mut subscribed = BTreeSet::new();
        loop {
            let (owned, ended) = {
                let state = self.shared.lock();
                (state.owned.clone(), state.ended)
            };
            if ended {
                return Ok(());
            }
            self.subscribe(&mut messages, &subscribed, &owned)?;
            let before = self.connected.replace(true);
            if before != Some(true) {
                if before == Some(false) {
                    tracing::info!("Redis notifications are back");
                }
                (self.on_event)(NotifierEvent::Connected);
            }
            // Notifications from before the subscription were missed.
            let new: Vec<u16> = owned.difference(&subscribed).copied().collect();
            if !new.is_empty() {
                (self.on_event)(NotifierEvent::Notified(new));
            }
            subscribed = owned;
            self.receive(&mut messages)?;
        }
    }

    fn subscribe(
        &self,
        messages: &mut PubSub<'_>,
        now: &BTreeSet<u16>,
        then: &BTreeSet<u16>,
    ) -> RedisResult<()> {
        let names = |shards: std::collections::btree_set::Difference<'_, u16>| -> Vec<String> {
            shards.map(|shard| format!("{}{shard}", self.channels)).collect()
        };
        let (gone, new) = (names(now.difference(then)), names(then.difference(now)));
        // One at a time: the client counts one reply for each call.
        gone.iter().try_for_each(|channel| messages.unsubscribe(channel))?;
        new.iter().try_for_each(|channel| messages.subscribe(channel))
    }

    /// Waits for a notification and passes it on; after a silence it pings the server.
    fn receive(&mut self, messages: &mut PubSub<'_>) -> RedisResult<()> {
        messages.set_read_timeout(Some(LISTEN))?;
        let message = messages.get_message();
        messages.set_read_timeout(Some(TRY_LIMIT))?;
        match message {
            Ok(message) => {
                let shard = message.get_channel_name().strip_prefix(&self.channels);
                if let Some(shard) = shard.and_then(|number| number.parse().ok()) {
                    (self.on_event)(NotifierEvent::Notified(vec![shard]));
                }
                Ok(())
            }
            Err(error) if is_silence(&error) => messages.ping().map(|_: redis::Value| ()),
            Err(error) => Err(error),
        }
    }
}

fn is_silence(error: &RedisError) -> bool {
    error.is_timeout()
}
