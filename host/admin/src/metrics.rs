//! `GET /metrics`.

use axum::{
    extract::State,
    http::{
        HeaderMap,
        header::{ACCEPT, CONTENT_TYPE, VARY},
    },
    response::IntoResponse,
};

use super::AdminSources;

/// Returns all metrics in the format that the client prefers.
pub(super) async fn scrape(State(sources): State<AdminSources>, headers: HeaderMap) -> impl IntoResponse {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let (content_type, body) = (sources.metrics)(accept);
    ([(CONTENT_TYPE, content_type), (VARY, "accept")], body)
}
