//! What a robots.txt says to an agent about URLs, which are taken as given.

use super::document::{self, Document, InspectOptions, Source, What};
use argiope_config::{Failure, GlobalOptions};
use argiope_politeness::robots::path_and_query_of;
use argiope_politeness::{Robots, Verdict};
use serde::Serialize;

/// The verdict on a URL, its fields in this order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RobotsAnswer {
    pub url: String,
    pub allowed: bool,
    /// The line as it stands, `null` where no rule matches.
    pub rule: Option<String>,
    pub line: Option<u32>,
    /// Seconds.
    pub crawl_delay: Option<f64>,
}

pub fn robots(
    global: &GlobalOptions,
    source: Source,
    agent: &str,
    urls: &[String],
    options: &InspectOptions,
    notice: &dyn Fn(&str),
) -> Result<Vec<RobotsAnswer>, Failure> {
    let document = document::read(global, source, What::Other, options, notice)?;
    let robots = policy(&document, agent);
    Ok(urls.iter().map(|url| answer(&robots, url)).collect())
}

fn answer(robots: &Robots, url: &str) -> RobotsAnswer {
    let verdict: Verdict<'_> = robots.check_as_given(&path_and_query_of(url));
    RobotsAnswer {
        url: url.to_owned(),
        allowed: verdict.allowed,
        rule: verdict.rule.as_ref().map(|rule| rule.text()),
        line: verdict.rule.as_ref().and_then(|rule| rule.line()),
        crawl_delay: robots.crawl_delay().map(|delay| delay.as_secs_f64()),
    }
}

/// A fetched robots.txt means what its status says: without one everything is allowed, while the server fails or is busy
/// nothing is.
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
