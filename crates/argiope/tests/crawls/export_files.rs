//! Exports of pages that are not text line by line: Parquet, sitemaps, WARC and WACZ.

use crate::desk::{Desk, lab, sorted};
use argiope_lab::SiteKind;

#[test]
fn pages_are_exported_as_files_for_other_programs() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Duplicates, SiteKind::Ordinary], 6, 0));
    desk.crawl(&lab.seeds(), &["--delay", "0"]).ok();
    let pages = desk.pages();
    for (file, beginning) in
        [("pages.parquet", &b"PAR1"[..]), ("site.wacz", b"PK\x03\x04"), ("site.warc.gz", &[0x1f, 0x8b])]
    {
        let exported = desk.run(&["export", "-o", file]).ok();
        assert!(exported.stderr.contains(&format!(" pages written to {file}")), "{}", exported.stderr);
        assert!(std::fs::read(desk.path(file)).unwrap().starts_with(beginning), "{file}");
    }

    desk.run(&["export", "-f", "sitemap", "-o", "sitemap.xml"]).ok();
    let xml = desk.read("sitemap.xml");
    let mut listed: Vec<&str> =
        xml.split("<loc>").skip(1).map(|rest| rest.split("</loc>").next().unwrap()).collect();
    listed.sort_unstable();
    let wanted: Vec<_> = pages
        .iter()
        .filter(|page| {
            page["status"] == 200 && page["duplicate_of"].is_null() && page["url"] == page["final_url"]
        })
        .filter(|page| page["canonical"].is_null() || page["canonical"] == page["url"])
        .cloned()
        .collect();
    assert!(!wanted.is_empty() && wanted.len() < pages.len());
    assert_eq!(listed, sorted(&wanted, "url"));
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 2, 0));
    desk.crawl(&lab.seeds(), &["--delay", "0"]).ok();
    for (arguments, said) in [
        (&["export", "-f", "sitemap"][..], "name one with -o"),
        (&["export", "-f", "parquet", "--what", "links"], "for pages"),
        (&["export", "-f", "wacz", "--html"], "for pages"),
        (&["export", "-o", "pages.docx"], "wacz"),
    ] {
        let run = desk.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
}
