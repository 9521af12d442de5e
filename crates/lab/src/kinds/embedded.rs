//! Pages with resources: picture sets, drawings, frames, objects, feeds. Some are broken, and some servers cannot
//! handle HEAD.

use super::{Feature, Visibility, special};
use crate::answer::Answer;
use crate::expected::Fate;
use crate::web::{PIXEL, Site, Web};

/// Pages that no `<a>` of HTML leads to, and what does.
const FOUND: [&str; 7] = ["drawn", "drawn-too", "frame", "no-frames", "object.html", "embedded", "fed"];

const GALLERY: &str = r#"
<p><img src="/e/there.png" alt="" srcset="/e/there,2.png 2x, /e/missing-2x.png 3x"> <img src="/e/missing.png" alt="">
<img src="/e/moved.png" alt=""> <img src="/e/no-head.png" alt=""> <img src="/e/wrong-head.png" alt=""></p>
<picture><source srcset="/e/there.webp"><img src="/e/there.png" alt=""></picture>
<svg><a xlink:href="/e/drawn"><text>Drawn</text></a><a href="/e/drawn-too"/><image href="/e/in-svg.png"/></svg>
<object data="/e/object.html"></object><embed src="/e/embedded" type="text/html">
<object data="/e/film.swf" type="application/x-shockwave-flash"></object>
<video src="/e/film.mp4" poster="/e/missing-poster.jpg"></video>"#;

const HEAD: &str = r#"<link rel="stylesheet" href="/e/style.css"><link rel="preload" as="font" href="/e/font.woff2">
<script src="/e/script.js"></script><link rel="alternate" type="application/rss+xml" href="/e/feed">"#;

const FRAMES: &[u8] =
    b"<!DOCTYPE html><title>Frames</title><frameset cols=\"50%,50%\"><frame src=\"/e/frame\">\
    <noframes><body><a href=\"/e/no-frames\">Without frames</a></body></noframes></frameset>";

pub(super) fn features() -> Vec<Feature> {
    let ok = Fate::Answered { status: 200 };
    let mut features = vec![Feature::linked("/e/gallery", 200), Feature::linked("/e/frames", 200)];
    features.push(Feature::new("/e/feed", Visibility::Elsewhere, ok));
    let found = FOUND.iter().map(|name| Feature::new(format!("/e/{name}"), Visibility::Elsewhere, ok));
    features.extend(found);
    features
}

pub(super) fn answer(web: &Web, site: &Site, target: &str) -> Option<Answer> {
    let name = target.strip_prefix("/e/")?;
    if FOUND.contains(&name) {
        return Some(special(web, site, target));
    }
    let pixel = || Answer::bytes("image/png", PIXEL.to_vec());
    Some(match name {
        "gallery" => {
            let mut page = super::special_page(web, site, target, "Gallery");
            page.head = HEAD.to_owned();
            page.body = GALLERY.to_owned();
            Answer::page(page)
        }
        "frames" => Answer::bytes(crate::answer::HTML, FRAMES.to_vec()),
        // It has a wrong type and a relative location.
        "feed" => Answer::bytes(
            "text/xml",
            b"<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>Feed</title><item><link>fed</link></item>\
              </channel></rss>"
                .to_vec(),
        ),
        "no-head.png" => pixel().and_to_head(405),
        "wrong-head.png" => pixel().and_to_head(500),
        "there.png" | "there,2.png" | "in-svg.png" => pixel(),
        "there.webp" => Answer::bytes("image/webp", PIXEL.to_vec()),
        "moved.png" => Answer::redirect(301, "/e/there.png"),
        "style.css" => Answer::bytes("text/css", b"p { color: red }".to_vec()),
        "script.js" => Answer::bytes("text/javascript", b"'use strict'".to_vec()),
        "font.woff2" => Answer::bytes("font/woff2", b"wOF2".to_vec()),
        "film.mp4" => Answer::bytes("video/mp4", vec![0; 5000]),
        "film.swf" => Answer::bytes("application/x-shockwave-flash", b"FWS".to_vec()),
        _ => return None,
    })
}
