//! `inspect robots`: what a robots.txt says to an agent about URLs, which are taken as given.

use super::json_line;
use super::source::{self, Document, What};
use crate::cli::RobotsArgs;
use argiope_config::{Failure, GlobalOptions};
use argiope_politeness::robots::path_and_query_of;
use argiope_politeness::{Robots, Verdict};
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Answer<'u> {
    url: &'u str,
    allowed: bool,
    /// The line as it stands, `null` where no rule matches.
    rule: Option<String>,
    line: Option<u32>,
    /// Seconds.
    crawl_delay: Option<f64>,
}

pub(super) fn run(global: &GlobalOptions, args: &RobotsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let document = source::read(global, &args.source, What::Other, &args.fetch)?;
    let robots = policy(&document, &args.agent);
    for url in &args.urls {
        let verdict: Verdict<'_> = robots.check_as_given(&path_and_query_of(url));
        let answer = Answer {
            url,
            allowed: verdict.allowed,
            rule: verdict.rule.as_ref().map(|rule| rule.text()),
            line: verdict.rule.as_ref().and_then(|rule| rule.line()),
            crawl_delay: robots.crawl_delay().map(|delay| delay.as_secs_f64()),
        };
        json_line(out, &answer)?;
    }
    Ok(())
}

/// A fetched robots.txt means what its status says: none is leave for everything, a broken or busy
/// server for nothing.
fn policy(document: &Document, agent: &str) -> Robots {
    match document.status() {
        Some(status) if (400..500).contains(&status) && status != 429 => {
            Robots::allow_all(&format!("robots.txt returned {status}"))
        }
        Some(status) if !(200..300).contains(&status) => {
            Robots::disallow_all(&format!("robots.txt returned {status}"))
        }
        _ => Robots::parse(&document.body, agent),
    }
}
