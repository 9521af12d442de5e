//! `/health`, `/ready` and `/metrics`. `/health` returns 200 while the process works, even if other servers are down: a
//! restart would not help. `/ready` returns 200 while the process does its work.

use crate::error::ApiError;
use crate::metrics;
use argiope_service::control::ControlErrorKind;
use argiope_service::health::Vitals;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use std::sync::Arc;

/// Returns the state of the process; called for each request.
pub type VitalsSource = Arc<dyn Fn() -> Vitals + Send + Sync>;

pub(crate) fn routes(source: VitalsSource) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(source)
}

async fn health(State(source): State<VitalsSource>) -> Response {
    Json(source().health()).into_response()
}

async fn ready(State(source): State<VitalsSource>) -> Response {
    let readiness = source().readiness();
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness)).into_response()
}

async fn metrics(State(source): State<VitalsSource>) -> Response {
    match metrics::exposition(source()) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => ApiError::new(ControlErrorKind::Internal, error.to_string()).into_response(),
    }
}
