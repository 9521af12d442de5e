//! The contract of [`Links`].

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a suite of tests, built for tests only")]

use super::{Link, LinkBatch, LinkKind, Links, LinksPosition, Rel};
use crate::error::ErrorKind;
use argiope_model::JobId;

/// Opens the same links again, as after a restart.
pub type Open<'f> = &'f dyn Fn() -> Box<dyn Links>;

/// Runs the whole suite; `fresh` creates an empty store and returns a function that opens it again and again.
pub fn run(fresh: &dyn Fn() -> Box<dyn Fn() -> Box<dyn Links>>) {
    pages_come_back_in_order(&*fresh());
    what_lies_beyond_the_position_is_cut(&*fresh());
    nothing_catalogued_means_nothing_kept(&*fresh());
    missing_data_is_corruption(&*fresh());
}

/// A batch of `pages` pages from number `first` on, each with three links.
pub fn batch(first: u32, pages: u32) -> LinkBatch {
    let mut batch = LinkBatch::new();
    for number in first..first + pages {
        let targets: Vec<String> = (0..3).map(|n| format!("https://example.com/{number}/to/{n}")).collect();
        let links: Vec<Link<'_>> = targets
            .iter()
            .map(|target| Link { target, anchor: "wörds", rel: Rel::NOFOLLOW, kind: LinkKind::Anchor })
            .collect();
        batch.push(JobId(7), &format!("https://example.com/{number}"), links.into_iter());
    }
    batch
}

/// The numbers of the stored pages, each fully checked.
pub fn numbers(links: &dyn Links, until: LinksPosition) -> Vec<u32> {
    let mut numbers = Vec::new();
    links
        .read(until, &mut |page| {
            assert_eq!(page.job, JobId(7));
            let number: u32 = page.source.rsplit('/').next().unwrap().parse().unwrap();
            assert_eq!(page.links.len(), 3);
            for (n, link) in page.links.iter().enumerate() {
                assert_eq!(link.target, format!("https://example.com/{number}/to/{n}"));
                assert_eq!((link.anchor, link.rel, link.kind), ("wörds", Rel::NOFOLLOW, LinkKind::Anchor));
            }
            numbers.push(number);
            Ok(())
        })
        .unwrap();
    numbers
}

fn pages_come_back_in_order(open: Open<'_>) {
    let mut links = open();
    links.truncate_to(LinksPosition::default()).unwrap();
    let mut last = links.sync().unwrap();
    for n in 0..20 {
        links.append(&batch(n * 10, 10)).unwrap();
        let position = links.sync().unwrap();
        assert!(position > last, "the position grows");
        last = position;
    }
    assert_eq!(numbers(&*links, last), (0..200).collect::<Vec<_>>());
    links.append(&LinkBatch::new()).unwrap();
    assert_eq!(links.sync().unwrap(), last, "an empty batch takes no space");
}

fn what_lies_beyond_the_position_is_cut(open: Open<'_>) {
    let mut links = open();
    links.truncate_to(LinksPosition::default()).unwrap();
    links.append(&batch(0, 5)).unwrap();
    let valid = links.sync().unwrap();
    links.append(&batch(5, 500)).unwrap();
    links.sync().unwrap();
    drop(links);
    let mut links = open();
    assert!(links.truncate_to(valid).unwrap() > 0);
    assert_eq!(links.truncate_to(valid).unwrap(), 0, "a second time there is nothing left to cut");
    links.append(&batch(900, 2)).unwrap();
    let end = links.sync().unwrap();
    assert_eq!(numbers(&*links, end), [0, 1, 2, 3, 4, 900, 901]);
    assert_eq!(numbers(&*links, valid), [0, 1, 2, 3, 4], "reading stops at the position");
}

fn nothing_catalogued_means_nothing_kept(open: Open<'_>) {
    let mut links = open();
    links.truncate_to(LinksPosition::default()).unwrap();
    links.append(&batch(0, 5)).unwrap();
    drop(links);
    let mut links = open();
    links.truncate_to(LinksPosition::default()).unwrap();
    let end = links.sync().unwrap();
    assert_eq!(numbers(&*links, end), [0u32; 0]);
}

fn missing_data_is_corruption(open: Open<'_>) {
    let mut links = open();
    links.truncate_to(LinksPosition::default()).unwrap();
    links.append(&batch(0, 5)).unwrap();
    let mut position = links.sync().unwrap();
    position.length += 1;
    drop(links);
    assert_eq!(open().truncate_to(position).unwrap_err().kind, ErrorKind::Corrupt);
}
