//! A list of URLs, one per line, plain or gzip.

use crate::bucket;
use argiope_config::{ConfigFile, Failure, hex};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A line longer than any URL that can be crawled is not a URL.
const MAX_LINE: u64 = 65_536;
const BUFFER: usize = 1 << 18;

pub struct UrlList {
    /// Where it is.
    pub(super) name: String,
    lines: BufReader<Box<dyn Read>>,
    /// Of what was read so far, until requested.
    beginning: Option<Sha256>,
}

impl UrlList {
    /// A file, or an object: `s3://BUCKET/KEY`.
    pub fn open(file: &ConfigFile, source: &Path) -> Result<UrlList, Failure> {
        if let Some(object) = source.to_str().and_then(|source| bucket::list(file, source)) {
            return UrlList::read(source.display().to_string(), object?);
        }
        let absolute = std::path::absolute(source).map_err(|e| Failure::usage(e.to_string()))?;
        let raw = File::open(source).map_err(|e| unreadable(&source.display().to_string(), &e))?;
        UrlList::read(absolute.display().to_string(), Box::new(raw))
    }

    /// Of that name. Its beginning says whether it is compressed.
    pub fn read(name: String, raw: Box<dyn Read>) -> Result<UrlList, Failure> {
        let mut from = BufReader::with_capacity(BUFFER, raw);
        let is_gzip = from.fill_buf().map_err(|e| unreadable(&name, &e))?.starts_with(&[0x1f, 0x8b]);
        let plain: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(from)) } else { Box::new(from) };
        let lines = BufReader::with_capacity(BUFFER, plain);
        Ok(UrlList { name, lines, beginning: Some(Sha256::new()) })
    }

    /// The hash of what was read so far. Call it once.
    pub(super) fn hash_so_far(&mut self) -> String {
        self.beginning.take().map(|hash| hex(&hash.finalize())).unwrap_or_default()
    }

    /// Without its end; what is too long is cut.
    pub(super) fn line(&mut self) -> Result<Option<String>, Failure> {
        let name = &self.name;
        let unreadable = |error: io::Error| Failure::failed(format!("cannot read {name}: {error}"));
        let mut bytes = Vec::new();
        let read = self.lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(unreadable)?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(beginning) = &mut self.beginning {
            beginning.update(&bytes);
        }
        if bytes.last() != Some(&b'\n') && bytes.len() as u64 == MAX_LINE {
            self.lines.skip_until(b'\n').map_err(unreadable)?;
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot read the list {name}: {error}"))
        .hint("give a file with one URL per line, plain or gzip, s3://BUCKET/KEY, or - for stdin")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::GzEncoder;

    fn list(bytes: &[u8]) -> UrlList {
        UrlList::read(String::from("-"), Box::new(io::Cursor::new(bytes.to_vec()))).unwrap()
    }

    #[test]
    fn a_compressed_list_is_read_like_a_plain_one() {
        let text = b"http://a.test/\nhttp://b.test/";
        let mut packed = Vec::new();
        GzEncoder::new(&text[..], Compression::fast()).read_to_end(&mut packed).unwrap();
        for bytes in [text.to_vec(), packed] {
            let mut list = list(&bytes);
            assert_eq!(list.line().unwrap().as_deref(), Some("http://a.test/\n"));
            assert_eq!(list.line().unwrap().as_deref(), Some("http://b.test/"));
            assert_eq!(list.line().unwrap(), None);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() {
        let long = "x".repeat(MAX_LINE as usize + 7);
        let mut list = list(format!("{long}\nhttp://b.test/\n").as_bytes());
        assert_eq!(list.line().unwrap().unwrap().len() as u64, MAX_LINE);
        assert_eq!(list.line().unwrap().as_deref(), Some("http://b.test/\n"));
    }

    #[test]
    fn a_list_is_known_by_what_was_read_first() {
        let (mut one, mut other) = (list(b"a\nb\n"), list(b"a\nc\n"));
        for list in [&mut one, &mut other] {
            list.line().unwrap();
        }
        let hash = one.hash_so_far();
        assert_eq!(hash, other.hash_so_far());
        assert_eq!(hash, hex(&Sha256::digest(b"a\n")));
    }

    #[test]
    fn a_list_that_is_not_there_is_named() {
        let failure = UrlList::open(&ConfigFile::default(), Path::new("no-such-list.txt")).err().unwrap();
        assert!(failure.messages[0].contains("no-such-list.txt"), "{:?}", failure.messages);
    }
}
