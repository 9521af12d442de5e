//! The material of pages: themes (style sheets, scripts, footers) and passages of prose. All sites of a lab share it,
//! so that a hundred thousand sites cost no more memory than one.

use crate::random::Random;
use crate::words::{Vocabulary, capitalized};

const THEMES: usize = 16;
const PASSAGES: usize = 512;
const PASSAGE_BYTES: usize = 5100;

pub(crate) struct Theme {
    /// The rest of `<head>`: style and script.
    pub(crate) head: Vec<u8>,
    pub(crate) footer: Vec<u8>,
}

pub(crate) struct Library {
    themes: Vec<Theme>,
    passages: Vec<Vec<u8>>,
}

impl Library {
    pub(crate) fn new(seed: u64, vocabulary: &Vocabulary) -> Library {
        let mut random = Random::new(seed ^ 0x6c69_6272_6172_7921);
        Library {
            themes: (0..THEMES).map(|_| theme(vocabulary, &mut random)).collect(),
            passages: (0..PASSAGES).map(|n| passage(vocabulary, &mut random, n)).collect(),
        }
    }

    pub(crate) fn theme(&self, chance: u64) -> Option<&Theme> {
        self.themes.get(usize::try_from(chance).unwrap_or(0) % THEMES)
    }

    pub(crate) fn passage(&self, chance: u64) -> Option<&[u8]> {
        self.passages.get(usize::try_from(chance >> 8).unwrap_or(0) % PASSAGES).map(Vec::as_slice)
    }
}

fn theme(vocabulary: &Vocabulary, random: &mut Random) -> Theme {
    let mut head = b"\n<link rel=\"stylesheet\" href=\"/static/site.css\">\n<style>\n".to_vec();
    for _ in 0..16 {
        let name = vocabulary.name(random.next());
        let rule = format!(
            ".{name} {{ margin: {}px {}px; color: #{:06x}; font-size: 1.{}em }}\n",
            random.below(40),
            random.below(40),
            random.below(1 << 24),
            random.below(10)
        );
        head.extend_from_slice(rule.as_bytes());
    }
    let script = format!(
        "</style>\n<script async src=\"/static/app-{:08x}.js\"></script>\n<script>\n// no <a href=\"/not-a-link\"> in here\n\
         window.site = {{ id: \"{:016x}\", pages: \"<b>\" + 1 + \"</b>\", flags: [{}, {}] }};\n</script>\n",
        random.next() >> 32,
        random.next(),
        random.below(100),
        random.below(100)
    );
    head.extend_from_slice(script.as_bytes());

    let mut footer = b"\n<aside class=\"newsletter\"><form action=\"/subscribe\" method=\"post\">\
        <input type=\"email\" name=\"email\"><button>Subscribe &raquo;</button></form>\n<p>"
        .to_vec();
    for _ in 0..4 {
        vocabulary.sentence(&[], random, &mut footer);
    }
    footer.extend_from_slice(
        b"</p></aside>\n<footer>\n<p>&copy; 2024 The Lab &middot; \
        <a href=\"mailto:editor@example.org\">Write to us</a> &middot; <a href=\"javascript:void(0)\">Settings</a> &middot; \
        <a href=\"tel:+4112345678\">Call</a> &middot; <a href=\"#top\">Up</a></p>\n<p class=\"legal\">",
    );
    for _ in 0..6 {
        vocabulary.sentence(&[], random, &mut footer);
    }
    footer.extend_from_slice(b"</p>\n</footer>\n</body>\n</html>\n");
    Theme { head, footer }
}

/// About 5 KB of article: paragraphs with a heading, a picture, a list or a comment among them.
fn passage(vocabulary: &Vocabulary, random: &mut Random, number: usize) -> Vec<u8> {
    let topics = vocabulary.topics(random);
    let mut out = Vec::with_capacity(PASSAGE_BYTES + 600);
    if number.is_multiple_of(2) {
        let level = 2 + random.below(2);
        out.extend_from_slice(format!("\n<h{level} id=\"s{number}\">").as_bytes());
        capitalized(vocabulary.name(random.next()), &mut out);
        for _ in 0..3 {
            out.push(b' ');
            out.extend_from_slice(vocabulary.word(random).as_bytes());
        }
        out.extend_from_slice(format!("</h{level}>").as_bytes());
    }
    match random.below(6) {
        0 => {
            let picture = format!(
                "\n<figure><img src=\"/img/{number}.png\" width=\"{}\" height=\"{}\" alt=\"{}\"></figure>",
                320 + random.below(640),
                240 + random.below(480),
                vocabulary.name(random.next())
            );
            out.extend_from_slice(picture.as_bytes());
        }
        1 => out.extend_from_slice(b"\n<!-- an advertisement stood here: <a href=\"/not-a-link\"> -->"),
        2 => {
            out.extend_from_slice(b"\n<ul>");
            for _ in 0..4 {
                out.extend_from_slice(b"<li>");
                vocabulary.sentence(&topics, random, &mut out);
                out.extend_from_slice(b"</li>");
            }
            out.extend_from_slice(b"</ul>");
        }
        _ => {}
    }
    while out.len() < PASSAGE_BYTES {
        out.extend_from_slice(b"\n<p>");
        for _ in 0..2 + random.below(4) {
            vocabulary.sentence(&topics, random, &mut out);
        }
        out.extend_from_slice(b"</p>");
    }
    out
}
