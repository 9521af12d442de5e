use super::*;
use crate::contract::IndexFixture;
use crate::document::{Document, DocumentId};
use crate::hits::Request;
use crate::index::{IndexBatch, IndexReader, IndexWriter};
use crate::query::parse;
use argiope_model::JobId;
use argiope_store::follower::Position;
use tempfile::TempDir;

struct Fixture(TempDir);

impl IndexFixture for Fixture {
    fn writer(&mut self) -> Box<dyn IndexWriter> {
        Box::new(open_writer(&self.0))
    }

    fn reader(&mut self) -> Box<dyn IndexReader> {
        Box::new(EmbeddedReader::open(&path(&self.0)).unwrap().unwrap())
    }
}

fn path(directory: &TempDir) -> PathBuf {
    directory.path().join("index")
}

fn open_writer(directory: &TempDir) -> EmbeddedWriter {
    EmbeddedWriter::open(&path(directory), WriterOptions::default()).unwrap()
}

fn open_fixture() -> Option<Box<dyn IndexFixture>> {
    let fixture = Fixture(TempDir::new().unwrap());
    open_writer(&fixture.0);
    Some(Box::new(fixture))
}

crate::search_index_contract!(open_fixture);

fn document(number: u64) -> Document {
    Document {
        id: DocumentId { job: JobId(1), url_key: number },
        url: format!("https://a.test/{number}"),
        title: "Loom".into(),
        status: 200,
        content: number,
        ..Document::default()
    }
}

fn write(writer: &mut EmbeddedWriter, number: u64) {
    let reached = Position { page: number, batch: number };
    writer.add(IndexBatch { documents: vec![document(number)], reached, ..IndexBatch::default() }).unwrap();
    writer.commit().unwrap();
}

fn found(reader: &EmbeddedReader) -> usize {
    reader.search(&Request::new(parse("loom").unwrap())).unwrap().hits.len()
}

fn filled() -> TempDir {
    let directory = TempDir::new().unwrap();
    let mut writer = open_writer(&directory);
    (1..=3).for_each(|number| write(&mut writer, number));
    directory
}

/// Files of the index by the end of their name.
fn files(directory: &TempDir, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path(directory)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().ends_with(extension)).collect()
}

#[test]
fn a_reader_sees_what_is_committed_while_it_is_open() {
    let directory = filled();
    let reader = EmbeddedReader::open(&path(&directory)).unwrap().unwrap();
    assert_eq!(found(&reader), 3);
    let mut writer = open_writer(&directory);
    write(&mut writer, 4);
    assert_eq!(found(&reader), 4);
    let busy = EmbeddedWriter::open(&path(&directory), WriterOptions::default());
    assert_eq!(busy.err().map(|error| error.kind), Some(ErrorKind::Busy));
}

#[test]
fn without_an_index_there_is_no_reader() {
    let directory = TempDir::new().unwrap();
    assert!(EmbeddedReader::open(&path(&directory)).unwrap().is_none());
}

#[test]
fn a_deleted_index_begins_at_the_beginning() {
    let directory = filled();
    assert_eq!(open_writer(&directory).position().unwrap(), Position { page: 3, batch: 3 });
    std::fs::remove_dir_all(path(&directory)).unwrap();
    let mut writer = open_writer(&directory);
    assert_eq!((writer.position().unwrap(), writer.rebuilt()), (Position::default(), None));
}

type Damage = fn(&TempDir);

#[test]
fn a_damaged_index_is_said_to_be_and_built_again() {
    let damages: [(&str, Damage); 5] = [
        ("meta.json is gone", |directory| std::fs::remove_file(path(directory).join("meta.json")).unwrap()),
        ("meta.json is cut off", |directory| {
            std::fs::write(path(directory).join("meta.json"), "{\"segm").unwrap()
        }),
        ("a file is gone", |directory| std::fs::remove_file(&files(directory, ".term")[0]).unwrap()),
        ("a file is empty", |directory| std::fs::write(&files(directory, ".idx")[0], "").unwrap()),
        ("another format", |directory| std::fs::write(path(directory).join(MARK), "999\n").unwrap()),
    ];
    for (what, damage) in damages {
        let directory = filled();
        damage(&directory);
        let error = EmbeddedReader::open(&path(&directory)).err().map(|error| (error.kind, error.message));
        let Some((ErrorKind::Corrupt, message)) = error else { panic!("{what}: {error:?}") };
        assert!(message.contains("delete this directory"), "{what}: {message}");
        let mut writer = open_writer(&directory);
        assert_eq!(writer.position().unwrap(), Position::default(), "{what}");
        assert!(writer.rebuilt().is_some(), "{what}");
        write(&mut writer, 1);
        assert_eq!(found(&EmbeddedReader::open(&path(&directory)).unwrap().unwrap()), 1, "{what}");
    }
}

#[test]
fn every_changed_byte_is_found_by_the_check() {
    let directory = filled();
    assert_eq!(check(&path(&directory)).unwrap(), Vec::<PathBuf>::new());
    let store = &files(&directory, ".store")[0];
    let mut bytes = std::fs::read(store).unwrap();
    bytes[3] ^= 0xff;
    std::fs::write(store, bytes).unwrap();
    assert_eq!(check(&path(&directory)).unwrap().len(), 1);
}

#[test]
fn files_of_others_are_left_alone() {
    let directory = TempDir::new().unwrap();
    std::fs::create_dir(path(&directory)).unwrap();
    std::fs::write(path(&directory).join("diary.txt"), "mine").unwrap();
    let refused = EmbeddedWriter::open(&path(&directory), WriterOptions::default());
    assert_eq!(refused.err().map(|error| error.kind), Some(ErrorKind::Usage));
    assert!(path(&directory).join("diary.txt").exists());
}

#[test]
fn much_text_is_committed_before_it_fills_the_memory() {
    let directory = TempDir::new().unwrap();
    let heap_bytes = WriterOptions::LEAST_HEAP;
    let mut writer = EmbeddedWriter::open(&path(&directory), WriterOptions { heap_bytes }).unwrap();
    let text = "word ".repeat(50_000);
    for number in 1..=100 {
        let documents = vec![Document { text: text.clone(), ..document(number) }];
        let reached = Position { page: number, batch: 0 };
        writer.add(IndexBatch { documents, reached, ..IndexBatch::default() }).unwrap();
    }
    drop(writer);
    let reached = open_writer(&directory).position().unwrap().page;
    assert!((60..100).contains(&reached), "{reached} of 100 were committed");
}
