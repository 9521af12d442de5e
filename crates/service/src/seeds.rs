//! The seeds of a job: those of the command line and the job file, and those of its list.

use argiope_config::{CrawlSettings, Failure};
use argiope_model::Url;

pub fn all_seeds(settings: &mut CrawlSettings, notice: &dyn Fn(&str)) -> Result<Vec<Url>, Failure> {
    let mut seeds = settings.seeds.clone();
    if let Some(list) = &mut settings.list {
        for url in list.urls(&settings.seed_rules)? {
            seeds.push(url?);
        }
    }
    if seeds.is_empty() {
        notice("the list has no URL that can be crawled");
    }
    Ok(seeds)
}
