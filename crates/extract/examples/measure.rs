//! How fast pages are read: `measure [DIRECTORY]` runs over the HTML files of a directory, without one over
//! generated pages of about 30 KB. `--rounds N` repeats.

use argiope_extract::{Input, Limits, Scratch, Wants, content_hash, extract, resolve};
use argiope_model::{NormalRules, Url};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

struct Document {
    url: Url,
    body: Vec<u8>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut directory = None;
    let mut rounds = 20;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().ok_or("--rounds wants a number")?.parse()?,
            _ => directory = Some(PathBuf::from(argument)),
        }
    }
    let documents = match &directory {
        Some(directory) => read_directory(directory)?,
        None => (0..250).map(generated).collect::<Result<_, _>>()?,
    };
    let bytes: usize = documents.iter().map(|document| document.body.len()).sum();
    println!("{} pages, {} bytes, {} bytes each", documents.len(), bytes, bytes / documents.len().max(1));

    let mut scratch = Scratch::new();
    let rules = NormalRules::default();
    let mut links = 0;
    let mut words = 0;
    time("extract, nothing optional", &documents, rounds, |document| {
        let extracted = extract(&input(document, Wants::NONE), &mut scratch);
        words += u64::from(black_box(&extracted).word_count.unwrap_or_default());
    });
    time("extract, everything", &documents, rounds, |document| {
        black_box(extract(&input(document, Wants::ALL), &mut scratch));
    });
    time("extract, nothing optional, and resolve", &documents, rounds, |document| {
        let extracted = extract(&input(document, Wants::NONE), &mut scratch);
        let resolved = resolve(&extracted, &document.url, &rules, &mut scratch);
        links += black_box(&resolved).links.len();
    });
    let extracted: Vec<_> =
        documents.iter().map(|document| extract(&input(document, Wants::NONE), &mut scratch)).collect();
    let mut at = 0;
    time("resolve alone", &documents, rounds, |document| {
        if let Some(extracted) = extracted.get(at % documents.len()) {
            black_box(resolve(extracted, &document.url, &rules, &mut scratch));
        }
        at += 1;
    });
    time("content hash alone", &documents, rounds, |document| {
        black_box(content_hash(&document.body));
    });
    let pages = (documents.len() * rounds).max(1);
    println!("{} links and {} words a page", links / pages, words / pages as u64);
    Ok(())
}

fn input(document: &Document, wants: Wants) -> Input<'_> {
    Input {
        body: &document.body,
        payload: None,
        content_type: Some("text/html; charset=utf-8"),
        url: &document.url,
        x_robots_tag: &[],
        agent: "argiope",
        limits: Limits::default(),
        wants,
    }
}

fn time(what: &str, documents: &[Document], rounds: usize, mut step: impl FnMut(&Document)) {
    let started = Instant::now();
    for _ in 0..rounds {
        documents.iter().for_each(&mut step);
    }
    let seconds = started.elapsed().as_secs_f64();
    let pages = (documents.len() * rounds) as f64;
    let bytes = (documents.iter().map(|document| document.body.len()).sum::<usize>() * rounds) as f64;
    println!("{what:40} {:8.1} us a page {:8.0} MB/s", seconds * 1e6 / pages, bytes / seconds / 1e6);
}

fn read_directory(directory: &Path) -> Result<Vec<Document>, Box<dyn std::error::Error>> {
    let rules = NormalRules::default();
    let mut documents = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(&path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else if entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "html" || extension == "htm")
            {
                let name = entry.path().strip_prefix(directory)?.to_string_lossy().into_owned();
                let url = Url::parse(&format!("https://docs.test/{name}"), &rules)?;
                documents.push(Document { url, body: std::fs::read(entry.path())? });
            }
        }
    }
    Ok(documents)
}

/// A page like those of a news site or shop: head, navigation, an article with inline markup, lists of links.
fn generated(number: usize) -> Result<Document, Box<dyn std::error::Error>> {
    use std::fmt::Write;
    let mut state = number as u64 + 1;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % limit
    };
    let vocabulary: Vec<String> = (0..2000)
        .map(|word| {
            let parts =
                ["ar", "gi", "o", "pe", "web", "spi", "der", "silk", "thr", "ead", "kn", "ot", "ring"];
            (0..1 + word % 4)
                .map(|at| *parts.get((word * 7 + at * 3) % parts.len()).unwrap_or(&"x"))
                .collect()
        })
        .collect();
    let mut html = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    write!(
        html,
        "<title>Page {number} &mdash; Site</title>\n<meta name=\"description\" content=\"About {number}\">\n\
         <link rel=\"canonical\" href=\"https://site.test/page/{number}\">\n<style>body{{margin:0;padding:0}}</style>\n\
         </head>\n<body class=\"page layout\">\n<nav class=\"main-nav\">\n<ul>\n"
    )?;
    for entry in 0..40 {
        writeln!(
            html,
            "  <li class=\"nav-item\"><a class=\"nav-link\" href=\"/section/{entry}/\" title=\"Section {entry}\">\
             Section {entry}</a></li>"
        )?;
    }
    html.push_str("</ul>\n</nav>\n<main id=\"content\">\n<h1>Heading of the page</h1>\n");
    while html.len() < 25_000 {
        html.push_str("<p class=\"paragraph\">");
        for word in 0..60 {
            let text = vocabulary.get(next(2000)).map_or("", String::as_str);
            match next(40) {
                0 => write!(html, "<a href=\"/page/{}\">{text}</a> ", next(5000))?,
                1 => write!(html, "<em>{text}</em> ")?,
                2 => write!(html, "{text} &amp; ")?,
                _ => write!(html, "{text} ")?,
            }
            if word % 12 == 11 {
                html.push('\n');
            }
        }
        html.push_str("</p>\n");
    }
    html.push_str("</main>\n<script>\nvar data = [");
    for value in 0..400 {
        write!(html, "{value},")?;
    }
    html.push_str("];\nif (a < b) { document.write('<p>no</p>'); }\n</script>\n<footer>\n");
    for entry in 0..30 {
        writeln!(html, "<div class=\"footer-entry\"><a href=\"footer{entry}.html\">Entry {entry}</a></div>")?;
    }
    html.push_str("</footer>\n</body>\n</html>\n");
    let url = Url::parse(&format!("https://site.test/page/{number}"), &NormalRules::default())?;
    Ok(Document { url, body: html.into_bytes() })
}
