//! What a worker serves over HTTP: `/health` and `/metrics`.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

pub(crate) fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// The response as received; empty without a listener.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut text = String::new();
    let Ok(mut stream) = TcpStream::connect(address) else { return text };
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    match stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut text)) {
        Ok(_) => text,
        Err(_) => String::new(),
    }
}

pub(crate) fn health(address: &str) -> Value {
    let text = get(address, "/health");
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).unwrap_or(Value::Null)
}

/// The current value of a worker's metric.
pub(crate) fn metric(address: &str, name: &str) -> Option<u64> {
    let text = get(address, "/metrics");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|number| number.trim().parse().ok())
}

/// Whether health and metrics of the worker both report this server as up.
pub(crate) fn is_up(address: &str, server: &str) -> Option<bool> {
    let up = health(address)["dependencies"][server]["up"].as_bool()?;
    let metric = metric(address, &format!("argiope_dependency_up{{name=\"{server}\"}}"))?;
    (metric == u64::from(up)).then_some(up)
}
