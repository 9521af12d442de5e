//! Everything that was handed out and is not settled yet, by token. A flight has a request in flight until
//! [`Flights::end_request`], and stays here until its visit is completed or put back.

use crate::hash::FastMap;
use crate::host::RobotsRequest;
use crate::queue::OrderKey;
use crate::ready::HostIndex;
use crate::step::Token;
use argiope_model::{JobId, Millis};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// Starts of ended requests are removed when there are more than this, and more than twice as many as requests.
const MOST_ENDED_STARTS: usize = 1024;

/// The item handed out under a token.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) host: HostIndex,
    /// The queue entry of a visit; None for a robots.txt request.
    pub(crate) entry: Option<TakenEntry>,
    pub(crate) robots: Option<Box<RobotsRequest>>,
    /// The address whose limit counts it.
    pub(crate) address: Option<IpAddr>,
    /// It has a page of the job's budget reserved.
    pub(crate) reserved: bool,
    /// Its shard was dropped. The page it may have stored belongs to this job.
    pub(crate) orphan_of: Option<JobId>,
    lane: u32,
    is_requesting: bool,
    /// When it was handed out.
    since: Millis,
}

/// A queue entry in progress.
#[derive(Clone, Debug)]
pub(crate) struct TakenEntry {
    pub(crate) job: JobId,
    pub(crate) order: OrderKey,
    pub(crate) value: Box<[u8]>,
}

impl InFlight {
    /// A request to a host, on one of its connections.
    pub(crate) fn requesting(host: HostIndex, lane: u32, address: Option<IpAddr>, now: Millis) -> InFlight {
        InFlight {
            host,
            entry: None,
            robots: None,
            address,
            reserved: false,
            orphan_of: None,
            lane,
            is_requesting: true,
            since: now,
        }
    }

    /// An entry that is handed out without a request.
    pub(crate) fn without_request(
        host: HostIndex,
        entry: TakenEntry,
        reserved: bool,
        now: Millis,
    ) -> InFlight {
        let flight = InFlight::requesting(host, 0, None, now);
        InFlight { entry: Some(entry), reserved, is_requesting: false, ..flight }
    }

    pub(crate) fn is_requesting(&self) -> bool {
        self.is_requesting
    }

    pub(crate) fn since(&self) -> Millis {
        self.since
    }
}

/// What a request releases when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedRequest {
    pub(crate) host: HostIndex,
    pub(crate) address: Option<IpAddr>,
    pub(crate) lane: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Flights {
    by_token: FastMap<Token, InFlight>,
    /// Start times of requests, oldest first. Ended ones are removed lazily.
    starts: VecDeque<(Millis, Token)>,
    /// Requests in flight.
    requests: usize,
    last_token: u64,
}

impl Flights {
    pub(crate) fn insert(&mut self, flight: InFlight) -> Token {
        self.last_token += 1;
        let token = Token(self.last_token);
        if flight.is_requesting {
            self.requests += 1;
            self.note_start(flight.since, token);
        }
        self.by_token.insert(token, flight);
        token
    }

    pub(crate) fn get(&self, token: Token) -> Option<&InFlight> {
        self.by_token.get(&token)
    }

    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut InFlight> {
        self.by_token.get_mut(&token)
    }

    /// Handed out and not settled.
    pub(crate) fn len(&self) -> usize {
        self.by_token.len()
    }

    /// Requests in flight.
    pub(crate) fn requests(&self) -> usize {
        self.requests
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &InFlight> {
        self.by_token.values()
    }

    /// The request in flight that started first.
    pub(crate) fn oldest_request(&self) -> Option<&InFlight> {
        let requests = self.by_token.iter().filter(|(_, flight)| flight.is_requesting);
        requests.min_by_key(|(token, _)| token.0).map(|(_, flight)| flight)
    }

    /// None if the request has ended before, or there was none.
    pub(crate) fn end_request(&mut self, token: Token) -> Option<EndedRequest> {
        let flight = self.by_token.get_mut(&token)?;
        if !std::mem::take(&mut flight.is_requesting) {
            return None;
        }
        self.requests = self.requests.saturating_sub(1);
        Some(EndedRequest { host: flight.host, address: flight.address.take(), lane: flight.lane })
    }

    /// Removes a flight and its request.
    pub(crate) fn remove(&mut self, token: Token) -> Option<InFlight> {
        let flight = self.by_token.remove(&token)?;
        self.requests = self.requests.saturating_sub(usize::from(flight.is_requesting));
        Some(flight)
    }

    /// Flights with a request in flight stay, whatever `keeps` returns.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&mut InFlight) -> bool) {
        self.by_token.retain(|_, flight| keeps(flight) || flight.is_requesting);
    }

    /// Resets the start time of the request to now, so that it does not become stale.
    pub(crate) fn restart(&mut self, token: Token, now: Millis) {
        if let Some(flight) = self.by_token.get_mut(&token) {
            flight.since = now;
            self.note_start(now, token);
        }
    }

    fn note_start(&mut self, now: Millis, token: Token) {
        if self.starts.len() > MOST_ENDED_STARTS + 2 * self.requests {
            let by_token = &self.by_token;
            self.starts.retain(|(_, token)| by_token.get(token).is_some_and(InFlight::is_requesting));
        }
        self.starts.push_back((now, token));
    }

    /// When the oldest request in flight started.
    pub(crate) fn first_start(&mut self) -> Option<Millis> {
        while let Some((at, token)) = self.starts.front() {
            if self.by_token.get(token).is_some_and(InFlight::is_requesting) {
                return Some(*at);
            }
            self.starts.pop_front();
        }
        None
    }

    /// The next request that has been in flight for longer than `limit`.
    pub(crate) fn take_stale(&mut self, now: Millis, limit: Duration) -> Option<Token> {
        while let Some((at, token)) = self.starts.front().copied() {
            if now < at + limit {
                return None;
            }
            self.starts.pop_front();
            let is_stale = |flight: &InFlight| flight.is_requesting && now >= flight.since + limit;
            if self.by_token.get(&token).is_some_and(is_stale) {
                return Some(token);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_until_they_end_and_flights_until_they_are_removed() {
        let mut flights = Flights::default();
        let first = flights.insert(InFlight::requesting(3, 1, None, Millis(10)));
        let second = flights.insert(InFlight::requesting(4, 0, None, Millis(20)));
        assert_eq!((flights.len(), flights.requests(), flights.first_start()), (2, 2, Some(Millis(10))));
        assert_eq!(flights.end_request(first).map(|ended| (ended.host, ended.lane)), Some((3, 1)));
        assert!(flights.end_request(first).is_none(), "it has ended before");
        assert_eq!((flights.len(), flights.requests(), flights.first_start()), (2, 1, Some(Millis(20))));
        assert!(flights.remove(first).is_some());
        assert_eq!((flights.len(), flights.requests()), (1, 1));
        flights.retain(|_| false);
        assert_eq!(flights.len(), 1, "its request is under way");
        assert!(flights.remove(second).is_some());
        assert_eq!((flights.len(), flights.requests()), (0, 0));
    }

    #[test]
    fn a_request_is_stale_after_its_last_start() {
        let mut flights = Flights::default();
        let limit = Duration::from_millis(100);
        let token = flights.insert(InFlight::requesting(3, 0, None, Millis(0)));
        flights.restart(token, Millis(50));
        assert_eq!(flights.take_stale(Millis(120), limit), None);
        assert_eq!(flights.take_stale(Millis(150), limit), Some(token));
        assert_eq!(flights.take_stale(Millis(999), limit), None);
    }
}
