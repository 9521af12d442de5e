//! A child for `argiope_content::pdf::Pool`: reads PDF files. `pdf_child testing` does what the tests want to see survived, by
//! what the file says: `hang`, `spin`, `eat`, `abort`, `panic`.

use argiope_content::pdf::{ChildLimits, PdfContent, child_main, child_main_with};
use std::io::{Error, stdin, stdout};

fn main() -> Result<(), Error> {
    match std::env::args().nth(1).as_deref() {
        Some("testing") => {
            let limits = ChildLimits { cpu_seconds: 1, ..ChildLimits::default() };
            child_main_with(stdin().lock(), stdout().lock(), limits, misbehave)
        }
        _ => child_main(stdin().lock(), stdout().lock()),
    }
}

fn misbehave(file: &[u8]) -> Result<PdfContent, String> {
    match file {
        b"hang" => loop {
            std::thread::park();
        },
        b"spin" => loop {
            std::hint::spin_loop();
        },
        b"eat" => {
            let all: Vec<Vec<u8>> = (0..1024).map(|n| vec![n as u8; 1 << 20]).collect();
            Err(format!("had {} MB", all.len()))
        }
        b"abort" => std::process::abort(),
        #[allow(clippy::panic, reason = "that is what is to be survived")]
        b"panic" => panic!("as it was asked to"),
        _ => Ok(PdfContent { text: format!("process {}", std::process::id()), ..PdfContent::default() }),
    }
}
