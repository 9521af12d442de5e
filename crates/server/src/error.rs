//! Errors of the API: `{"error": KIND, "detail": TEXT}`.

use argiope_service::control::{ControlError, ControlErrorKind};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

pub(crate) struct ApiError(ControlError);

impl ApiError {
    pub(crate) fn new(kind: ControlErrorKind, detail: impl Into<String>) -> ApiError {
        ApiError(ControlError::new(kind, detail))
    }
}

impl From<ControlError> for ApiError {
    fn from(error: ControlError) -> ApiError {
        ApiError(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = match self.0.kind {
            ControlErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ControlErrorKind::NotFound => StatusCode::NOT_FOUND,
            ControlErrorKind::Conflict => StatusCode::CONFLICT,
            ControlErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ControlErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(self.0)).into_response()
    }
}

pub(crate) async fn unknown_path() -> ApiError {
    ApiError::new(ControlErrorKind::NotFound, "no such path")
}

pub(crate) async fn wrong_method() -> Response {
    let error = ApiError::new(ControlErrorKind::Invalid, "this path does not support that method");
    (StatusCode::METHOD_NOT_ALLOWED, error.into_response().into_body()).into_response()
}
