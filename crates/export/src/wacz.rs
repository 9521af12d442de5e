//! A WACZ: a WARC file, its index, and the list of its pages in one ZIP file, which replay tools open as it is. Its entries
//! are stored, for what is large in them is compressed already.

use crate::index::{SortedLines, write_blocks};
use crate::warc::{Produced, WarcFile};
use argiope_model::Page;
use argiope_store::archive::StoredExchange;
use argiope_store::warc::{Digest, cdxj};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use zip::CompressionMethod;
use zip::result::ZipError;
use zip::write::{SimpleFileOptions, StreamWriter, ZipWriter};

const VERSION: &str = "1.1.1";
const INDEX: &str = "index.cdx.gz";

/// An entry of the ZIP file, hashed while it is written.
struct Entry<W: Write> {
    zip: ZipWriter<StreamWriter<W>>,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Entry<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.zip.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.zip.flush()
    }
}

impl<W: Write> Entry<W> {
    fn begin(&mut self, name: &str) -> io::Result<()> {
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(name, options).map_err(failed)?;
        self.hash = Sha256::new();
        self.bytes = 0;
        Ok(())
    }

    /// What the entry is called in the list of resources.
    fn end(&mut self, path: &str) -> Value {
        let name = path.rsplit('/').next().unwrap_or(path);
        let hash = Digest(std::mem::take(&mut self.hash).finalize().into()).to_string();
        json!({ "name": name, "path": path, "hash": hash, "bytes": self.bytes })
    }
}

pub struct Wacz<W: Write> {
    warc: WarcFile<Entry<W>>,
    produced: Produced,
    lines: SortedLines,
    /// `pages.jsonl`, until the WARC file is complete: a ZIP file has one entry after the other.
    pages: BufWriter<File>,
    count: u64,
}

impl<W: Write> Wacz<W> {
    pub fn new(to: W, produced: Produced) -> io::Result<Wacz<W>> {
        let zip = ZipWriter::new_stream(to);
        let mut entry = Entry { zip, hash: Sha256::new(), bytes: 0 };
        entry.begin(&format!("archive/{}", produced.file))?;
        let warc = WarcFile::new(entry, &produced)?;
        let mut pages = BufWriter::new(tempfile::tempfile()?);
        writeln!(pages, "{}", json!({ "format": "json-pages-1.0", "id": "pages", "title": "All Pages" }))?;
        Ok(Wacz { warc, produced, lines: SortedLines::new(), pages, count: 0 })
    }

    /// Adds a page with its response.
    pub fn add(&mut self, page: &Page, exchange: &StoredExchange) -> io::Result<()> {
        let capture = self.warc.add(exchange)?;
        self.lines.push(cdxj::line(&capture, &self.produced.file))?;
        self.count += 1;
        let title = page.title.as_deref().filter(|title| !title.is_empty()).unwrap_or(&page.url);
        let id = self.count.to_string();
        let entry = json!({ "id": id, "url": capture.target, "ts": exchange.date.rfc3339(), "title": title });
        writeln!(self.pages, "{entry}")
    }

    /// Writes index, pages and the description of all. Returns the writer.
    pub fn finish(self) -> io::Result<W> {
        let Wacz { warc, produced, lines, pages, .. } = self;
        let mut entry = warc.finish()?;
        let mut resources = vec![entry.end(&format!("archive/{}", produced.file))];

        let path = format!("indexes/{INDEX}");
        entry.begin(&path)?;
        let blocks = write_blocks(lines, INDEX, &mut entry)?;
        resources.push(entry.end(&path));
        entry.begin("indexes/index.idx")?;
        entry.write_all(&blocks)?;
        resources.push(entry.end("indexes/index.idx"));

        entry.begin("pages/pages.jsonl")?;
        let mut pages = pages.into_inner().map_err(io::IntoInnerError::into_error)?;
        pages.rewind()?;
        copy(&mut pages, &mut entry)?;
        resources.push(entry.end("pages/pages.jsonl"));

        let package = json!({
            "profile": "data-package",
            "wacz_version": VERSION,
            "created": produced.at.rfc3339(),
            "software": produced.software,
            "resources": resources,
        });
        let package = serde_json::to_vec_pretty(&package)?;
        entry.begin("datapackage.json")?;
        entry.write_all(&package)?;
        let digest = json!({ "path": "datapackage.json", "hash": Digest::of(&[&package]).to_string() });
        entry.begin("datapackage-digest.json")?;
        entry.write_all(&serde_json::to_vec_pretty(&digest)?)?;
        let mut to = entry.zip.finish().map_err(failed)?.into_inner();
        to.flush()?;
        Ok(to)
    }
}

fn copy(from: &mut File, to: &mut dyn Write) -> io::Result<()> {
    let mut from = BufReader::with_capacity(1 << 16, from);
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(piece.get(..read).unwrap_or_default())?;
    }
}

fn failed(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warc::tests::{exchange, produced};
    use std::io::Cursor;
    use zip::ZipArchive;

    fn wacz(pages: usize) -> Vec<u8> {
        let mut wacz = Wacz::new(Vec::new(), produced()).unwrap();
        for number in 0..pages {
            let url = format!("https://a.test/{number}");
            let page = Page { url: url.clone(), title: Some(format!("Page <{number}>")), ..Page::default() };
            wacz.add(&page, &exchange(&url, "", format!("<p>{number}</p>").as_bytes())).unwrap();
        }
        wacz.finish().unwrap()
    }

    fn entry(archive: &mut ZipArchive<Cursor<Vec<u8>>>, path: &str) -> Vec<u8> {
        let mut file = archive.by_name(path).unwrap();
        assert_eq!(file.compression(), CompressionMethod::Stored);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_wacz_has_its_parts_with_their_digests() {
        let mut archive = ZipArchive::new(Cursor::new(wacz(5))).unwrap();
        let package: Value = serde_json::from_slice(&entry(&mut archive, "datapackage.json")).unwrap();
        assert_eq!(package["wacz_version"], "1.1.1");
        let resources = package["resources"].as_array().unwrap().clone();
        let paths: Vec<&str> = resources.iter().map(|resource| resource["path"].as_str().unwrap()).collect();
        let expected =
            ["archive/data.warc.gz", "indexes/index.cdx.gz", "indexes/index.idx", "pages/pages.jsonl"];
        assert_eq!(paths, expected);
        for resource in &resources {
            let bytes = entry(&mut archive, resource["path"].as_str().unwrap());
            assert_eq!(resource["hash"], Digest::of(&[&bytes]).to_string());
            assert_eq!(resource["bytes"], bytes.len());
        }
        let digest: Value = serde_json::from_slice(&entry(&mut archive, "datapackage-digest.json")).unwrap();
        assert_eq!(digest["hash"], Digest::of(&[&entry(&mut archive, "datapackage.json")]).to_string());
        let pages = String::from_utf8(entry(&mut archive, "pages/pages.jsonl")).unwrap();
        let lines: Vec<Value> = pages.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((lines.len(), &lines[0]["format"]), (6, &json!("json-pages-1.0")));
        assert_eq!((&lines[3]["url"], &lines[3]["title"]), (&json!("https://a.test/2"), &json!("Page <2>")));
    }

    #[test]
    fn an_empty_one_is_complete_too() {
        let mut archive = ZipArchive::new(Cursor::new(wacz(0))).unwrap();
        assert_eq!(archive.len(), 6);
        assert_eq!(entry(&mut archive, "indexes/index.cdx.gz"), b"");
    }
}
