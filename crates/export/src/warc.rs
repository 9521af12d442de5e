//! A WARC file of pages: one response record for each, as it was received. What the crawl archived as a revisit is written
//! with its body, so that the file needs no other.

use argiope_model::Millis;
use argiope_store::archive::StoredExchange;
use argiope_store::warc::gzip::GzipWriter;
use argiope_store::warc::{Capture, Digest, RecordIds, VisitEncoder, WarcInfo, field, http_head};
use std::io::{self, Write};

/// Who made a file, where and when.
#[derive(Clone, Debug)]
pub struct Produced {
    /// Name and version of this program.
    pub software: String,
    /// The name of the WARC file.
    pub file: String,
    pub at: Millis,
    /// Drawn anew for each file.
    pub random: [u8; 16],
}

pub struct WarcFile<W: Write> {
    to: W,
    position: u64,
    gzip: GzipWriter,
    ids: RecordIds,
    header: Vec<u8>,
    out: Vec<u8>,
}

impl<W: Write> WarcFile<W> {
    /// Begins the file with its warcinfo record.
    pub fn new(to: W, produced: &Produced) -> io::Result<WarcFile<W>> {
        let info = WarcInfo { software: produced.software.clone(), ..WarcInfo::default() };
        let mut out = Vec::new();
        VisitEncoder::new(produced.random).warcinfo(&info, &produced.file, produced.at, &mut out);
        // Names of the warcinfo record and of the others come from one start.
        let mut ids = RecordIds::new(produced.random);
        ids.draw();
        let mut file = WarcFile { to, position: 0, gzip: GzipWriter::new(), ids, header: Vec::new(), out };
        file.pass_on()?;
        Ok(file)
    }

    /// Adds a response. Returns what an index says of it.
    pub fn add(&mut self, exchange: &StoredExchange) -> io::Result<Capture> {
        let StoredExchange { target, date, head, body, .. } = exchange;
        let facts = http_head::facts(head);
        let digest = Digest::of(&[body]);
        let end: &[u8] = if head.ends_with(b"\r\n\r\n") { b"" } else { b"\r\n\r\n" };
        let length = head.len() + end.len() + body.len();
        self.header.clear();
        write!(
            self.header,
            "WARC/1.1\r\n{}: response\r\n{}: {}\r\n{}: {}\r\n{}: {}\r\n{}: {digest}\r\n{}: application/http;msgtype=response\r\n{}: {length}\r\n\r\n",
            field::TYPE,
            field::RECORD_ID,
            self.ids.draw(),
            field::DATE,
            date.rfc3339(),
            field::TARGET_URI,
            target.as_str(),
            field::PAYLOAD_DIGEST,
            field::CONTENT_TYPE,
            field::CONTENT_LENGTH,
        )?;
        // What came compressed stays as it is.
        if facts.content_encoding.is_some() {
            let text: [&[u8]; 3] = [&self.header, head, end];
            self.gzip.text_and_stored(&text, &[body, b"\r\n\r\n"], &mut self.out);
        } else {
            self.gzip.deflated(&[&self.header, head, end, body, b"\r\n\r\n"], &mut self.out);
        }
        let capture = Capture {
            offset: self.position,
            length: self.out.len() as u64,
            target: target.as_str().to_owned(),
            date: *date,
            digest: Some(digest),
            status: facts.status,
            media_type: facts.media_type().map(str::to_ascii_lowercase),
            is_revisit: false,
            same_as: None,
        };
        self.pass_on()?;
        Ok(capture)
    }

    fn pass_on(&mut self) -> io::Result<()> {
        self.to.write_all(&self.out)?;
        self.position += self.out.len() as u64;
        self.out.clear();
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use argiope_model::Url;
    use argiope_store::warc::WarcReader;

    pub(crate) fn produced() -> Produced {
        Produced {
            software: "argiope test".into(),
            file: "data.warc.gz".into(),
            at: Millis(1_767_323_045_678),
            random: [7; 16],
        }
    }

    pub(crate) fn exchange(url: &str, headers: &str, body: &[u8]) -> StoredExchange {
        StoredExchange {
            target: Url::from_stored(url).unwrap(),
            date: Millis(1_767_323_045_678),
            head: format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{headers}\r\n")
                .into_bytes(),
            body: body.to_vec(),
            payload_digest: None,
            refers_to: None,
        }
    }

    #[test]
    fn each_page_is_a_response_of_its_own_that_an_index_finds() {
        let mut file = WarcFile::new(Vec::new(), &produced()).unwrap();
        let plain = file.add(&exchange("https://a.test/", "", b"<p>one")).unwrap();
        let coded = file
            .add(&exchange("https://a.test/b", "Content-Encoding: gzip\r\n", &[0x1f, 0x8b, 1, 2]))
            .unwrap();
        let bytes = file.finish().unwrap();
        assert_eq!((coded.offset + coded.length) as usize, bytes.len());
        assert_eq!((plain.status, plain.media_type.as_deref()), (Some(200), Some("text/html")));
        assert_eq!(plain.offset + plain.length, coded.offset);
        for (capture, body) in [(plain, &b"<p>one"[..]), (coded, &[0x1f, 0x8b, 1, 2])] {
            let member = &bytes[capture.offset as usize..(capture.offset + capture.length) as usize];
            let mut reader = WarcReader::new(member, 0);
            let head = reader.next_record().unwrap().unwrap();
            assert_eq!(head.get(field::TARGET_URI), Some(capture.target.as_str()));
            let mut block = Vec::new();
            assert!(reader.read_block(1 << 20, &mut block).unwrap(), "all of it");
            assert!(block.starts_with(b"HTTP/1.1 200 OK\r\n") && block.ends_with(body));
            assert_eq!(capture.digest, Some(Digest::of(&[body])));
        }
    }
}
