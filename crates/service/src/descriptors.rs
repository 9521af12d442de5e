//! The limit of open files: raised at start as far as the system allows, and divided between open files of the stores,
//! requests in flight, and idle connections.

use argiope_config::Failure;
use argiope_engine::EngineConfig;
use argiope_fetch::Descriptors;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than any crawl opens. If the system has no limit, there must still be one.
const WANTED: u64 = 1 << 20;
/// Standard streams, the lock, the catalogue and its readers, the link segment, the journals of the frontier, the
/// control socket, epoll of threads other than workers: 18 were counted in a crawl; a file of pages or a list is extra.
const LOCAL_FILES: u64 = 24;
/// The same for a worker of a cluster, with connections to its servers instead of files: 29 were counted with
/// PostgreSQL and Redis; Kafka and the object store are extra.
const CLUSTER_FILES: u64 = 64;
/// Two of epoll, one eventfd, one WARC file.
const FILES_PER_WORKER: u64 = 4;
/// One compaction of the frontier reads up to 30 tables of the first level, with some of the next, at a time.
const MOST_COMPACTED: u64 = 40;
/// Each DNS query has its own socket.
const MOST_QUESTIONS: u64 = 64;
/// Hosts with several addresses may be connected to by two at a time.
const MOST_SECOND_ADDRESSES: u64 = 64;
/// Idle connections take memory, with TLS more, so there must be a limit besides descriptors. Not measured.
pub const MOST_IDLE: usize = 4096;
/// A crawl with fewer concurrent requests is not worth starting, unless fewer were requested.
const LEAST_CONCURRENCY: u64 = 4;

/// Raises the limit of this process. If that fails, the limit stays as it is.
pub fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(WANTED).min(WANTED);
    if current.is_some_and(|current| current < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
    {
        tracing::debug!(%error, wanted, "cannot raise the limit of open files");
    }
}

fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(WANTED)
}

/// How many table files the frontier may keep open.
pub fn table_files() -> usize {
    size(tables_of(limit()))
}

fn tables_of(limit: u64) -> u64 {
    // The store takes no fewer than 10; 900 is its own default.
    (limit / 8).clamp(10, 900)
}

/// What has files open besides connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// The stores of one machine.
    Local,
    /// The servers of a cluster.
    Cluster,
    /// The one file of a graph.
    Graph,
}

/// How the descriptors of this process are divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    limit: u64,
    wanted: u64,
    concurrency: u64,
    threads: u64,
    questions: u64,
    second_addresses: u64,
    idle: u64,
}

impl Room {
    /// For this many concurrent requests. Fails if the limit does not even allow a few.
    pub fn new(concurrency: u32, keeper: Keeper) -> Result<Room, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let limit = limit();
        Room::of(limit, u64::from(concurrency), cores as u64, keeper).ok_or_else(|| {
            Failure::failed(format!("the limit of {limit} open files (ulimit -n) is too low to crawl"))
                .hint("raise it, for example with 'ulimit -n 1024'")
        })
    }

    fn of(limit: u64, wanted: u64, cores: u64, keeper: Keeper) -> Option<Room> {
        let wanted = wanted.max(1);
        let threads = cores.min(limit / 32).min(wanted).max(1);
        let questions = (limit / 16).clamp(4, MOST_QUESTIONS);
        let files = match keeper {
            Keeper::Local => LOCAL_FILES + (limit / 4).clamp(16, MOST_COMPACTED) + tables_of(limit),
            Keeper::Cluster => CLUSTER_FILES,
            Keeper::Graph => LOCAL_FILES,
        };
        let left = limit.checked_sub(files + questions + threads * FILES_PER_WORKER)?;
        let second_addresses = (left / 8).clamp(1, MOST_SECOND_ADDRESSES);
        let left = left.checked_sub(second_addresses)?;
        // If not everything fits, a quarter is for idle connections: without them each request needs a new one.
        let concurrency = wanted.min(left - left / 4);
        let idle = (left - concurrency).min(MOST_IDLE as u64);
        (concurrency >= wanted.min(LEAST_CONCURRENCY)).then_some(Room {
            limit,
            wanted,
            concurrency,
            threads,
            questions,
            second_addresses,
            idle,
        })
    }

    /// The warning if fewer concurrent requests are possible than requested.
    pub fn warning(&self) -> Option<String> {
        let Room { limit, wanted, concurrency, .. } = self;
        (concurrency < wanted).then(|| {
            format!(
                "warning: the limit of {limit} open files (ulimit -n) allows {concurrency} concurrent requests, \
                 not {wanted}; raise it to allow more"
            )
        })
    }

    /// The configuration, reduced to what fits.
    pub fn fit(&self, mut config: EngineConfig) -> EngineConfig {
        config.concurrency = size(self.concurrency);
        config.workers = config.workers.min(size(self.threads));
        config.resolver.in_flight = config.resolver.in_flight.min(size(self.questions));
        let idle = config.fetcher.descriptors.most_idle().min(size(self.idle));
        config.fetcher.descriptors = Descriptors::new(idle, size(self.second_addresses));
        config
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The advice if a store could not open a file.
pub const TOO_MANY_FILES: &str =
    "raise the limit of open files (ulimit -n), or use fewer concurrent requests (--concurrency)";

/// Whether an error says that the process or the system has no descriptor left.
pub fn ran_out(message: &str) -> bool {
    ["(os error 24)", "(os error 23)"].iter().any(|code| message.contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(limit: u64, wanted: u64) -> Option<(u64, u64)> {
        Room::of(limit, wanted, 2, Keeper::Local).map(|room| (room.concurrency, room.idle))
    }

    #[test]
    fn idle_connections_get_what_stores_and_requests_leave() {
        assert_eq!(room(1 << 20, 200), Some((200, MOST_IDLE as u64)));
        assert_eq!(room(1024, 100), Some((100, 596)));
        // 200 kept connections are 100 in use and 100 idle ones.
        assert_eq!(room(512, 100), Some((100, 201)));
        assert_eq!(room(u64::MAX, u64::MAX).map(|(_, idle)| idle), Some(MOST_IDLE as u64));
    }

    #[test]
    fn requests_are_bounded_by_what_the_stores_leave() {
        assert_eq!(room(256, 100), Some((90, 29)));
        assert_eq!(room(128, 100), Some((27, 8)));
        assert_eq!(room(128, 8), Some((8, 27)));
        for limit in 0..2048 {
            for cores in [1, 2, 64] {
                let Some(room) = Room::of(limit, 100, cores, Keeper::Local) else { continue };
                let connections = room.concurrency + room.idle + room.second_addresses;
                let files = LOCAL_FILES + tables_of(limit) + room.threads * FILES_PER_WORKER + room.questions;
                assert!(connections + files + 16 <= limit, "{limit}: {room:?}");
            }
        }
    }

    #[test]
    fn a_limit_for_less_than_a_few_requests_is_refused() {
        assert_eq!((room(0, 1), room(48, 1), room(64, 100)), (None, None, None));
        assert_eq!(room(64, 1), Some((1, 4)));
        assert!(room(96, 100).is_some());
        assert!(Room::of(64, 100, 2, Keeper::Graph).is_some());
    }

    #[test]
    fn fewer_requests_than_wanted_are_warned_of_with_both_numbers() {
        let warning = Room::of(128, 100, 2, Keeper::Local).and_then(|room| room.warning()).unwrap();
        for part in ["ulimit -n", "128", "27 concurrent requests", "not 100"] {
            assert!(warning.contains(part), "{warning}");
        }
        assert_eq!(Room::of(1024, 100, 2, Keeper::Local).unwrap().warning(), None);
    }

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes() {
        raise();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert!(current.unwrap_or(u64::MAX) >= maximum.unwrap_or(WANTED).min(WANTED));
    }

    #[test]
    fn an_error_for_want_of_descriptors_is_known() {
        for errno in [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE] {
            assert!(ran_out(&format!("d/archive: {}", std::io::Error::from(errno))));
        }
        assert!(!ran_out("d/archive: No space left on device (os error 28)"));
    }
}
