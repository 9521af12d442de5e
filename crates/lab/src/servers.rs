//! The real servers that some tests need: PostgreSQL, Redis, Kafka, S3 and OpenSearch, started by `./test` or `scripts/servers`.
//!
//! A test that needs a server fails without it, so that a suite without a server does not appear to pass. To skip such
//! tests, set `ARGIOPE_TEST_SKIP_SERVERS=1`.

/// A server that tests use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestServer {
    Postgres,
    Redis,
    Kafka,
    S3,
    Search,
}

/// With this variable set to 1, tests without their server end at once.
const SKIP: &str = "ARGIOPE_TEST_SKIP_SERVERS";

impl TestServer {
    /// The name in `scripts/servers`.
    pub fn name(self) -> &'static str {
        match self {
            TestServer::Postgres => "postgres",
            TestServer::Redis => "redis",
            TestServer::Kafka => "kafka",
            TestServer::S3 => "s3",
            TestServer::Search => "search",
        }
    }

    /// The variable that holds its address.
    pub fn variable(self) -> String {
        format!("ARGIOPE_TEST_{}", self.name().to_uppercase())
    }

    /// The address of the server. `None` means that the test is to be skipped; otherwise a missing server is a failure.
    ///
    /// # Panics
    ///
    /// If there is no server and the test may not be skipped, or if the path of the calling test lacks `on_NAME`, by
    /// which `./test` filters tests of servers that cannot be started.
    pub fn address(self) -> Option<String> {
        let thread = std::thread::current();
        let address = self.decide(thread.name(), |name| std::env::var(name).ok());
        #[allow(clippy::panic, reason = "only tests call this, and a missing server fails them")]
        address.unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// `test` is the name of the test's thread, which is its path unless all tests share the main thread.
    fn decide(
        self,
        test: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<String>, String> {
        let (name, wanted) = (self.name(), self.variable());
        if let Some(test) = test.filter(|test| *test != "main")
            && !test.contains(&format!("on_{name}"))
        {
            return Err(format!("test '{test}' uses {name}, so its path must contain 'on_{name}'"));
        }
        match variable(&wanted) {
            Some(address) => Ok(Some(address)),
            None if variable(SKIP).as_deref() == Some("1") => Ok(None),
            None => Err(format!(
                "{wanted} is not set: this test needs {name}. Run ./test, or start the servers with 'scripts/servers up' \
                 and 'eval \"$(scripts/servers env)\"', or skip such tests with {SKIP}=1"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_missing_fails_the_test_unless_it_is_to_be_skipped() {
        let test = Some("module::does_a_thing_on_redis");
        let there = |name: &str| (name == "ARGIOPE_TEST_REDIS").then(|| String::from("redis://x"));
        assert_eq!(TestServer::Redis.decide(test, there), Ok(Some(String::from("redis://x"))));
        let skips = |name: &str| (name == SKIP).then(|| String::from("1"));
        assert_eq!(TestServer::Redis.decide(test, skips), Ok(None));
        let problem = TestServer::Redis.decide(test, |_| None).unwrap_err();
        assert!(problem.contains("ARGIOPE_TEST_REDIS") && problem.contains("scripts/servers"), "{problem}");
    }

    #[test]
    fn a_test_without_the_marker_of_its_server_fails_even_where_the_server_is_there() {
        let there = |_: &str| Some(String::from("x"));
        assert!(TestServer::S3.decide(Some("does_a_thing_on_redis"), there).is_err());
        assert!(TestServer::S3.decide(Some("on_s3::does_a_thing"), there).is_ok());
        assert!(TestServer::S3.decide(Some("main"), there).is_ok());
        assert!(TestServer::S3.decide(None, there).is_ok());
    }
}
