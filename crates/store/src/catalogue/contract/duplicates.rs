//! What a catalogue knows of originals and their duplicates.

use super::{collect, commit_pages, new_job, page_row, url};
use crate::catalogue::{Catalogue, DuplicateGroup, StoredOriginal, url_key};
use argiope_model::{ContentHash, SimHash};

pub fn originals_are_read_without_their_duplicates(catalogue: &mut dyn Catalogue) {
    let (other, job) = (new_job(catalogue, None, "other"), new_job(catalogue, None, "h"));
    let original = |job, path: &str, number: u8| {
        let mut row = page_row(job, path);
        row.page.content_hash = Some(ContentHash([number; 32]));
        row.page.simhash = Some(SimHash(u64::MAX - u64::from(number)));
        row.page.word_count = Some(number.into());
        row
    };
    let mut copy = original(job, "/copy", 1);
    copy.page.duplicate_of = Some(url("/1"));
    let mut gone = original(job, "/gone", 3);
    gone.page.status = Some(404);
    let mut empty = original(job, "/empty", 4);
    empty.page.bytes = Some(0);
    let plain = page_row(job, "/plain");
    commit_pages(catalogue, vec![original(job, "/1", 1), original(other, "/1", 9), copy, gone]);
    let later = commit_pages(catalogue, vec![empty, plain, original(job, "/2", 2)]);
    let reader = catalogue.reader().unwrap();
    let found = |after| collect(|each| reader.originals(job, after, each));
    let expected = |seq, path: &str, number: Option<u8>| StoredOriginal {
        seq,
        url_key: url_key(&url(path)),
        content_hash: number.map(|number| ContentHash([number; 32])),
        simhash: number.map(|number| SimHash(u64::MAX - u64::from(number))),
        word_count: number.map(u32::from),
    };
    let seqs: Vec<u64> = later.pages.iter().map(|placed| placed.seq).collect();
    let [_, plain, second] = seqs[..] else { panic!("three pages: {seqs:?}") };
    let all = found(0);
    let first = all[0].seq;
    assert_eq!(
        all,
        [expected(first, "/1", Some(1)), expected(plain, "/plain", None), expected(second, "/2", Some(2))]
    );
    assert_eq!(found(first), all[1..]);
    assert_eq!(found(second), []);
    let key = |path: &str| url_key(&url(path));
    let mut urls = reader.page_urls(job, &[key("/2"), key("/nowhere"), key("/copy")]).unwrap();
    urls.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(urls, [(key("/2"), url("/2")), (key("/copy"), url("/copy"))]);
    assert_eq!(reader.page_urls(other, &[key("/2")]).unwrap(), []);
    assert_eq!(reader.page_urls(job, &[]).unwrap(), []);
}

pub fn duplicates_are_grouped_by_their_original(catalogue: &mut dyn Catalogue) {
    let (other, job) = (new_job(catalogue, None, "other"), new_job(catalogue, None, "h"));
    let copy = |job, path: &str, of: &str| {
        let mut row = page_row(job, path);
        row.page.duplicate_of = Some(url(of));
        row
    };
    let mut pages =
        vec![page_row(job, "/a"), page_row(job, "/b"), copy(job, "/b1", "/b"), copy(other, "/b2", "/b")];
    pages.extend((1..=5).rev().map(|number| copy(job, &format!("/a{number}"), "/a")));
    pages.push(copy(job, "/c1", "/c"));
    commit_pages(catalogue, pages);
    let reader = catalogue.reader().unwrap();
    let group = |of: &str, count, examples: &[&str]| DuplicateGroup {
        original: url(of),
        count,
        examples: examples.iter().map(|path| url(path)).collect(),
    };
    let groups = reader.duplicate_groups(job, 10, 2).unwrap();
    assert_eq!(groups, [group("/a", 5, &["/a5", "/a4"]), group("/b", 1, &["/b1"]), group("/c", 1, &["/c1"])]);
    assert_eq!(reader.duplicate_groups(job, 1, 9).unwrap()[0].examples.len(), 5);
    assert_eq!(reader.duplicate_groups(job, 2, 1).unwrap().len(), 2);
}
