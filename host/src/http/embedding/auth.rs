//! `Authorization: Bearer` for everything but health, metrics and documentation.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{EmbeddingState, error::ApiError};

/// Middleware: turns away who has none of the keys.
pub async fn admit(State(state): State<Arc<EmbeddingState>>, request: Request, next: Next) -> Response {
    if state.keys.is_empty() || bearer(request.headers()).is_some_and(|token| state.keys.holds(token)) {
        return next.run(request).await;
    }
    ApiError::unauthorized().into_response()
}

/// The token of the only `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn token(lines: &[&str]) -> Option<String> {
        let lines = lines.iter().map(|line| (header::AUTHORIZATION, line.parse().unwrap()));
        bearer(&HeaderMap::from_iter(lines)).map(str::to_owned)
    }

    #[test]
    fn the_scheme_s_case_and_space_around_the_token_do_not_matter() {
        for line in ["Bearer key", "bearer key", "BEARER   key \t"] {
            assert_eq!(token(&[line]).as_deref(), Some("key"), "{line}");
        }
    }

    #[test]
    fn anything_else_is_no_token() {
        for lines in [&["Basic key"][..], &["key"], &["Bearer"], &["Bearer "], &[]] {
            assert_eq!(token(lines), None, "{lines:?}");
        }
        let mut twice = HeaderMap::new();
        twice.append(header::AUTHORIZATION, "Bearer a".parse().unwrap());
        twice.append(header::AUTHORIZATION, "Bearer a".parse().unwrap());
        assert_eq!(bearer(&twice), None);
    }
}
