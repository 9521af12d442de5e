//! A site of one's own: whatever it answers is up to the test.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// Responds to each request with the result of a function of its path.
pub(crate) struct Site {
    /// With the slash at its end.
    pub(crate) front: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// `answer` gets the path and the site's own origin; `None` is a 404.
    pub(crate) fn new(answer: impl Fn(&str, &str) -> Option<String> + Send + 'static) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let site = Site { front: format!("{origin}/"), asked: Arc::clone(&asked) };
        std::thread::spawn(move || {
            let mut first_byte = [0];
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                // The first byte of a TLS handshake: it speaks plain HTTP only, and does not wait for the rest.
                if stream.peek(&mut first_byte).is_ok_and(|read| read == 1) && first_byte == [0x16] {
                    continue;
                }
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                let answer = answer(&path, &origin).unwrap_or_else(|| status("404 Not Found", ""));
                asked.lock().unwrap().push(path);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        site
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{}", self.front, path.trim_start_matches('/'))
    }

    /// How often a path was requested.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}

/// An answer without a body, with these headers besides.
pub(crate) fn status(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n")
}

pub(crate) fn body(content_type: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{headers}Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

pub(crate) fn page(content: &str) -> String {
    body("text/html", "", content)
}
