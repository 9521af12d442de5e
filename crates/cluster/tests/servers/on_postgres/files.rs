//! What the catalogue knows of the files of workers: which have left their disk, and which went with one.

use super::scratch::Scratch;
use argiope_cluster::catalogue::{
    ExpectedFile, FileCheck, FileLocations, LostMarks, PostgresCatalogue, PostgresReader,
};
use argiope_cluster::objects::{Directory, Objects, Stored};
use argiope_model::{JobId, Millis, Page};
use argiope_store::catalogue::{
    Batch, Catalogue, CatalogueReader, FilePosition, NewJob, PageQuery, PageRow, url_key,
};
use argiope_store::links::LinksPosition;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FILES: [&str; 3] = ["here.warc.gz", "stored.warc.gz", "gone.warc.gz"];

/// A page in each file, and two segments of links.
fn stored(scratch: &Scratch) -> JobId {
    let mut catalogue = PostgresCatalogue::open(&scratch.database(), "w").unwrap();
    let job =
        NewJob { name: None, seeds_hash: "h".into(), spec: "{}".into(), created_at: Millis(1), user: None };
    let job = catalogue.create_job(&job).unwrap().id;
    let page = |file: &str| {
        let url = format!("https://a.test/{file}");
        let page = Page {
            url: url.clone(),
            status: Some(200),
            archive: Some(format!("{file}:77")),
            ..Page::default()
        };
        let mut row = PageRow::new(job, url_key(&url), "a.test", page);
        row.etag = Some(String::from("\"x\""));
        row
    };
    let position = |file: &str| FilePosition { file: file.to_owned(), length: 100 };
    for (segment, files) in [(8, &FILES[..1]), (9, &FILES[1..])] {
        let batch = Batch {
            pages: files.iter().map(|file| page(file)).collect(),
            archive: files.iter().map(|file| position(file)).collect(),
            links: Some(LinksPosition { segment, length: 50 }),
            ..Batch::default()
        };
        catalogue.commit(&batch).unwrap();
    }
    job
}

fn kept(scratch: &Scratch, objects: Option<Arc<dyn Objects>>) -> FileLocations {
    FileLocations::open(&scratch.database(), "w", objects).unwrap()
}

/// Those whose places are shown, and whose etags are.
fn shown(scratch: &Scratch, job: JobId) -> Vec<String> {
    let reader = PostgresReader::open(&scratch.database()).unwrap();
    let mut places = Vec::new();
    let each = &mut |stored: argiope_store::catalogue::StoredPage| {
        assert_eq!(stored.row.page.archive.is_some(), stored.row.etag.is_some());
        places.extend(stored.row.page.archive);
        Ok(ControlFlow::Continue(()))
    };
    reader.pages(&PageQuery::of(job), each).unwrap();
    places
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_went_with_a_disk_is_marked_and_unmarked_when_it_is_back() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let job = stored(&scratch);
    let directory = tempfile::tempdir().unwrap();
    let objects: Arc<dyn Objects> = Arc::new(Directory::new(&directory.path().join("store")));
    // Uploaded, and the disk went before it was noted.
    objects.put("warc/stored.warc.gz", b"x", &Vec::new()).unwrap();
    let mut files = kept(&scratch, Some(objects.clone()));
    let is_left = |file: ExpectedFile<'_>| {
        file == ExpectedFile::Archive("here.warc.gz") || file == ExpectedFile::Links("8")
    };
    let checked = files.check_files(&is_left).unwrap();
    let gone = vec![String::from("gone.warc.gz")];
    assert_eq!(checked, FileCheck { lost: gone.clone(), found: Vec::new(), lost_links: 1 });
    let noted = "SELECT count(*) FROM positions WHERE kept_at LIKE '%/store/warc/stored.warc.gz'";
    assert_eq!(scratch.number(noted), 1);
    let lost =
        || scratch.number("SELECT count(*) FROM positions WHERE store = 'archive' AND lost_at IS NOT NULL");
    let counts = || PostgresReader::open(&scratch.database()).unwrap().counts(job).unwrap();
    // Somebody is here under the same name, and may have them.
    scratch.ask(
        "INSERT INTO members (owner, worker, state, lease_until)
         VALUES ('w#2', 'w', 'working', clock_timestamp() + interval '1 hour')",
    );
    let marks = LostMarks::start(files, checked, "w#1").unwrap();
    eventually("the marks to be postponed twice", || marks.postponed() > 1);
    assert_eq!((lost(), counts().content_lost), (0, 0));
    scratch.ask("DELETE FROM members");
    eventually("the file to be marked", || lost() == 1);
    drop(marks);
    assert_eq!(counts().content_lost, 1);
    assert_eq!(shown(&scratch, job), ["here.warc.gz:77", "stored.warc.gz:77"]);

    let mut files = kept(&scratch, Some(objects));
    assert_eq!(files.check_files(&is_left).unwrap(), FileCheck::default(), "it is told once");
    let checked = files.check_files(&|_| true).unwrap();
    assert_eq!(checked, FileCheck { lost: Vec::new(), found: gone, lost_links: 0 });
    let marks = LostMarks::start(files, checked, "w#1").unwrap();
    eventually("the file to be unmarked", || lost() == 0);
    drop(marks);
    assert_eq!((counts().content_lost, shown(&scratch, job).len()), (0, 3));
    assert_eq!(scratch.number("SELECT count(*) FROM positions WHERE lost_at IS NOT NULL"), 0);
}

#[test]
fn a_page_that_is_fetched_again_is_not_lost_any_more() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let job = stored(&scratch);
    let mut files = kept(&scratch, None);
    let checked = files.check_files(&|_| false).unwrap();
    assert_eq!(checked.lost.len(), 3, "without a store what is not here is nowhere");
    let _marks = LostMarks::start(files, checked, "w#1").unwrap();
    let lost = || scratch.number("SELECT count(*) FROM crawl_metadata WHERE archive_lost");
    eventually("the pages to be marked", || lost() == 3);
    let url = "https://a.test/gone.warc.gz";
    let archive = Some(String::from("new.warc.gz:1"));
    let page = Page { url: url.into(), status: Some(200), archive, ..Page::default() };
    let mut row = PageRow::new(job, url_key(url), "a.test", page);
    row.etag = Some(String::from("\"y\""));
    let mut catalogue = PostgresCatalogue::open(&scratch.database(), "w").unwrap();
    catalogue.commit(&Batch { pages: vec![row], ..Batch::default() }).unwrap();
    assert_eq!((lost(), shown(&scratch, job)), (2, vec![String::from("new.warc.gz:1")]));
}

#[test]
fn links_go_on_after_a_segment_that_has_left_or_is_lost() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    stored(&scratch);
    let position = || {
        let catalogue = PostgresCatalogue::open(&scratch.database(), "w").unwrap();
        catalogue.links_position().unwrap()
    };
    assert_eq!(position(), Some(LinksPosition { segment: 9, length: 50 }));
    let directory = tempfile::tempdir().unwrap();
    let mut files = kept(&scratch, Some(Arc::new(Directory::new(directory.path()))));
    let segment = |number: &str| Stored::Links { segment: number.into(), key: format!("links/{number}.zst") };
    files.note(&[segment("8")]).unwrap();
    assert_eq!(position(), Some(LinksPosition { segment: 9, length: 50 }));
    files.note(&[segment("9")]).unwrap();
    assert_eq!(position(), Some(LinksPosition { segment: 10, length: 0 }));
    let reader = PostgresReader::open(&scratch.database()).unwrap();
    let places: Vec<String> =
        reader.link_segments().unwrap().into_iter().map(|segment| segment.kept_at.unwrap()).collect();
    assert!(places[0].ends_with("/links/8.zst") && places[1].ends_with("/links/9.zst"), "{places:?}");
    scratch.ask("UPDATE positions SET kept_at = NULL WHERE store = 'links'");
    assert_eq!(position(), Some(LinksPosition { segment: 9, length: 50 }));
    assert_eq!(files.check_files(&|_| false).unwrap().lost_links, 2);
    assert_eq!(position(), Some(LinksPosition { segment: 10, length: 0 }));
}
