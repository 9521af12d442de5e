//! The archive in an object store: the stores by their contract, the archive by its own, and the way of a file from a
//! worker's disk to where it stays.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod objects_contract;
mod private_set;

use argiope_cluster::objects::{
    Directory, Layout, LinkSpool, ObjectArchive, ObjectReader, ObjectSettings, Objects, OnStored, Spools,
    Stored, UploadOptions, Uploader, open, stream,
};
use argiope_lab::TestServer;
use argiope_local::archive::{ArchiveOptions, FileArchive};
use argiope_local::links::{SegmentLinks, read_segment};
use argiope_model::{Millis, RequestKind};
use argiope_store::archive::contract::{self, Sample, recovered};
use argiope_store::archive::{Appended, Appender, Archive, ArchiveRef, Exchange, Position};
use argiope_store::error::{ErrorKind, StoreError};
use argiope_store::links::contract::batch;
use argiope_store::links::{Links, LinksPosition};
use argiope_store::spool::Spool;
use argiope_store::warc::VisitOutcome;
use flate2::read::GzDecoder;
use private_set::{PrivateSet, eventually, unique};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SERVER: TestServer = TestServer::S3;
const LONG: Duration = Duration::from_secs(60);

fn s3(variable: &dyn Fn(&str) -> Option<String>) -> Arc<dyn Objects> {
    let settings = ObjectSettings {
        bucket: variable("ARGIOPE_TEST_S3_BUCKET").unwrap(),
        region: variable("AWS_REGION"),
        endpoint: variable(&SERVER.variable()),
    };
    open(&settings, variable).unwrap()
}

fn shared_s3() -> Option<Arc<dyn Objects>> {
    SERVER.address()?;
    Some(s3(&|name| std::env::var(name).ok()))
}

/// A worker's disk. Names of files are its own, as they are in a cluster.
struct Disk {
    directory: tempfile::TempDir,
    name: String,
}

impl Disk {
    fn new() -> Disk {
        Disk { directory: tempfile::tempdir().unwrap(), name: unique("w") }
    }

    fn spool(&self, layout: Layout) -> Arc<FileArchive> {
        let options = ArchiveOptions {
            name: self.name.clone(),
            remembered_payloads: 1000,
            revisits: layout == Layout::Warc,
            ..ArchiveOptions::default()
        };
        Arc::new(FileArchive::open(self.directory.path(), options).unwrap())
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.directory.path()).unwrap().count()
    }
}

type Told = Arc<Mutex<Vec<Stored>>>;

/// What was reported.
fn telling() -> (Told, OnStored) {
    let told: Told = Arc::default();
    let teller = told.clone();
    let on_stored = move |stored: &[Stored]| {
        teller.lock().unwrap().extend_from_slice(stored);
        Ok(())
    };
    (told, Box::new(on_stored))
}

fn options(layout: Layout) -> UploadOptions {
    UploadOptions { layout, ..UploadOptions::default() }
}

/// Files end as soon as something is in them.
fn at_once(layout: Layout) -> UploadOptions {
    UploadOptions { layout, rotate_after: Duration::ZERO }
}

fn append(appender: &mut dyn Appender, number: u32) -> Appended {
    appender.append(&Sample::page(number, 3000).exchange()).unwrap()
}

/// Appends pages of their own file, catalogued and finished.
fn finished(spool: &FileArchive, samples: &[Sample]) -> Vec<Appended> {
    let mut appender = spool.appender().unwrap();
    let places: Vec<Appended> =
        samples.iter().map(|sample| appender.append(&sample.exchange()).unwrap()).collect();
    appender.finish().unwrap();
    spool.sync().unwrap();
    spool.committed(&places.iter().map(Appended::position).collect::<Vec<Position>>());
    places
}

fn samples(numbers: std::ops::Range<u32>) -> Vec<Sample> {
    numbers.map(|number| Sample::page(number, 3000)).collect()
}

fn upload(spool: &Arc<FileArchive>, objects: &Arc<dyn Objects>, layout: Layout) -> Vec<Stored> {
    let (told, on_stored) = telling();
    let uploader = Uploader::start(spool.clone(), objects.clone(), options(layout), on_stored).unwrap();
    let status = uploader.drain(LONG);
    assert_eq!((status.waiting_files, status.trouble), (0, None));
    let told = told.lock().unwrap();
    told.clone()
}

/// Runs a test on a directory, and on S3 where there is one.
fn on_directory(test: fn(&Arc<dyn Objects>)) {
    let directory = tempfile::tempdir().unwrap();
    test(&(Arc::new(Directory::new(&directory.path().join("store"))) as Arc<dyn Objects>));
}

fn on_s3(test: fn(&Arc<dyn Objects>)) {
    if let Some(objects) = shared_s3() {
        test(&objects);
    }
}

#[test]
fn a_directory_keeps_the_contract_of_object_stores() {
    on_directory(|objects| objects_contract::run(&**objects, "contract"));
}

#[test]
fn a_bucket_keeps_the_contract_of_object_stores_on_s3() {
    on_s3(|objects| objects_contract::run(&**objects, &unique("contract")));
}

fn the_archive_keeps_its_contract(objects: &Arc<dyn Objects>) {
    contract::run(&|| {
        let disk = Disk::new();
        let objects = objects.clone();
        Box::new(move || {
            let (_, on_stored) = telling();
            let spool = disk.spool(Layout::Warc);
            Box::new(ObjectArchive::start(spool, objects.clone(), options(Layout::Warc), on_stored).unwrap())
        })
    });
}

#[test]
fn an_archive_in_a_directory_keeps_the_contract_of_archives() {
    on_directory(the_archive_keeps_its_contract);
}

#[test]
fn an_archive_in_a_bucket_keeps_the_contract_of_archives_on_s3() {
    on_s3(the_archive_keeps_its_contract);
}

fn a_file_moves_to_the_store_and_is_read_there(objects: &Arc<dyn Objects>) {
    let disk = Disk::new();
    let (told, on_stored) = telling();
    let spool = disk.spool(Layout::Warc);
    let archive = ObjectArchive::start(spool, objects.clone(), at_once(Layout::Warc), on_stored).unwrap();
    assert_eq!(recovered(&archive, &[]), []);
    let mut appender = archive.appender().unwrap();
    let original = append(&mut *appender, 1);
    archive.sync().unwrap();
    archive.committed(&[original.position()]);
    eventually("the first file is moved", || (told.lock().unwrap().len() == 1).then_some(()));
    eventually("it is deleted here", || (disk.files() == 0).then_some(()));
    let key = format!("warc/{}", original.at.file);
    let stored = Stored::File { file: original.at.file.clone(), length: original.end, key: key.clone() };
    assert_eq!(*told.lock().unwrap(), [stored]);
    assert!(objects.head(&key).unwrap().is_some());
    assert!(objects.head(&key.replace(".warc.gz", ".cdxj")).unwrap().is_some(), "its index too");

    let sample = Sample::page(1, 3000);
    let reader = ObjectReader::new(objects.clone());
    for exchange in [archive.read(&original.at).unwrap(), reader.read(&original.at).unwrap()] {
        assert_eq!(
            (exchange.body.as_slice(), exchange.target),
            (sample.body(), sample.metadata.visit.url.clone())
        );
    }
    assert_eq!(archive.read_metadata(&original.at).unwrap(), sample.metadata);
    assert_eq!(reader.read_metadata(&original.at).unwrap(), sample.metadata);
    assert_eq!(archive.verify(&original.position()).unwrap(), 1);
    let beyond = ArchiveRef { offset: original.end, ..original.at.clone() };
    assert_eq!(archive.read(&beyond).unwrap_err().kind, ErrorKind::Corrupt);
    let nowhere = ArchiveRef { file: "none.warc.gz".into(), offset: 0 };
    assert_eq!(archive.read(&nowhere).unwrap_err().kind, ErrorKind::NotFound);
    let status = archive.uploader().status();
    assert_eq!((status.uploaded_files, status.uploaded_bytes), (1, original.end));
}

#[test]
fn a_file_moves_to_a_directory_and_is_read_there() {
    on_directory(a_file_moves_to_the_store_and_is_read_there);
}

#[test]
fn a_file_moves_to_a_bucket_and_is_read_there_on_s3() {
    on_s3(a_file_moves_to_the_store_and_is_read_there);
}

fn a_revisit_is_followed_wherever_its_original_is(objects: &Arc<dyn Objects>) {
    let disk = Disk::new();
    let spool = disk.spool(Layout::Warc);
    let original = Sample::of("https://example.com/original", Sample::page(1, 3000).body().to_vec());
    let twin = Sample::of("https://example.com/twin", original.body().to_vec());
    let first = finished(&spool, std::slice::from_ref(&original)).remove(0);
    let second = finished(&spool, std::slice::from_ref(&twin)).remove(0);
    assert!(second.duplicate_of.is_some());
    upload(&spool, objects, Layout::Warc);
    assert_eq!(disk.files(), 0);
    let stored = ObjectReader::new(objects.clone()).read(&second.at).unwrap();
    assert_eq!((stored.refers_to, stored.body.as_slice()), (Some(first.at), original.body()));
}

#[test]
fn a_revisit_in_a_directory_is_followed() {
    on_directory(a_revisit_is_followed_wherever_its_original_is);
}

#[test]
fn a_revisit_in_a_bucket_is_followed_on_s3() {
    on_s3(a_revisit_is_followed_wherever_its_original_is);
}

fn what_is_not_modified_refers_to_what_has_left(objects: &Arc<dyn Objects>) {
    let disk = Disk::new();
    let (_, on_stored) = telling();
    let spool = disk.spool(Layout::Warc);
    let archive = ObjectArchive::start(spool, objects.clone(), at_once(Layout::Warc), on_stored).unwrap();
    assert_eq!(recovered(&archive, &[]), []);
    let mut appender = archive.appender().unwrap();
    let original = append(&mut *appender, 1);
    archive.sync().unwrap();
    archive.committed(&[original.position()]);
    eventually("it has left", || (disk.files() == 0).then_some(()));
    let mut unchanged = Sample::page(1, 3000);
    unchanged.metadata.status = Some(304);
    unchanged.response = Some((b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n".to_vec(), Vec::new()));
    let exchange = Exchange { previous: Some(&original.at), ..unchanged.exchange() };
    let later = appender.append(&exchange).unwrap();
    let stored = archive.read(&later.at).unwrap();
    assert_eq!((stored.refers_to, stored.body.as_slice()), (Some(original.at), Sample::page(1, 3000).body()));
}

#[test]
fn what_is_not_modified_refers_to_what_has_left_for_a_directory() {
    on_directory(what_is_not_modified_refers_to_what_has_left);
}

#[test]
fn what_is_not_modified_refers_to_what_has_left_for_a_bucket_on_s3() {
    on_s3(what_is_not_modified_refers_to_what_has_left);
}

/// Bodies that do not shrink.
fn noise(number: u32, length: usize) -> Sample {
    let mut state = u64::from(number) + 1;
    let body = (0..length).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    Sample::of(&format!("https://example.com/noise/{number}"), body.collect())
}

#[test]
fn a_large_file_goes_in_parts_and_any_visit_of_it_is_found_on_s3() {
    let Some(objects) = shared_s3() else { return };
    let disk = Disk::new();
    let spool = disk.spool(Layout::Warc);
    let samples: Vec<Sample> = (0..20).map(|n| noise(n, 1_500_000)).collect();
    let places = finished(&spool, &samples);
    assert!(places.last().unwrap().end > 24 << 20);
    upload(&spool, &objects, Layout::Warc);
    let reader = ObjectReader::new(objects);
    for (sample, place) in samples.iter().zip(&places) {
        assert!(reader.read(&place.at).unwrap().body == sample.body());
    }
    assert_eq!(reader.verify(&places.last().unwrap().position()).unwrap(), 20);
}

fn a_page_becomes_an_object_of_its_own(objects: &Arc<dyn Objects>) {
    let host = format!("{}.example", unique("h"));
    let disk = Disk::new();
    let spool = disk.spool(Layout::Objects);
    let page = |path: &str, body: &[u8]| Sample::of(&format!("https://{host}/{path}"), body.to_vec());
    let first = page("first", b"<title>first</title>");
    let mut packed = page("packed", &zstd::bulk::compress(b"<p>unpacked</p>", 1).unwrap());
    packed.response.as_mut().unwrap().0 =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: zstd\r\n\r\n"
            .to_vec();
    let mut robots = page("robots.txt", b"User-agent: *");
    robots.metadata.visit.kind = RequestKind::Robots;
    let mut retried = page("retried", b"busy");
    retried.metadata.outcome = VisitOutcome::Retry { due: Millis(1) };
    let mut silent = page("silent", b"");
    silent.response = None;
    let places = finished(&spool, &[first.clone(), packed, robots, retried, silent]);
    let told = upload(&spool, objects, Layout::Objects);
    assert_eq!(disk.files(), 0);
    let month = first.metadata.visit.scheduled_at.rfc3339()[..7].to_owned();
    let key = |path: &str| {
        let url = argiope_model::Url::from_stored(&format!("https://{host}/{path}")).unwrap();
        format!("{host}/{month}/{}.html.gz", url.identity().key())
    };
    let page_of = |(path, n): (&str, usize)| Stored::Page { at: places[n].at.clone(), key: key(path) };
    let last = places.last().unwrap();
    let expected: Vec<Stored> = [("first", 0), ("packed", 1)]
        .map(page_of)
        .into_iter()
        .chain([Stored::AllPages { file: last.at.file.clone(), length: last.end }])
        .collect();
    assert_eq!(told, expected, "pages with their last word only");
    assert_eq!(objects.list(&format!("{host}/"), None, 100).unwrap().len(), 2);

    let head = objects.head(&key("first")).unwrap().unwrap();
    assert_eq!(head.fact("url"), Some(first.metadata.visit.url.as_str()));
    assert_eq!(head.fact("content-type"), Some("text/html"));
    assert_eq!(head.fact("crawled-at"), Some(first.metadata.timings.started.rfc3339().as_str()));
    for (path, body) in [("first", "<title>first</title>"), ("packed", "<p>unpacked</p>")] {
        let mut text = String::new();
        let object = objects.get(&key(path), 0, 10_000).unwrap();
        GzDecoder::new(object.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text, body);
        let at: ArchiveRef = format!("{}:0", key(path)).parse().unwrap();
        let exchange = ObjectReader::new(objects.clone()).read(&at).unwrap();
        assert_eq!(exchange.body, body.as_bytes());
        assert_eq!(exchange.target.as_str(), format!("https://{host}/{path}"));
        assert_eq!(exchange.date, first.metadata.timings.started);
    }
}

#[test]
fn a_page_becomes_a_file_of_a_directory() {
    on_directory(a_page_becomes_an_object_of_its_own);
}

#[test]
fn a_page_becomes_an_object_of_a_bucket_on_s3() {
    on_s3(a_page_becomes_an_object_of_its_own);
}

#[test]
fn a_later_version_of_a_page_has_its_time_in_the_name() {
    on_directory(|objects| {
        let disk = Disk::new();
        let spool = disk.spool(Layout::Objects);
        let mut later = Sample::page(1, 500);
        later.metadata.timings.started = Millis(later.metadata.timings.started.0 + 60_000);
        later.metadata.visit.round = 2;
        finished(&spool, &[Sample::page(1, 400)]);
        let key_of = |told: Vec<Stored>| told[0].key().unwrap().to_owned();
        let first = key_of(upload(&spool, objects, Layout::Objects));
        finished(&spool, std::slice::from_ref(&later));
        let second = key_of(upload(&spool, objects, Layout::Objects));
        let time = later.metadata.timings.started.0;
        assert_eq!(second, first.replace(".html.gz", &format!("-{time}.html.gz")));
        let body = |key: &str| {
            let at: ArchiveRef = format!("{key}:0").parse().unwrap();
            ObjectReader::new(objects.clone()).read(&at).unwrap().body
        };
        assert_eq!(body(&first), Sample::page(1, 400).body());
        assert_eq!(body(&second), later.body());
    });
}

#[test]
fn what_was_stored_but_not_reported_is_reported_and_not_stored_again() {
    on_directory(|objects| {
        for layout in [Layout::Warc, Layout::Objects] {
            let disk = Disk::new();
            let spool = disk.spool(layout);
            finished(&spool, &samples(0..3));
            // The process that stored it died before it could say so.
            let tries = Arc::new(Mutex::new(Vec::new()));
            let teller = tries.clone();
            let on_stored = move |stored: &[Stored]| {
                teller.lock().unwrap().push(stored.to_vec());
                Err(StoreError::new(ErrorKind::Unreachable, "catalogue", "away"))
            };
            let uploader =
                Uploader::start(spool.clone(), objects.clone(), options(layout), Box::new(on_stored))
                    .unwrap();
            uploader.nudge();
            let first = eventually("it is stored", || tries.lock().unwrap().first().cloned());
            eventually("the trouble is told", || uploader.status().trouble);
            drop(uploader);
            assert_eq!(spool.finished().unwrap().len(), 1, "the file stays until it is reported");

            drop(spool);
            let spool = disk.spool(layout);
            let known: Vec<Position> = disk_positions(&disk);
            assert_eq!(spool.truncate_to(&known).unwrap(), []);
            assert_eq!(upload(&spool, objects, layout), first, "the same keys");
            assert_eq!(disk.files(), 0);
        }
    });
}

/// Every WARC file of a disk, catalogued to its end.
fn disk_positions(disk: &Disk) -> Vec<Position> {
    let files = std::fs::read_dir(disk.directory.path()).unwrap().map(|entry| entry.unwrap());
    let position = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        name.ends_with(".warc.gz")
            .then(|| Position { file: name.as_str().into(), length: entry.metadata().unwrap().len() })
    };
    files.filter_map(position).collect()
}

#[test]
fn a_file_whose_name_is_taken_stays_and_is_reported() {
    on_directory(|objects| {
        let disk = Disk::new();
        let spool = disk.spool(Layout::Warc);
        let place = finished(&spool, &samples(0..1)).remove(0);
        let other = finished(&spool, &samples(1..2)).remove(0);
        let key = format!("warc/{}", place.at.file);
        objects.put(&key, b"another worker's", &Vec::new()).unwrap();
        let (told, on_stored) = telling();
        let uploader =
            Uploader::start(spool.clone(), objects.clone(), options(Layout::Warc), on_stored).unwrap();
        let status = uploader.drain(LONG);
        assert!(status.trouble.is_some_and(|text| text.contains("two workers have the same name")));
        assert_eq!(status.uploaded_files, 1, "the others are not kept by it");
        assert_eq!(objects.get(&key, 0, 100).unwrap(), b"another worker's");
        assert!(spool.path(&place.at.file).exists());
        let names: Vec<String> =
            told.lock().unwrap().iter().filter_map(|stored| Some(stored.key()?.to_owned())).collect();
        assert_eq!(names, [format!("warc/{}", other.at.file)]);
    });
}

#[test]
fn a_file_that_ends_in_the_middle_of_a_visit_is_cut_before_it_goes() {
    on_directory(|objects| {
        let disk = Disk::new();
        let spool = disk.spool(Layout::Warc);
        let place = finished(&spool, &samples(0..2)).remove(1);
        let mut bytes = std::fs::read(spool.path(&place.at.file)).unwrap();
        let torn = bytes[..100].to_vec();
        bytes.extend(torn);
        std::fs::write(spool.path(&place.at.file), &bytes).unwrap();
        let (told, on_stored) = telling();
        let uploader =
            Uploader::start(spool.clone(), objects.clone(), options(Layout::Warc), on_stored).unwrap();
        let status = uploader.drain(LONG);
        assert!(status.trouble.is_some_and(|text| text.contains("the next start cuts the file there")));
        assert!(told.lock().unwrap().is_empty());
        drop((uploader, spool));
        let spool = disk.spool(Layout::Warc);
        assert_eq!(spool.truncate_to(&[place.position()]).unwrap().len(), 1);
        upload(&spool, objects, Layout::Warc);
        let stored = objects.head(&format!("warc/{}", place.at.file)).unwrap().unwrap();
        assert_eq!(stored.length, place.end);
    });
}

#[test]
fn a_worker_that_leaves_leaves_nothing_behind() {
    on_directory(|objects| {
        let disk = Disk::new();
        let (told, on_stored) = telling();
        let spool = disk.spool(Layout::Warc);
        let archive = ObjectArchive::start(spool, objects.clone(), options(Layout::Warc), on_stored).unwrap();
        let mut appender = archive.appender().unwrap();
        let place = append(&mut *appender, 1);
        archive.sync().unwrap();
        archive.committed(&[place.position()]);
        // Its file is open still, and far from long enough.
        let status = archive.uploader().drain(LONG);
        assert_eq!((status.uploaded_files, status.waiting_files), (1, 0));
        assert_eq!((told.lock().unwrap().len(), disk.files()), (1, 0));
        drop(appender);
    });
}

fn segments_of_links_leave_as_files_of_the_archive_do(objects: &Arc<dyn Objects>) {
    let disk = Disk::new();
    let mut links = SegmentLinks::open_spool(&disk.directory.path().join("links"), 100).unwrap();
    links.truncate_to(LinksPosition::default()).unwrap();
    let (told, on_stored) = telling();
    let segments = LinkSpool { segments: links.segments(), worker: disk.name.clone() };
    let spools = Spools { archive: disk.spool(Layout::Objects), links: Some(segments) };
    let uploader = Uploader::start(spools, objects.clone(), at_once(Layout::Objects), on_stored).unwrap();
    let mut commit = |first: u32, pages: u32| {
        links.append(&batch(first, pages)).unwrap();
        let reached = links.sync().unwrap();
        links.committed(reached);
        uploader.nudge();
        reached
    };
    let first = commit(0, 30);
    eventually("the first segment has left", || (told.lock().unwrap().len() == 1).then_some(()));
    let second = commit(30, 1);
    assert_eq!(second.segment, 1, "nothing is added to what has left");
    eventually("the second one too", || (told.lock().unwrap().len() == 2).then_some(()));
    eventually("both are deleted", || (uploader.status().waiting_files == 0).then_some(()));
    assert_eq!(std::fs::read_dir(disk.directory.path().join("links")).unwrap().count(), 0);
    let mut sources = Vec::new();
    for (stored, reached) in told.lock().unwrap().iter().zip([first, second]) {
        let key = stored.key().unwrap();
        assert!(key.starts_with(&format!("links/{}-{:08}-", disk.name, reached.segment)), "{key}");
        assert_eq!(*stored, Stored::Links { segment: reached.segment.to_string().into(), key: key.into() });
        let source = stream(objects.clone(), key.to_owned(), 0);
        let mut add = |page: &argiope_store::links::PageLinks<'_>| {
            sources.push(page.source.to_owned());
            Ok(())
        };
        read_segment(key, source, reached.length, &mut add).unwrap();
    }
    let expected: Vec<String> = (0..31).map(|number| format!("https://example.com/{number}")).collect();
    assert_eq!(sources, expected);
}

#[test]
fn segments_of_links_leave_for_a_directory() {
    on_directory(segments_of_links_leave_as_files_of_the_archive_do);
}

#[test]
fn segments_of_links_leave_for_a_bucket_on_s3() {
    on_s3(segments_of_links_leave_as_files_of_the_archive_do);
}

#[test]
fn a_store_that_is_not_there_or_does_not_let_us_in_is_told_apart_on_s3() {
    let Some(url) = SERVER.address() else { return };
    let with = |bucket: &str, endpoint: &str, secret: Option<&str>| {
        let variable = |name: &str| match (name, secret) {
            ("AWS_SECRET_ACCESS_KEY", Some(secret)) => Some(secret.to_owned()),
            _ => std::env::var(name).ok(),
        };
        let settings = ObjectSettings {
            bucket: bucket.into(),
            endpoint: Some(endpoint.into()),
            ..ObjectSettings::default()
        };
        open(&settings, &variable).unwrap().check().unwrap_err()
    };
    let bucket = std::env::var("ARGIOPE_TEST_S3_BUCKET").unwrap();
    let error = with("no-such-bucket", &url, None);
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.to_string().starts_with("storage.html_bucket: there is no such bucket"), "{error}");
    let error = with(&bucket, &url, Some("wrong"));
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.to_string().contains("AWS_SECRET_ACCESS_KEY"), "{error}");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = with(&bucket, &format!("http://127.0.0.1:{port}"), None);
    assert_eq!(error.kind, ErrorKind::Unreachable);
    assert!(error.to_string().starts_with("storage.html_bucket: "), "{error}");
}

#[test]
fn a_directory_that_cannot_be_written_names_the_setting() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), b"").unwrap();
    let error = Directory::new(&directory.path().join("file/below")).check().unwrap_err();
    assert!(error.to_string().starts_with("storage.html_bucket: "), "{error}");
    assert!(Path::new(directory.path()).exists());
}

#[test]
fn files_wait_while_the_store_is_away_and_follow_when_it_is_back_on_s3() {
    let Some(set) = PrivateSet::start(SERVER) else { return };
    let objects = s3(&|name| set.variables.get(name).cloned());
    objects.check().unwrap();
    for layout in [Layout::Warc, Layout::Objects] {
        let disk = Disk::new();
        let (told, on_stored) = telling();
        let spool = disk.spool(layout);
        let uploader = Uploader::start(spool.clone(), objects.clone(), options(layout), on_stored).unwrap();
        finished(&spool, &samples(0..2));
        uploader.nudge();
        eventually("the first is uploaded", || (disk.files() == 0).then_some(()));
        let before = told.lock().unwrap().len();
        set.script(&["stop", "s3"]);
        let places = finished(&spool, &samples(2..4));
        uploader.nudge();
        let trouble = eventually("it is told that the store is away", || uploader.status().trouble);
        assert!(trouble.starts_with("storage.html_bucket: "), "{trouble}");
        assert_eq!((uploader.status().waiting_files, told.lock().unwrap().len()), (1, before));
        assert_eq!(spool.read(&places[0].at).unwrap().body, Sample::page(2, 3000).body(), "it is still here");
        set.script(&["start", "s3"]);
        eventually("it is uploaded", || (disk.files() == 0).then_some(()));
        let status =
            eventually("the trouble is over", || Some(uploader.status()).filter(|now| now.trouble.is_none()));
        assert_eq!((status.waiting_files, status.uploaded_files), (0, 2));
        assert_eq!(told.lock().unwrap().len(), if layout == Layout::Warc { 2 } else { 6 });
    }
    // A store that hangs is away too, and nobody is kept by it for ever.
    set.script(&["pause", "s3"]);
    let disk = Disk::new();
    let spool = disk.spool(Layout::Warc);
    finished(&spool, &samples(0..1));
    let (_, on_stored) = telling();
    let uploader = Uploader::start(spool.clone(), objects.clone(), options(Layout::Warc), on_stored).unwrap();
    let trouble = eventually("it is told that the store hangs", || uploader.status().trouble);
    assert!(trouble.contains("is unreachable"), "{trouble}");
    set.script(&["resume", "s3"]);
    eventually("it is uploaded", || (disk.files() == 0).then_some(()));
}

#[test]
fn of_what_a_killed_worker_left_its_successor_uploads_what_is_catalogued_on_s3() {
    let Some(objects) = shared_s3() else { return };
    let disk = Disk::new();
    let spool = disk.spool(Layout::Warc);
    let mut appender = spool.appender().unwrap();
    let known = append(&mut *appender, 1);
    let unknown = append(&mut *appender, 2);
    spool.sync().unwrap();
    drop((appender, spool));
    let (told, on_stored) = telling();
    let spool = disk.spool(Layout::Warc);
    let archive = ObjectArchive::start(spool, objects.clone(), options(Layout::Warc), on_stored).unwrap();
    assert!(told.lock().unwrap().is_empty(), "nobody has said what is catalogued");
    assert_eq!(archive.truncate_to(&[known.position()]).unwrap().len(), 1);
    eventually("it is uploaded", || (disk.files() == 0).then_some(()));
    let key = format!("warc/{}", known.at.file);
    assert_eq!(objects.head(&key).unwrap().unwrap().length, known.end);
    assert_eq!(archive.read(&known.at).unwrap().body, Sample::page(1, 3000).body());
    assert_eq!(archive.read(&unknown.at).unwrap_err().kind, ErrorKind::Corrupt);
}
