//! `--list FILE|-`: one URL per line; blank lines and lines that start with `#` are skipped. A list may have millions of
//! lines, so it is read as a stream, twice: first it is checked and hashed, then its URLs are handed out. Standard
//! input is copied to a temporary file first.

use super::seed::{SeedProblem, SeedRules, parse_seed};
use crate::failure::Failure;
use argiope_model::Url;
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Longer lines are not URLs.
const MAX_LINE: u64 = 65_536;
const WHAT_TO_GIVE: &str = "give a readable file with one URL per line, or - for stdin";
/// Problems that are shown; the others are counted.
const SHOWN: usize = 10;
/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A list that has been checked.
#[derive(Debug)]
pub struct SeedList {
    path: PathBuf,
    file: File,
    /// Number of lines that are URLs.
    pub urls: u64,
    /// Number of lines that are not, and are skipped.
    pub unusable: u64,
    /// The first of those, with their line numbers.
    pub problems: Vec<String>,
    /// SHA-256 over the normalized URLs, hex.
    pub digest: String,
}

impl SeedList {
    /// Checks the whole list. A line that is not a URL is reported and skipped, because any long list has some. A
    /// private address without `--allow-private` is an error, because it concerns the whole crawl.
    pub fn open(path: &Path, rules: &SeedRules) -> Result<SeedList, Failure> {
        let file = if path == Path::new("-") { keep_stdin()? } else { open_file(path)? };
        let mut list = SeedList {
            path: path.to_owned(),
            file,
            urls: 0,
            unusable: 0,
            problems: Vec::new(),
            digest: String::new(),
        };
        let mut hash = Sha256::new();
        let name = list.name();
        let mut lines = Lines::new(BufReader::new(&list.file), name.clone());
        let mut first_problem = None;
        while let Some((number, text)) = lines.next()? {
            match parse_seed(&text, rules) {
                Ok(url) => {
                    list.urls += 1;
                    hash.update(url.normal().as_bytes());
                    hash.update(b"\n");
                }
                Err(problem @ SeedProblem::Closed { .. }) => {
                    return Err(Failure::usage(format!("{name}:{number}: {}", problem.message()))
                        .hint(problem.hint()));
                }
                Err(problem) => {
                    list.unusable += 1;
                    let shown = format!("{name}:{number}: {}", problem.message());
                    if list.problems.len() < SHOWN {
                        list.problems.push(shown.clone());
                    }
                    first_problem.get_or_insert(shown);
                }
            }
        }
        if list.urls == 0 {
            return Err(match first_problem {
                Some(problem) => {
                    Failure::usage(problem).hint("a list has one URL per line; this one has none")
                }
                None => {
                    Failure::usage(format!("{name} has no URL in it")).hint("a list has one URL per line")
                }
            });
        }
        list.digest = super::identity::hex(&hash.finalize());
        Ok(list)
    }

    pub fn name(&self) -> String {
        if self.path == Path::new("-") { String::from("stdin") } else { self.path.display().to_string() }
    }

    /// The URLs from the beginning; other lines are skipped.
    pub fn urls<'l>(
        &'l mut self,
        rules: &'l SeedRules,
    ) -> Result<impl Iterator<Item = Result<Url, Failure>> + 'l, Failure> {
        let name = self.name();
        self.file.rewind().map_err(|error| unreadable(&name, &error))?;
        let mut lines = Lines::new(BufReader::new(&self.file), name);
        Ok(std::iter::from_fn(move || {
            loop {
                match lines.next() {
                    Err(failure) => return Some(Err(failure)),
                    Ok(None) => return None,
                    Ok(Some((_, text))) => {
                        if let Ok(url) = parse_seed(&text, rules) {
                            return Some(Ok(url));
                        }
                    }
                }
            }
        }))
    }
}

fn open_file(path: &Path) -> Result<File, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
    let metadata = file.metadata().map_err(|error| unreadable(&name, &error))?;
    if metadata.is_dir() {
        return Err(
            Failure::usage(format!("cannot read the list {name}: it is a directory")).hint(WHAT_TO_GIVE)
        );
    }
    if metadata.is_file() { plain(file, &name) } else { plain(keep(file, &name)?, &name) }
}

/// A compressed list is read from a decompressed copy.
fn plain(mut file: File, name: &str) -> Result<File, Failure> {
    let mut start = Vec::new();
    let unreadable = |error: io::Error| unreadable(name, &error);
    (&mut file).take(GZIP.len() as u64).read_to_end(&mut start).map_err(unreadable)?;
    file.rewind().map_err(unreadable)?;
    if start == GZIP { keep(MultiGzDecoder::new(BufReader::new(file)), name) } else { Ok(file) }
}

/// A pipe can be read only once, so it is copied.
fn keep_stdin() -> Result<File, Failure> {
    plain(keep(io::stdin().lock(), "stdin")?, "stdin")
}

fn keep(mut from: impl Read, name: &str) -> Result<File, Failure> {
    let mut kept = tempfile::tempfile()
        .map_err(|error| Failure::failed(format!("cannot create a temporary file: {error}")))?;
    io::copy(&mut from, &mut kept).map_err(|error| unreadable(name, &error))?;
    kept.flush().and_then(|()| kept.rewind()).map_err(|error| unreadable(name, &error))?;
    Ok(kept)
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot read the list {name}: {error}")).hint(WHAT_TO_GIVE)
}

/// Lines with content, with their numbers.
struct Lines<R> {
    from: R,
    name: String,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(from: R, name: String) -> Lines<R> {
        Lines { from, name, number: 0 }
    }

    fn next(&mut self) -> Result<Option<(u64, String)>, Failure> {
        loop {
            let mut line = Vec::new();
            let read = self.from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            match read {
                Err(error) => return Err(unreadable(&self.name, &error)),
                Ok(0) => return Ok(None),
                Ok(_) => {}
            }
            self.number += 1;
            if line.len() as u64 == MAX_LINE && line.last() != Some(&b'\n') {
                self.from.skip_until(b'\n').map_err(|error| unreadable(&self.name, &error))?;
            }
            if line.contains(&0) {
                let text =
                    format!("the list {} is not text: line {} has a zero byte", self.name, self.number);
                return Err(Failure::usage(text).hint(WHAT_TO_GIVE));
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_start_matches('\u{feff}').trim();
            if !text.is_empty() && !text.starts_with('#') {
                return Ok(Some((self.number, text.to_owned())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_fetch::AddressPolicy;
    use argiope_model::NormalRules;

    fn rules() -> SeedRules {
        SeedRules::without_bans(NormalRules::default(), AddressPolicy::public_only())
    }

    fn list(text: &[u8]) -> Result<SeedList, Failure> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        SeedList::open(file.path(), &rules())
    }

    #[test]
    fn comments_blanks_and_strange_lines_are_passed_over() {
        let mut list =
            list(b"\xef\xbb\xbf# head\r\nexample.com\r\n\n  https://a.test/x \nmailto:a@b.c\n\xff\xfe\n")
                .unwrap();
        assert_eq!((list.urls, list.unusable), (2, 2));
        assert!(list.problems[0].contains(":5: 'mailto:a@b.c'"), "{:?}", list.problems);
        let rules = rules();
        let urls: Vec<String> = list.urls(&rules).unwrap().map(|u| u.unwrap().as_str().to_owned()).collect();
        assert_eq!(urls, ["https://example.com/", "https://a.test/x"]);
        assert_eq!(list.urls(&rules).unwrap().count(), 2);
    }

    #[test]
    fn the_digest_is_that_of_the_normalized_urls() {
        let one = list(b"example.com\n").unwrap().digest;
        assert_eq!(one, list(b"# x\nHTTPS://EXAMPLE.com:443/\n\n").unwrap().digest);
        assert_ne!(one, list(b"example.org\n").unwrap().digest);
    }

    #[test]
    fn an_endless_line_costs_bounded_memory_and_no_neighbour() {
        let mut text = vec![b'x'; 300_000];
        text.extend_from_slice(b"\nexample.com\n");
        let list = list(&text).unwrap();
        assert_eq!((list.urls, list.unusable), (1, 1));
    }

    #[test]
    fn a_useless_list_is_a_usage_error() {
        assert!(list(b"# nothing\n").unwrap_err().messages[0].ends_with("has no URL in it"));
        assert!(list(b"mailto:a@b.c\n").unwrap_err().messages[0].contains(":1: "));
        let missing = SeedList::open(Path::new("/nowhere/urls.txt"), &rules()).unwrap_err();
        assert!(missing.messages[0].starts_with("cannot read the list /nowhere/urls.txt"), "{missing:?}");
        assert!(SeedList::open(Path::new("/"), &rules()).unwrap_err().messages[0].contains("directory"));
    }

    #[test]
    fn a_compressed_list_is_read_and_what_is_no_text_is_refused() {
        use flate2::write::GzEncoder;
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(b"example.com\nhttps://a.test/\n").unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(list(&gzip).unwrap().urls, 2);
        assert!(list(&gzip[..20]).unwrap_err().messages[0].starts_with("cannot read the list"));
        let failure = list(b"example.com\n\x7fELF\x00\x01\n").unwrap_err();
        assert!(failure.messages[0].ends_with("is not text: line 2 has a zero byte"), "{failure:?}");
    }

    #[test]
    fn nothing_of_a_list_is_obeyed_by_a_terminal() {
        let list = list(b"http://a b\x1b[31mRED\x07/\nexample.com\n").unwrap();
        assert!(!list.problems[0].contains(|c: char| c.is_control()), "{:?}", list.problems);
    }

    #[test]
    fn a_private_address_in_a_list_names_line_and_flag() {
        let failure = list(b"example.com\nhttp://127.0.0.1/\n").unwrap_err();
        assert!(failure.messages[0].contains(":2: ") && failure.messages[0].contains("--allow-private"));
    }
}
