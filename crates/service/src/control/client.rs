//! The API of the process that owns a data directory, over the Unix socket in that directory.

use super::{AcceptedJob, Control, ControlError, ControlErrorKind, JobControl, Retried, RetryRequest};
use crate::directory::socket_path;
use crate::job_request::JobRequest;
use argiope_engine::{Status, Why};
use argiope_model::{JobId, JobSpec};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixStream;

/// The status needs no work; it shows whether the owner responds.
const STATUS_LIMIT: Duration = Duration::from_secs(4);
/// For most requests.
const REQUEST_LIMIT: Duration = Duration::from_secs(70);
/// Requests that read all pages of a job, or wait for its requests in flight.
const LONG_LIMIT: Duration = Duration::from_secs(310);
/// No response is longer.
const LONGEST_RESPONSE: usize = 16 << 20;

#[derive(Clone, Debug)]
pub struct OwnerClient {
    socket: PathBuf,
}

impl OwnerClient {
    /// For the owner of a data directory, if one is listening there.
    pub fn connect(directory: &Path) -> Option<OwnerClient> {
        let socket = socket_path(directory);
        std::os::unix::net::UnixStream::connect(&socket).ok().map(|_| OwnerClient { socket })
    }

    fn get<R: DeserializeOwned>(&self, path: &str, limit: Duration) -> Result<R, ControlError> {
        self.request(Method::GET, path, Bytes::new(), limit)
    }

    fn post<R: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<R, ControlError> {
        let body = serde_json::to_vec(body)
            .map_err(|error| ControlError::new(ControlErrorKind::Internal, error.to_string()))?;
        self.request(Method::POST, path, body.into(), limit)
    }

    fn command(&self, job: JobId, command: &str) -> Result<(), ControlError> {
        self.post(&format!("/api/jobs/{job}/{command}"), &(), REQUEST_LIMIT)
    }

    fn request<R: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        limit: Duration,
    ) -> Result<R, ControlError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| ControlError::new(ControlErrorKind::Internal, error.to_string()))?;
        runtime.block_on(async {
            match tokio::time::timeout(limit, exchange(&self.socket, method, path, body)).await {
                Ok(answered) => answered,
                Err(_) => Err(unavailable(format!("no response within {} s", limit.as_secs()))),
            }
        })
    }
}

async fn exchange<R: DeserializeOwned>(
    socket: &Path,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<R, ControlError> {
    let failed = |error: &dyn std::error::Error| unavailable(error.to_string());
    let stream = UnixStream::connect(socket).await.map_err(|error| failed(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|error| failed(&error))?;
    let response = sender.send_request(request).await.map_err(|error| failed(&error))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), LONGEST_RESPONSE)
        .collect()
        .await
        .map_err(|error| unavailable(error.to_string()))?
        .to_bytes();
    read(status, &body)
}

fn read<R: DeserializeOwned>(status: StatusCode, body: &[u8]) -> Result<R, ControlError> {
    if !status.is_success() {
        return Err(serde_json::from_slice(body).unwrap_or_else(|_| {
            ControlError::new(ControlErrorKind::Internal, format!("the owner's response is {status}"))
        }));
    }
    let body: &[u8] = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(body).map_err(|error| {
        ControlError::new(ControlErrorKind::Internal, format!("the owner's response cannot be read: {error}"))
            .hint("is it another version of argiope?")
    })
}

fn unavailable(detail: impl Into<String>) -> ControlError {
    ControlError::new(ControlErrorKind::Unavailable, detail)
}

impl JobControl for OwnerClient {
    fn pause(&self, job: JobId) -> Result<(), ControlError> {
        self.command(job, "pause")
    }

    fn resume(&self, job: JobId) -> Result<(), ControlError> {
        self.command(job, "resume")
    }

    fn cancel(&self, job: JobId) -> Result<(), ControlError> {
        self.command(job, "cancel")
    }

    fn delete(&self, job: JobId) -> Result<(), ControlError> {
        self.request(Method::DELETE, &format!("/api/jobs/{job}"), Bytes::new(), LONG_LIMIT)
    }

    fn change(&self, job: JobId, spec: JobSpec) -> Result<(), ControlError> {
        self.post(&format!("/api/jobs/{job}/spec"), &spec, REQUEST_LIMIT)
    }
}

impl Control for OwnerClient {
    fn status(&self) -> Result<Status, ControlError> {
        self.get("/api/status", STATUS_LIMIT)
    }

    fn submit(&self, request: JobRequest) -> Result<AcceptedJob, ControlError> {
        self.post("/api/jobs", &request, REQUEST_LIMIT)
    }

    fn add_seeds(&self, job: JobId, seeds: Vec<String>) -> Result<(), ControlError> {
        self.post(&format!("/api/jobs/{job}/seeds"), &seeds, REQUEST_LIMIT)
    }

    fn start(&self, job: JobId) -> Result<(), ControlError> {
        self.post(&format!("/api/jobs/{job}/start"), &(), LONG_LIMIT)
    }

    fn stop(&self, job: JobId) -> Result<(), ControlError> {
        self.command(job, "stop")
    }

    fn retry(&self, job: JobId, wanted: RetryRequest) -> Result<Retried, ControlError> {
        self.post(&format!("/api/jobs/{job}/retry"), &wanted, LONG_LIMIT)
    }

    fn why(&self, job: JobId, url: &str) -> Result<Why, ControlError> {
        self.post(&format!("/api/jobs/{job}/why"), &url, REQUEST_LIMIT)
    }
}
