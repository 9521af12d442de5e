//! PDF files through real child processes: good ones, broken ones, bombs, and children that hang or crash.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use argiope_content::pdf::{Pdf, PdfContent, PdfError, Pool, PoolSettings};
use argiope_content::processor::{Budget, Input, ProcessError, Registry};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// The example of this crate, which `cargo test` has built beside the tests.
fn child_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/pdf_child");
    assert!(program.exists(), "{program:?} is missing: run all tests of the package, or build its examples");
    program
}

fn pool(arguments: &[&str]) -> Pool {
    let arguments = arguments.iter().map(Into::into).collect();
    Pool::new(PoolSettings { program: child_program(), arguments, children: 1, files_per_child: 3 })
}

/// A file of one page: its objects, a table of where they are, and a trailer.
fn pdf(content: &[u8], content_entries: &str) -> Vec<u8> {
    let link = "<</Type/Annot/Subtype/Link/Rect[72 690 300 712]/A<</S/URI/URI(https://example.org/paper)>>>>";
    let stream = [
        format!("<</Length {}{content_entries}>>stream\n", content.len()).as_bytes(),
        content,
        b"\nendstream",
    ]
    .concat();
    let objects: Vec<Vec<u8>> = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R/Annots[{link}]>>").into_bytes(),
        stream,
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_vec(),
        b"<</Title(On spiders)/Author(Ada)>>".to_vec(),
    ];
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(file.len());
        writeln!(file, "{} 0 obj", number + 1).unwrap();
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let table = file.len();
    write!(file, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).unwrap();
    for place in places {
        writeln!(file, "{place:010} 00000 n ").unwrap();
    }
    write!(file, "trailer<</Size {}/Root 1 0 R/Info 6 0 R>>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1)
        .unwrap();
    file
}

const CONTENT: &[u8] = b"BT /F1 18 Tf 72 700 Td (Spiders build webs) Tj ET";

fn is_spiders(content: &PdfContent) {
    assert_eq!(content.title.as_deref(), Some("On spiders"));
    assert!(content.text.contains("Spiders build webs"), "{content:?}");
    assert_eq!((content.pages, content.truncated), (1, false));
    assert_eq!(content.links, ["https://example.org/paper"]);
}

#[test]
fn a_file_has_text_title_and_links() {
    let pool = pool(&[]);
    // More than a child reads before it is replaced.
    for _ in 0..5 {
        is_spiders(&pool.read(&pdf(CONTENT, ""), LONG).unwrap());
    }
    let mut registry = Registry::default();
    registry.add(Pdf::new(Arc::new(pool)));
    let file = pdf(CONTENT, "");
    let input = Input {
        bytes: &file,
        content_type: None,
        charset: None,
        url: "https://example.org/",
        budget: Budget::default(),
    };
    let processed = registry.process(&input).unwrap();
    assert_eq!((processed.processor, processed.properties["pages"].as_u64()), ("pdf", Some(1)));
    assert_eq!(processed.properties["author"], "Ada");
    let broken = registry.process(&Input { bytes: b"%PDF-1.4 and nothing else", ..input }).unwrap_err();
    assert!(matches!(broken, ProcessError::Broken { format: "PDF", .. }), "{broken}");
}

#[test]
fn mutated_files_are_read_or_refused_and_the_next_one_is_read() {
    let pool = pool(&[]);
    let good = pdf(CONTENT, "");
    let mut random = 7u64;
    for round in 0..60 {
        let mut file = good.clone();
        for _ in 0..=round % 5 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (random >> 33) as usize % file.len();
            match random % 3 {
                0 => file[at] = (random >> 8) as u8,
                1 => drop(file.drain(at..(at + 9).min(file.len()))),
                _ => file.truncate(at.max(20)),
            }
        }
        match pool.read(&file, LONG) {
            Ok(_) | Err(PdfError::Unreadable(_) | PdfError::Crashed(_)) => {}
            Err(other) => panic!("round {round}: {other}"),
        }
    }
    is_spiders(&pool.read(&good, LONG).unwrap());
}

#[test]
fn a_bomb_ends_and_the_next_file_is_read() {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let piece = b"BT /F1 9 Tf (bomb) Tj ET\n".repeat(4_000);
    for _ in 0..4_000 {
        packed.write_all(&piece).unwrap();
    }
    let bomb = pdf(&packed.finish().unwrap(), "/Filter/FlateDecode");
    assert!(bomb.len() < 8 << 20, "{} bytes", bomb.len());
    let pool = pool(&[]);
    match pool.read(&bomb, Duration::from_secs(120)) {
        Ok(content) => assert!(content.text.len() <= 5 << 20),
        Err(PdfError::Unreadable(_) | PdfError::Crashed(_) | PdfError::TooSlow(_)) => {}
        Err(other) => panic!("{other}"),
    }
    is_spiders(&pool.read(&pdf(CONTENT, ""), LONG).unwrap());
}

fn process_id(pool: &Pool) -> String {
    pool.read(b"who", LONG).unwrap().text
}

#[test]
fn a_child_that_hangs_is_killed() {
    let pool = pool(&["testing"]);
    let before = process_id(&pool);
    assert_eq!(process_id(&pool), before, "a child is used again");
    let time = Duration::from_millis(300);
    assert!(matches!(pool.read(b"hang", time), Err(PdfError::TooSlow(_))));
    assert_ne!(process_id(&pool), before);
}

#[test]
fn a_child_that_takes_too_much_is_ended_by_the_kernel() {
    let pool = pool(&["testing"]);
    let before = process_id(&pool);
    for file in [b"spin".as_slice(), b"eat"] {
        let ended = pool.read(file, LONG).unwrap_err();
        assert!(matches!(ended, PdfError::Crashed(_)), "{ended}");
    }
    assert_ne!(process_id(&pool), before);
}

#[test]
fn a_child_that_crashes_is_replaced_and_one_that_panics_is_kept() {
    let pool = pool(&["testing"]);
    let before = process_id(&pool);
    assert!(matches!(pool.read(b"panic", LONG), Err(PdfError::Unreadable(_))));
    assert_eq!(process_id(&pool), before);
    let crashed = pool.read(b"abort", LONG).unwrap_err();
    assert!(crashed.to_string().contains("signal: 6"), "{crashed}");
    assert_ne!(process_id(&pool), before);
}

#[test]
fn a_program_that_cannot_be_started_is_said() {
    let settings = PoolSettings {
        program: "/nonexistent/program".into(),
        arguments: Vec::new(),
        children: 1,
        files_per_child: 3,
    };
    let error = Pool::new(settings).read(b"x", LONG).unwrap_err();
    assert!(
        matches!(error, PdfError::NotStarted(_)) && error.to_string().contains("/nonexistent/program"),
        "{error}"
    );
}

#[test]
fn two_threads_share_one_child() {
    let pool = Arc::new(pool(&["testing"]));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let pool = Arc::clone(&pool);
            std::thread::spawn(move || process_id(&pool))
        })
        .collect();
    for thread in threads {
        assert!(thread.join().unwrap().starts_with("process "));
    }
    assert!(matches!(pool.read(b"hang", Duration::from_millis(100)), Err(PdfError::TooSlow(_))));
}
