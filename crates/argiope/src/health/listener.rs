//! The sockets behind `/health`, `/ready` and `/metrics`: one thread, one request a connection. Whoever keeps
//! connections open gets them closed, the oldest first, so that a probe is never kept waiting by others.

use super::request::{self, LONGEST_HEAD};
use super::{Answer, Vitals, answer};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(super) const MOST_CONNECTIONS: usize = 64;
/// For all of a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is read of a body that nobody asked for, so that closing does not cut the answer off.
const LONGEST_REST: u64 = 64 << 10;
/// Until a connection can be accepted again, when the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) type Source = dyn Fn() -> Vitals + Send + Sync;

/// Until `stopped` is told, or its other end is gone.
pub(super) async fn listen(
    listener: std::net::TcpListener,
    vitals: Arc<Source>,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    tokio::select! {
        _ = stopped => Ok(()),
        never = accept(listener, vitals) => never,
    }
}

async fn accept(listener: TcpListener, vitals: Arc<Source>) -> io::Result<()> {
    let mut open: VecDeque<JoinHandle<()>> = VecDeque::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= MOST_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let vitals = Arc::clone(&vitals);
        open.push_back(tokio::spawn(async move {
            // A client that hangs up or takes too long is its own problem.
            let _ = tokio::time::timeout(PATIENCE, exchange(stream, &*vitals)).await;
        }));
    }
}

async fn exchange(mut stream: TcpStream, vitals: &Source) -> io::Result<()> {
    let head = read_head(&mut stream).await?;
    let (answer, wants_body) = match &head {
        Some(head) => match request::read(head) {
            Ok(request) => (answer(request.path, &vitals), request.wants_body),
            Err(refusal) => (refusal, true),
        },
        None => (Answer::error(431, "request header fields too large", "8 KiB at most"), true),
    };
    stream.write_all(&written(&answer, wants_body)).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(LONGEST_REST), &mut tokio::io::sink()).await?;
    Ok(())
}

/// `None` if it is too long.
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::with_capacity(512);
    while !request::is_complete(&head) {
        if head.len() >= LONGEST_HEAD {
            return Ok(None);
        }
        let room = (LONGEST_HEAD - head.len()) as u64;
        if (&mut *stream).take(room).read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(head))
}

fn written(answer: &Answer, wants_body: bool) -> Vec<u8> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    let allow = if answer.status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let mut bytes = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{allow}Cache-Control: no-store\r\n\
         Connection: close\r\n\r\n",
        answer.status,
        answer.content_type,
        answer.body.len(),
    )
    .into_bytes();
    if wants_body {
        bytes.extend_from_slice(answer.body.as_bytes());
    }
    bytes
}
