//! Content negotiation: the same JSON body under three media types.

use axum::{
    http::{
        HeaderMap, Uri,
        header::{ACCEPT, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use bulkhead_telemetry::accept::negotiate;
use serde_json::Value;

use super::problem::ActuatorProblem;

/// The JSON media types, the default first.
pub(super) const JSON: [&str; 3] = [
    "application/vnd.spring-boot.actuator.v3+json",
    "application/vnd.spring-boot.actuator.v2+json",
    "application/json",
];

/// Returns the media type among `offers` that a request prefers, or 406 when it accepts none.
pub(super) fn select(
    headers: &HeaderMap,
    uri: &Uri,
    offers: &[&'static str],
) -> Result<&'static str, ActuatorProblem> {
    let accepted: Vec<&str> =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    negotiate(Some(&accepted.join(",")), offers).ok_or_else(|| ActuatorProblem::not_acceptable(uri, offers))
}

/// Responds with a JSON body under the type that a request prefers.
pub(super) fn json(headers: &HeaderMap, uri: &Uri, body: &Value) -> Result<Response, ActuatorProblem> {
    Ok(typed(select(headers, uri, &JSON)?, body.to_string()))
}

/// Responds with a body under a media type.
pub(super) fn typed(media_type: &'static str, body: String) -> Response {
    ([(CONTENT_TYPE, media_type)], body).into_response()
}
