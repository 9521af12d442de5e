//! The routes that control a process which crawls.

use crate::error::ApiError;
use argiope_model::{JobId, JobSpec};
use argiope_service::control::{Control, ControlError, ControlErrorKind, RetryRequest};
use argiope_service::job_request::JobRequest;
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use std::sync::Arc;

/// A seed list is sent in pieces smaller than this.
const LONGEST_BODY: usize = 32 << 20;

type Crawl = Arc<dyn Control>;

/// The API of a process that crawls.
pub(crate) fn routes(crawl: Crawl) -> Router {
    Router::new()
        .route("/api/status", get(status))
        .route("/api/jobs", post(submit))
        .route("/api/jobs/{job}", delete(delete_job))
        .route("/api/jobs/{job}/seeds", post(add_seeds))
        .route("/api/jobs/{job}/start", post(start))
        .route("/api/jobs/{job}/pause", post(pause))
        .route("/api/jobs/{job}/resume", post(resume))
        .route("/api/jobs/{job}/stop", post(stop))
        .route("/api/jobs/{job}/cancel", post(cancel))
        .route("/api/jobs/{job}/spec", post(change))
        .route("/api/jobs/{job}/retry", post(retry))
        .route("/api/jobs/{job}/why", post(why))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .with_state(crawl)
}

/// A JSON body; an invalid one gives a normal API error.
struct Body<T>(T);

impl<S: Send + Sync, T> FromRequest<S> for Body<T>
where
    Json<T>: FromRequest<S, Rejection = JsonRejection>,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Body<T>, ApiError> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(value)) => Ok(Body(value)),
            Err(rejection) => Err(ApiError::new(ControlErrorKind::Invalid, rejection.body_text())),
        }
    }
}

type Answer<T> = Result<Json<T>, ApiError>;

/// Calls the service on a thread that may block.
async fn call<T: Send + 'static>(
    crawl: Crawl,
    call: impl FnOnce(&dyn Control) -> Result<T, ControlError> + Send + 'static,
) -> Answer<T> {
    match tokio::task::spawn_blocking(move || call(crawl.as_ref())).await {
        Ok(done) => done.map(Json).map_err(ApiError::from),
        Err(error) => Err(ApiError::new(ControlErrorKind::Internal, error.to_string())),
    }
}

async fn status(State(crawl): State<Crawl>) -> Response {
    call(crawl, |crawl| crawl.status()).await.into_response()
}

async fn submit(State(crawl): State<Crawl>, Body(request): Body<JobRequest>) -> Response {
    call(crawl, |crawl| crawl.submit(request)).await.into_response()
}

async fn add_seeds(
    State(crawl): State<Crawl>,
    Path(job): Path<JobId>,
    Body(seeds): Body<Vec<String>>,
) -> Response {
    call(crawl, move |crawl| crawl.add_seeds(job, seeds)).await.into_response()
}

async fn start(State(crawl): State<Crawl>, Path(job): Path<JobId>) -> Response {
    call(crawl, move |crawl| crawl.start(job)).await.into_response()
}

async fn pause(State(crawl): State<Crawl>, Path(job): Path<JobId>) -> Response {
    call(crawl, move |crawl| crawl.pause(job)).await.into_response()
}

async fn resume(State(crawl): State<Crawl>, Path(job): Path<JobId>) -> Response {
    call(crawl, move |crawl| crawl.resume(job)).await.into_response()
}

async fn stop(State(crawl): State<Crawl>, Path(job): Path<JobId>) -> Response {
    call(crawl, move |crawl| crawl.stop(job)).await.into_response()
}

async fn cancel(State(crawl): State<Crawl>, Path(job): Path<JobId>) -> Response {
    call(crawl, move |crawl| crawl.cancel(job)).await.into_response()
}

async fn delete_job(State(crawl): State<Crawl>, Path(job): Path<JobId>) -> Response {
    call(crawl, move |crawl| crawl.delete(job)).await.into_response()
}

async fn change(State(crawl): State<Crawl>, Path(job): Path<JobId>, Body(spec): Body<JobSpec>) -> Response {
    call(crawl, move |crawl| crawl.change(job, spec)).await.into_response()
}

async fn retry(
    State(crawl): State<Crawl>,
    Path(job): Path<JobId>,
    Body(wanted): Body<RetryRequest>,
) -> Response {
    call(crawl, move |crawl| crawl.retry(job, wanted)).await.into_response()
}

async fn why(State(crawl): State<Crawl>, Path(job): Path<JobId>, Body(url): Body<String>) -> Response {
    call(crawl, move |crawl| crawl.why(job, &url)).await.into_response()
}
