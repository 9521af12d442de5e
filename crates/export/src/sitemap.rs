//! Sitemaps (sitemaps.org): as many files as the limits of the protocol need, and an index of them.

use argiope_model::{Millis, Page};
use std::io::{self, Write};

/// Of one file, by the protocol.
const MOST_URLS: u64 = 50_000;
const MOST_BYTES: u64 = 50 * 1024 * 1024;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
const FOOT: &str = "</urlset>\n";
const INDEX_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
const INDEX_FOOT: &str = "</sitemapindex>\n";

/// Whether a page is to be listed: it was found where it was looked for, is nobody's duplicate, and wants to be the version that
/// search engines show.
pub fn belongs(page: &Page) -> bool {
    page.status == Some(200)
        && page.error.is_none()
        && page.duplicate_of.is_none()
        && page.final_url.as_ref().is_none_or(|at| *at == page.url)
        && page.canonical.as_ref().is_none_or(|canonical| *canonical == page.url)
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapPart {
    /// From 1.
    pub number: u32,
    pub urls: u64,
    pub bytes: u64,
}

/// Writes one file after the other. `open` gets the number of each.
pub struct Sitemaps<W: Write, F: FnMut(u32) -> io::Result<W>> {
    open: F,
    current: Option<W>,
    parts: Vec<SitemapPart>,
    most_urls: u64,
    most_bytes: u64,
    entry: String,
}

impl<W: Write, F: FnMut(u32) -> io::Result<W>> Sitemaps<W, F> {
    pub fn new(open: F) -> Sitemaps<W, F> {
        Sitemaps::with_limits(open, MOST_URLS, MOST_BYTES)
    }

    fn with_limits(open: F, most_urls: u64, most_bytes: u64) -> Sitemaps<W, F> {
        Sitemaps { open, current: None, parts: Vec::new(), most_urls, most_bytes, entry: String::new() }
    }

    pub fn add(&mut self, url: &str, changed: Option<Millis>) -> io::Result<()> {
        self.entry.clear();
        self.entry.push_str("<url><loc>");
        escape(url, &mut self.entry);
        self.entry.push_str("</loc>");
        if let Some(changed) = changed {
            self.entry.push_str("<lastmod>");
            self.entry.push_str(&changed.rfc3339());
            self.entry.push_str("</lastmod>");
        }
        self.entry.push_str("</url>\n");
        let length = self.entry.len() as u64;
        let full = self.parts.last().is_some_and(|part| {
            part.urls >= self.most_urls || part.bytes + length + FOOT.len() as u64 > self.most_bytes
        });
        if full {
            self.close()?;
        }
        if self.current.is_none() {
            self.begin()?;
        }
        if let (Some(to), Some(part)) = (&mut self.current, self.parts.last_mut()) {
            to.write_all(self.entry.as_bytes())?;
            part.urls += 1;
            part.bytes += length;
        }
        Ok(())
    }

    fn begin(&mut self) -> io::Result<()> {
        let number = u32::try_from(self.parts.len()).unwrap_or(u32::MAX).saturating_add(1);
        let mut to = (self.open)(number)?;
        to.write_all(HEAD.as_bytes())?;
        self.current = Some(to);
        self.parts.push(SitemapPart { number, urls: 0, bytes: HEAD.len() as u64 });
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some(mut to) = self.current.take() {
            to.write_all(FOOT.as_bytes())?;
            to.flush()?;
            if let Some(part) = self.parts.last_mut() {
                part.bytes += FOOT.len() as u64;
            }
        }
        Ok(())
    }

    /// The files. There is at least one, which is empty if no URL was added.
    pub fn finish(mut self) -> io::Result<Vec<SitemapPart>> {
        if self.parts.is_empty() {
            self.begin()?;
        }
        self.close()?;
        Ok(self.parts)
    }
}

/// An index of sitemaps by their URLs.
pub fn write_index<'u>(
    to: &mut dyn Write,
    sitemaps: impl Iterator<Item = &'u str>,
    changed: Millis,
) -> io::Result<()> {
    to.write_all(INDEX_HEAD.as_bytes())?;
    for url in sitemaps {
        let mut entry = String::from("<sitemap><loc>");
        escape(url, &mut entry);
        entry.push_str("</loc><lastmod>");
        entry.push_str(&changed.rfc3339());
        entry.push_str("</lastmod></sitemap>\n");
        to.write_all(entry.as_bytes())?;
    }
    to.write_all(INDEX_FOOT.as_bytes())
}

/// Control characters have no place in XML, escaped or not; no URL has any.
fn escape(text: &str, to: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\'' => to.push_str("&apos;"),
            letter if letter.is_control() => {}
            letter => to.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quick_xml::Reader;
    use quick_xml::events::Event;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct Files(Rc<RefCell<Vec<Vec<u8>>>>);

    struct Part(Files, usize);

    impl Write for Part {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.0.borrow_mut()[self.1].extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Files {
        fn open(&self) -> impl FnMut(u32) -> io::Result<Part> {
            let files = self.clone();
            move |number| {
                files.0.borrow_mut().push(Vec::new());
                assert_eq!(files.0.borrow().len(), number as usize);
                Ok(Part(files.clone(), number as usize - 1))
            }
        }
    }

    /// The texts of all `loc`, as an XML reader sees them.
    fn locations(xml: &[u8]) -> Vec<String> {
        let mut reader = Reader::from_reader(xml);
        let (mut found, mut buffer, mut inside) = (Vec::new(), Vec::new(), false);
        loop {
            match reader.read_event_into(&mut buffer).unwrap() {
                Event::Start(tag) if tag.name().as_ref() == "loc" => {
                    inside = true;
                    found.push(String::new());
                }
                Event::End(tag) if tag.name().as_ref() == "loc" => inside = false,
                Event::Text(text) if inside => found.last_mut().unwrap().push_str(&text),
                Event::GeneralRef(name) if inside => {
                    let letter = match &*name {
                        "amp" => "&",
                        "lt" => "<",
                        "apos" => "'",
                        other => panic!("{other}"),
                    };
                    found.last_mut().unwrap().push_str(letter);
                }
                Event::Eof => return found,
                _ => {}
            }
            buffer.clear();
        }
    }

    #[test]
    fn a_sitemap_has_the_urls_as_they_are() {
        let files = Files::default();
        let mut sitemaps = Sitemaps::new(files.open());
        let urls = ["https://a.test/", "https://a.test/?a=1&b='2'", "https://a.test/ü<"];
        for url in urls {
            sitemaps.add(url, Some(Millis(1_767_323_045_678))).unwrap();
        }
        let parts = sitemaps.finish().unwrap();
        let file = files.0.borrow()[0].clone();
        assert_eq!(parts, [SitemapPart { number: 1, urls: 3, bytes: file.len() as u64 }]);
        assert_eq!(locations(&file), urls);
        assert!(String::from_utf8(file).unwrap().contains("<lastmod>2026-01-02T03:04:05.678Z</lastmod>"));
    }

    #[test]
    fn files_are_split_at_the_limits_of_the_protocol() {
        let files = Files::default();
        let mut sitemaps = Sitemaps::new(files.open());
        for number in 0..50_001 {
            sitemaps.add(&format!("https://a.test/{number}"), None).unwrap();
        }
        let urls: Vec<u64> = sitemaps.finish().unwrap().iter().map(|part| part.urls).collect();
        assert_eq!(urls, [50_000, 1]);

        let (files, limit) = (Files::default(), 1000);
        let mut sitemaps = Sitemaps::with_limits(files.open(), 1_000_000, limit);
        for number in 0..100 {
            sitemaps.add(&format!("https://a.test/{number}"), None).unwrap();
        }
        let parts = sitemaps.finish().unwrap();
        assert!(parts.len() > 3 && parts.iter().all(|part| part.bytes <= limit), "{parts:?}");
        let all: Vec<String> = files.0.borrow().iter().flat_map(|file| locations(file)).collect();
        assert_eq!((all.len(), all[99].as_str()), (100, "https://a.test/99"));
        for (file, part) in files.0.borrow().iter().zip(&parts) {
            assert_eq!(file.len() as u64, part.bytes);
        }
    }

    #[test]
    fn without_urls_there_is_one_empty_sitemap_and_an_index_names_all() {
        let files = Files::default();
        assert_eq!(Sitemaps::new(files.open()).finish().unwrap().len(), 1);
        assert!(locations(&files.0.borrow()[0]).is_empty());
        let mut index = Vec::new();
        let names = ["https://a.test/sitemap-1.xml", "https://a.test/sitemap-2.xml?a&b"];
        write_index(&mut index, names.into_iter(), Millis(0)).unwrap();
        assert_eq!(locations(&index), names);
    }

    #[test]
    fn pages_are_listed_that_are_there_and_nobodys_copy() {
        let page = Page { url: "https://a.test/".into(), status: Some(200), ..Page::default() };
        assert!(belongs(&page));
        let other = || Some(String::from("https://a.test/other"));
        for page in [
            Page { status: Some(404), ..page.clone() },
            Page { status: None, ..page.clone() },
            Page { duplicate_of: other(), ..page.clone() },
            Page { final_url: other(), ..page.clone() },
            Page { canonical: other(), ..page.clone() },
            Page { error: Some("truncated".into()), ..page.clone() },
        ] {
            assert!(!belongs(&page), "{page:?}");
        }
    }
}
