//! The limit of open files: raised at the start as far as the system lets it, and shared out between what the stores have
//! open, the requests under way, and connections that are kept idle.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than any crawl opens. Where the system has no limit, there has to be one.
const WANTED: u64 = 1 << 20;
/// For the stores, the log, the resolvers, pipes: what is open beside connections, with room to spare.
const OTHER_FILES: u64 = 512;
/// A request may try two addresses of its host at a time.
const FILES_PER_REQUEST: u64 = 2;
/// Idle connections take memory, over TLS more: there has to be a bound that descriptors do not set. Not measured.
const MOST_IDLE: u64 = 4096;

/// Raises the limit of this process. What cannot be raised stays as it is: it is lived with.
pub(crate) fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(WANTED).min(WANTED);
    if current.is_some_and(|current| current < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
    {
        tracing::debug!(%error, wanted, "the limit of open files cannot be raised");
    }
}

/// How many connections may be kept idle beside so many requests under way.
pub(crate) fn idle_connections(concurrency: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(WANTED);
    usize::try_from(idle_of(limit, concurrency as u64)).unwrap_or(usize::MAX)
}

fn idle_of(limit: u64, concurrency: u64) -> u64 {
    let taken = OTHER_FILES.saturating_add(concurrency.saturating_mul(FILES_PER_REQUEST));
    // Where all is needed otherwise a few are kept all the same: they are closed when descriptors run out.
    limit.saturating_sub(taken).max(limit / 16).min(MOST_IDLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_get_what_stores_and_requests_leave() {
        assert_eq!(idle_of(1 << 20, 200), MOST_IDLE);
        assert_eq!(idle_of(2048, 200), 2048 - 512 - 400);
        assert_eq!(idle_of(1024, 500), 64);
        assert_eq!(idle_of(0, 1), 0);
        assert_eq!(idle_of(u64::MAX, u64::MAX), MOST_IDLE);
    }

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes() {
        raise();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert!(current.unwrap_or(u64::MAX) >= maximum.unwrap_or(WANTED).min(WANTED));
    }
}
