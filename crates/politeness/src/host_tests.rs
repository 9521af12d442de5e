use super::*;
use crate::{AlertKind, PolitenessRules, PolitenessSettings};
use proptest::prelude::*;

const BASE: Duration = Duration::from_secs(1);
const ONE: NonZeroU32 = NonZeroU32::MIN;
const START: Millis = Millis(1_751_630_400_000); // Friday, 2025-07-04T12:00:00Z

fn at(seconds: u64) -> Millis {
    START + Duration::from_secs(seconds)
}

fn rules(json: &str) -> HostRules {
    let settings: PolitenessSettings = serde_json::from_str(json).unwrap();
    PolitenessRules::compile(&settings).unwrap().for_host("example.com")
}

fn outcome(result: AnswerResult) -> AnswerOutcome {
    let latency = Duration::from_millis(800);
    AnswerOutcome { request: RequestKind::Page, latency, result, retry_after: None }
}

fn status(status: u16) -> AnswerOutcome {
    outcome(AnswerResult::Status(status))
}

#[test]
fn the_delay_runs_from_the_end_of_an_answer() {
    let rules = rules("{}");
    let mut host = HostState::default();
    assert_eq!(host.ready_at(at(0), &rules), at(0));
    host.started(at(0), BASE);
    assert_eq!(host.ready_at(at(0), &rules), at(1));
    host.answered(at(5), &status(200), &rules, BASE, ONE);
    assert_eq!(host.ready_at(at(5), &rules), at(6));
    assert_eq!(host.wait(at(5), &rules), Some(Wait { until: at(6), reason: WaitReason::CrawlDelay }));
    assert_eq!(host.wait(at(6), &rules), None);
    assert_eq!(host.ready_at(at(9), &rules), at(9));
}

#[test]
fn new_settings_change_the_wait_for_the_delay_and_keep_to_what_else_there_is() {
    let rules = rules("{}");
    let mut host = HostState::default();
    host.started(at(0), 60 * BASE);
    host.answered(at(2), &status(200), &rules, 60 * BASE, ONE);
    assert_eq!(host.ready_at(at(3), &rules), at(62));
    host.change_delay(5 * BASE);
    assert_eq!(host.ready_at(at(3), &rules), at(7));
    host.obey_retry_after(at(3), &AnswerOutcome { retry_after: Some(at(20)), ..status(503) }, &rules);
    let mut restored = HostState::decode(&encoded(&host)).unwrap();
    for host in [&mut host, &mut restored] {
        host.change_delay(5 * BASE);
        assert_eq!(host.ready_at(at(3), &rules), at(20));
        host.change_delay(90 * BASE);
        assert_eq!(host.ready_at(at(3), &rules), at(92));
    }
}

#[test]
fn without_a_delay_the_rest_of_a_millisecond_is_not_waited_for() {
    let rules = rules("{}");
    let mut host = HostState::default();
    host.started(at(1), Duration::ZERO);
    let ended = at(2) + Duration::from_millis(1);
    host.answered(ended, &status(200), &rules, Duration::ZERO, ONE);
    assert!(host.keeps(Duration::ZERO, at(2)));
    assert_eq!(host.ready_at(at(2), &rules), at(2));
    // A delay that is set later also runs from the end.
    assert!(!host.keeps(BASE, at(2) + BASE));
    assert!(host.keeps(BASE, ended + BASE));
}

#[test]
fn a_wait_that_an_older_program_stored_is_kept() {
    let mut host = HostState::default();
    host.started(at(0), 60 * BASE);
    let older: Vec<u8> = std::iter::once(WITHOUT_ASKED).chain(encoded(&host).into_iter().skip(1)).collect();
    let mut restored = HostState::decode(&older).unwrap();
    restored.change_delay(BASE);
    assert_eq!(restored.next_allowed(), at(60));
}

#[test]
fn a_delay_that_grows_during_the_wait_is_counted_from_where_the_wait_began() {
    let rules = rules("{}");
    let mut host = HostState::default();
    host.started(at(0), BASE);
    host.answered(at(2), &status(200), &rules, BASE, ONE);
    assert!(host.keeps(BASE, at(3)));
    assert!(!host.keeps(4 * BASE, at(3)));
    assert_eq!(host.ready_at(at(3), &rules), at(6));
    let mut restored = HostState::decode(&encoded(&host)).unwrap();
    assert!(restored.keeps(4 * BASE, at(6)));
    assert!(!restored.keeps(5 * BASE, at(6)));

    let several = rules.per_host([Some(4)]);
    let mut host = HostState::default();
    host.started(at(0), Duration::ZERO);
    host.answered(at(2), &status(500), &rules, Duration::ZERO, several);
    let grown = host.delay(Duration::ZERO);
    host.started(at(2), Duration::ZERO);
    assert!(grown > Duration::ZERO && !host.keeps(grown, at(2)));
    assert!(host.keeps(grown, at(2) + grown));
}

#[test]
fn with_several_in_flight_the_delay_runs_from_start_to_start() {
    let rules = rules("{}");
    let mut host = HostState::default();
    host.started(at(0), BASE);
    host.answered(at(5), &status(200), &rules, BASE, rules.per_host([Some(4)]));
    assert_eq!(host.ready_at(at(5), &rules), at(5));
    host.started(at(5), BASE);
    assert_eq!(host.ready_at(at(5), &rules), at(6));
}

#[test]
fn a_failure_is_followed_by_the_delay_too() {
    let rules = rules("{}");
    let mut host = HostState::default();
    host.answered(at(3), &outcome(AnswerResult::Failed(FailureKind::Connect)), &rules, BASE, ONE);
    assert_eq!(host.ready_at(at(3), &rules), at(4));
}

#[test]
fn errors_stretch_the_delay() {
    let rules = rules("{}");
    let mut host = HostState::default();
    host.answered(at(0), &status(429), &rules, BASE, ONE);
    assert_eq!(host.ready_at(at(0), &rules), at(2));
    assert_eq!(host.delay(BASE), Duration::from_secs(2));
}

#[test]
fn retry_after_holds_for_the_whole_host() {
    let rules = rules("{}");
    let mut host = HostState::default();
    let asked = |seconds| AnswerOutcome { retry_after: Some(at(seconds)), ..status(503) };
    assert_eq!(host.answered(at(0), &asked(90), &rules, BASE, ONE).parked, None);
    assert_eq!(host.ready_at(at(0), &rules), at(90));
    let parked = host.answered(at(0), &asked(7200), &rules, BASE, ONE).parked;
    assert_eq!(parked, Some(Parked { until: at(7200), reason: ParkReason::RetryAfter }));
    let reason = WaitReason::Parked;
    assert_eq!(host.wait(at(0), &rules), Some(Wait { until: at(7200), reason }));
    assert_eq!(host.parked(at(7200)), None);
    assert_eq!(host.ready_at(at(7200), &rules), at(7200));
}

#[test]
fn parking_is_never_shortened_by_a_later_reason() {
    let mut host = HostState::default();
    host.park(at(100), ParkReason::RetryAfter);
    host.park(at(50), ParkReason::RobotsUnreachable);
    assert_eq!(host.parked(at(0)), Some(Parked { until: at(100), reason: ParkReason::RetryAfter }));
    host.unpark();
    assert_eq!(host.parked(at(0)), None);
}

#[test]
fn failures_open_the_breaker_but_neither_client_errors_nor_robots_do() {
    let rules = rules(r#"{"adaptive": false}"#);
    let mut host = HostState::default();
    for second in 0..10 {
        assert_eq!(host.answered(at(second), &status(404), &rules, BASE, ONE), Reaction::default());
        let robots = AnswerOutcome { request: RequestKind::Robots, ..status(500) };
        assert_eq!(host.answered(at(second), &robots, &rules, BASE, ONE), Reaction::default());
    }
    for second in 10..14 {
        assert_eq!(host.answered(at(second), &status(500), &rules, BASE, ONE).alert, None);
    }
    let failed = outcome(AnswerResult::Failed(FailureKind::Timeout));
    let alert = host.answered(at(14), &failed, &rules, BASE, ONE).alert.unwrap();
    assert_eq!(alert.kind, AlertKind::Opened);
    assert_eq!(host.wait(at(14), &rules), Some(Wait { until: at(74), reason: WaitReason::BreakerOpen }));
    assert_eq!(host.gate(at(74)), Gate::Probe);
}

#[test]
fn a_closed_window_holds_the_host_back() {
    let rules = rules(r#"{"windows": [{"from": "11:00", "to": "13:00", "closed": true}]}"#);
    let host = HostState::default();
    assert_eq!(host.wait(at(0), &rules), Some(Wait { until: at(3600), reason: WaitReason::OutsideWindow }));
    assert_eq!(host.ready_at(at(3600), &rules), at(3600));
}

#[test]
fn a_delay_that_ends_inside_a_closed_window_waits_for_its_end() {
    let rules = rules(r#"{"windows": [{"from": "12:01", "to": "12:05", "closed": true}]}"#);
    let mut host = HostState::default();
    host.answered(at(0), &status(200), &rules, Duration::from_secs(90), ONE);
    assert_eq!(host.ready_at(at(0), &rules), at(300));
}

#[test]
fn after_an_unclean_stop_the_full_delay_starts_again() {
    let rules = rules("{}");
    let mut host = HostState::default();
    host.answered(at(0), &status(429), &rules, BASE, ONE);
    host.after_unclean_stop(at(100), BASE);
    assert_eq!(host.ready_at(at(100), &rules), at(102), "stretched by what the host said before");
    let mut parked = HostState::default();
    parked.answered(at(0), &AnswerOutcome { retry_after: Some(at(500)), ..status(503) }, &rules, BASE, ONE);
    parked.after_unclean_stop(at(100), BASE);
    assert_eq!(parked.ready_at(at(100), &rules), at(500), "what was stored is later");
}

#[test]
fn the_longer_crawl_delay_of_two_origins_counts() {
    let mut host = HostState::default();
    host.raise_crawl_delay(Some(Duration::from_millis(1500)));
    host.raise_crawl_delay(None);
    host.raise_crawl_delay(Some(Duration::from_secs(1)));
    assert_eq!(host.crawl_delay(), Some(Duration::from_millis(1500)));
    host.set_crawl_delay(Some(Duration::from_micros(1)));
    assert_eq!(host.crawl_delay(), Some(Duration::from_millis(1)), "rounded up");
}

fn encoded(host: &HostState) -> Vec<u8> {
    let mut bytes = Vec::new();
    host.encode(&mut bytes);
    bytes
}

#[test]
fn a_quiet_host_takes_few_bytes() {
    assert_eq!(encoded(&HostState::default()), [VERSION, 0, 0]);
    let rules = rules("{}");
    let mut host = HostState::default();
    for second in 0..100 {
        host.answered(at(second), &status(200), &rules, BASE, ONE);
    }
    assert!(encoded(&host).len() <= 64, "{}", encoded(&host).len());
    assert!(size_of::<HostState>() <= 144, "{}", size_of::<HostState>());
}

#[test]
fn every_byte_cut_off_is_noticed() {
    let rules = rules("{}");
    let mut host = HostState::default();
    host.set_crawl_delay(Some(BASE));
    host.park(at(9), ParkReason::RobotsUnreachable);
    host.answered(at(3), &status(500), &rules, BASE, ONE);
    let bytes = encoded(&host);
    assert_eq!(HostState::decode(&bytes), Ok(host));
    for length in 0..bytes.len() {
        assert!(HostState::decode(&bytes[..length]).is_err(), "{length}");
    }
    let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
    assert!(HostState::decode(&longer).is_err());
    let newer: Vec<u8> = std::iter::once(VERSION + 1).chain(bytes.iter().skip(1).copied()).collect();
    assert!(HostState::decode(&newer).unwrap_err().to_string().contains("newer"));
}

fn any_result() -> impl Strategy<Value = AnswerResult> {
    prop_oneof![
        (100u16..600).prop_map(AnswerResult::Status),
        Just(AnswerResult::Failed(FailureKind::Timeout)),
        Just(AnswerResult::Failed(FailureKind::Reset)),
        Just(AnswerResult::Failed(FailureKind::NameNotFound)),
    ]
}

proptest! {
    #[test]
    fn any_history_keeps_its_promises_and_is_read_back(
        history in prop::collection::vec((0u64..400, any_result(), 0u64..60_000, prop::option::of(0u64..9000)), 0..80),
        base_ms in prop_oneof![Just(0u64), 1u64..30_000],
    ) {
        let rules = rules("{}");
        let base = Duration::from_millis(base_ms);
        let mut host = HostState::default();
        let mut now = START;
        for (gap, result, latency_ms, retry_after) in history {
            now = now + Duration::from_secs(gap);
            let retry_after = retry_after.map(|seconds| now + Duration::from_secs(seconds));
            let latency = Duration::from_millis(latency_ms);
            host.answered(now, &AnswerOutcome { request: RequestKind::Page, latency, result, retry_after }, &rules, base, ONE);
            let ready = host.ready_at(now, &rules);
            prop_assert!(ready >= now + base, "never below the delay of the rules");
            prop_assert!(retry_after.is_none_or(|asked| ready >= asked), "never before the host asked for");
            prop_assert!(host.delay(base) <= base.max(Duration::from_secs(10)));
            prop_assert_eq!(HostState::decode(&encoded(&host)), Ok(host));
        }
    }

    #[test]
    fn arbitrary_bytes_are_a_record_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(host) = HostState::decode(&bytes) {
            let _ = host.ready_at(START, &rules("{}"));
            prop_assert_eq!(HostState::decode(&encoded(&host)), Ok(host));
        }
    }
}

#[test]
fn forgotten_failures_close_the_breaker_and_keep_delays_and_what_the_host_asked_for() {
    let rules = rules("{}");
    let mut host = HostState::default();
    for second in 0..5 {
        host.answered(at(second), &status(500), &rules, BASE, ONE);
    }
    assert_eq!(host.wait(at(5), &rules).map(|wait| wait.reason), Some(WaitReason::BreakerOpen));
    assert!(host.forget_failures());
    let delay = host.wait(at(4), &rules).unwrap();
    assert_eq!(delay.reason, WaitReason::CrawlDelay);
    assert!(delay.until >= at(5), "{delay:?}");
    host.park(at(7200), ParkReason::RetryAfter);
    assert!(!host.forget_failures());
    assert_eq!(host.ready_at(at(5), &rules), at(7200));
}
