//! Oversized content: a gzip bomb and an endless page.

use super::{Feature, Visibility};
use crate::answer::{Answer, Delivery, HTML};
use crate::expected::Fate;
use crate::gzip::gzip_of_nothing;
use bytes::Bytes;
use std::sync::LazyLock;

/// 512 MB of spaces.
static BOMB: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(gzip_of_nothing(512)));

pub(super) fn features() -> Vec<Feature> {
    ["/big/bomb", "/big/huge"].iter().map(|path| Feature::new(*path, Visibility::Linked, Fate::Cut)).collect()
}

pub(super) fn answer(target: &str) -> Option<Answer> {
    match target {
        "/big/bomb" => Some(Answer::gzipped(HTML, BOMB.clone())),
        "/big/huge" => {
            let piece = "<p>Again and again and again. <a href=\"/\">Home</a></p>\n".repeat(1200);
            Some(Answer::bytes(HTML, piece.into_bytes()).delivered(Delivery::Repeated(1024)))
        }
        _ => None,
    }
}
