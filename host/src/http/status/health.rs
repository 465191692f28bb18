//! `GET healthcheck/`: one line of text for anybody.

use std::{sync::Arc, time::SystemTime};

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use hyper::ext::ReasonPhrase;

use super::{StatusState, typed};
use crate::services::status::{CallError, Level};

const TEXT: &str = "text/plain; charset=utf-8";

/// 200 while nothing is worse than a warning.
pub async fn healthcheck(State(state): State<Arc<StatusState>>) -> Response {
    let (well, text) = match state.service.health().await {
        Ok(verdict) => (matches!(verdict.level, Level::Ok | Level::Warning), verdict.text),
        // Nothing of what the host knows beyond that is for anonymous callers.
        Err(CallError::Unknown) => (false, "FATAL - the figures of the database are not known".to_owned()),
        Err(_) => (false, "FATAL - the status component does not answer".to_owned()),
    };
    let status = if well { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    let mut response = typed(status, TEXT, text);
    if !well {
        response.extensions_mut().insert(ReasonPhrase::from_static(b"The Server is in a bad condition."));
    }
    if let Ok(now) = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())) {
        response.headers_mut().insert(header::EXPIRES, now.clone());
        response.headers_mut().insert(header::LAST_MODIFIED, now);
    }
    response
}
