//! `GET /docs`: the description as a page.

use std::sync::Arc;

use axum::{extract::State, response::Response};

use super::{EmbeddingState, openapi};
use crate::http::docs;

/// Answers the page.
pub async fn page(State(state): State<Arc<EmbeddingState>>) -> Response {
    docs::page(&openapi::describe(&state.path_prefix, !state.keys.is_empty()))
}
