//! Prints the article of the HTML on standard input: `article [text|markdown|json] [URL]`. With `bench FOLDER` it reads
//! all files of a folder, without standard input, and prints how fast that was; with `all FOLDER OUT` it writes the
//! text of each `FOLDER/SET/NAME.html` to `OUT/SET__NAME.txt`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a tool for trying and measuring"
)]

use argiope_article::{Options, extract};
use std::io::Read;
use std::path::{Path, PathBuf};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str);
    match argument(0) {
        Some("bench") => bench(Path::new(argument(1).unwrap())),
        Some("all") => all(Path::new(argument(1).unwrap()), Path::new(argument(2).unwrap())),
        Some("features") => features(Path::new(argument(1).unwrap()), Path::new(argument(2).unwrap())),
        what => {
            let mut page = Vec::new();
            std::io::stdin().read_to_end(&mut page).unwrap();
            let article = extract(&String::from_utf8_lossy(&page), argument(1), &Options::default());
            let Some(article) = article else {
                eprintln!("no article");
                std::process::exit(1);
            };
            match what {
                None | Some("text") => println!("{}", article.text),
                Some("markdown") => print!("{}", article.markdown),
                Some("json") => println!("{}", serde_json::to_string_pretty(&article).unwrap()),
                Some(other) => panic!("text, markdown or json, not {other:?}"),
            }
        }
    }
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut pages = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// User CPU of this process in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<f64>().unwrap() / 100.0
}

fn bench(folder: &Path) {
    let pages: Vec<String> = pages(folder)
        .iter()
        .map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned())
        .collect();
    let bytes: usize = pages.iter().map(String::len).sum();
    let rounds = (100_000_000 / bytes.max(1)).max(1);
    let (mut articles, mut text) = (0, 0);
    let start = cpu_seconds();
    for _ in 0..rounds {
        for page in &pages {
            if let Some(article) = extract(page, Some("https://example.com/"), &Options::default()) {
                articles += 1;
                text += article.text.len() + article.markdown.len();
            }
        }
    }
    let seconds = cpu_seconds() - start;
    let megabytes = (bytes * rounds) as f64 / 1e6;
    println!(
        "{} pages, {:.1} MB, {} articles, {:.1} MB of text and Markdown a round: {:.1} MB/s of user CPU",
        pages.len(),
        bytes as f64 / 1e6,
        articles / rounds,
        (text / rounds) as f64 / 1e6,
        megabytes / seconds
    );
}

/// A line of JSON for each block: its text and its numbers.
fn features(folder: &Path, out: &Path) {
    std::fs::create_dir_all(out).unwrap();
    for path in pages(folder) {
        let page = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let lines: String = argiope_article::features(&page)
            .iter()
            .map(|block| serde_json::to_string(block).unwrap() + "\n")
            .collect();
        let set = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        std::fs::write(out.join(format!("{set}__{name}.jsonl")), lines).unwrap();
    }
}

fn all(folder: &Path, out: &Path) {
    std::fs::create_dir_all(out).unwrap();
    for path in pages(folder) {
        let page = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let text = extract(&page, None, &Options::default()).map(|article| article.text).unwrap_or_default();
        let set = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        std::fs::write(out.join(format!("{set}__{name}.txt")), text).unwrap();
    }
}
