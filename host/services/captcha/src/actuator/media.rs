//! Which JSON a client gets: the same body under three media types.

use axum::{
    http::{
        HeaderMap, Uri,
        header::{ACCEPT, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use bulkhead_telemetry::accept::negotiate;
use serde_json::Value;

use super::problem::Problem;

/// JSON media types, the default first.
pub(super) const JSON: [&str; 3] = [
    "application/vnd.spring-boot.actuator.v3+json",
    "application/vnd.spring-boot.actuator.v2+json",
    "application/json",
];

/// The media type among `offers` that a request asks for; 406 when it accepts none.
pub(super) fn pick(headers: &HeaderMap, uri: &Uri, offers: &[&'static str]) -> Result<&'static str, Problem> {
    let wishes: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    negotiate(Some(&wishes.join(",")), offers).ok_or_else(|| Problem::not_acceptable(uri, offers))
}

/// A JSON body under the type that a request asks for.
pub(super) fn json(headers: &HeaderMap, uri: &Uri, body: &Value) -> Result<Response, Problem> {
    Ok(typed(pick(headers, uri, &JSON)?, body.to_string()))
}

/// A body under a media type.
pub(super) fn typed(media_type: &'static str, body: String) -> Response {
    ([(CONTENT_TYPE, media_type)], body).into_response()
}
