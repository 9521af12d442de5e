//! Servers that deliver badly, and some that deliver well in unusual ways.

use super::{Feature, Visibility, special};
use crate::answer::{Answer, Delivery};
use crate::expected::Fate;
use crate::web::{Site, Web};
use std::time::Duration;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::linked("/t/chunked", 200),
        Feature::linked("/t/until-close", 200),
        Feature::linked("/t/shorter-than-said", 200),
        Feature::new("/t/longer-than-said", Visibility::Linked, Fate::Cut),
        Feature::new("/t/chunked-cut", Visibility::Linked, Fate::Cut),
        Feature::new("/t/reset-midway", Visibility::Linked, Fate::Cut),
        Feature::new("/t/drip", Visibility::Linked, Fate::Cut),
        Feature::failed("/t/never"),
        Feature::failed("/t/reset"),
        Feature::failed("/t/garbage"),
    ]
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    let delivery = match target.strip_prefix("/t/")? {
        "chunked" => Delivery::Chunked,
        "until-close" => Delivery::UntilClose,
        // Less is announced than is sent: the announced length counts.
        "shorter-than-said" => Delivery::WrongLength(-500),
        "longer-than-said" => Delivery::WrongLength(50_000),
        "chunked-cut" => Delivery::ChunkedCut,
        "reset-midway" => Delivery::ResetMidway,
        "drip" => Delivery::Drip(Duration::from_millis(250)),
        "never" => Delivery::Never,
        "reset" => Delivery::Reset,
        "garbage" => Delivery::Garbage,
        _ => return None,
    };
    Some(special(web, site, target).delivered(delivery))
}
