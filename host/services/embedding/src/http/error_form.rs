//! Puts errors into the form that the clients of a route read: OpenAI's on its routes, else text-embeddings-inference's
//! members beside the code.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use bulkhead_http::error::HostError;

use super::{EmbeddingState, error::EmbeddingApiError};

/// Rewrites the body of an error.
pub fn shape(state: &EmbeddingState, is_openai: bool, mut response: Response) -> Response {
    let extensions = response.extensions_mut();
    let own = extensions.remove::<EmbeddingApiError>();
    let Some(error) = own.or_else(|| extensions.get::<HostError>().map(|error| (*error).into())) else {
        return response;
    };
    let body = if is_openai { error.nested() } else { error.flat(state.error_form) };
    *response.body_mut() = Json(body).into_response().into_body();
    response
}

/// Checks whether a path is one of OpenAI's, at the root or below `/tei/{model_id}`.
pub fn is_openai(path: &str) -> bool {
    let below = path.strip_prefix("/tei/").and_then(|rest| rest.get(rest.find('/')?..));
    let path = below.unwrap_or(path);
    path.starts_with("/v1/") || path == "/embeddings"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_openai_are_recognised() {
        for path in ["/v1/embeddings", "/v1/models/a", "/embeddings", "/tei/a/v1/embeddings", "/v1/nothing"] {
            assert!(is_openai(path), "{path}");
        }
        for path in ["/", "/embed", "/v1", "/tei/v1/embed", "/tei/v1", "/tei/a/embed", "/tei/embeddings"] {
            assert!(!is_openai(path), "{path}");
        }
    }
}
