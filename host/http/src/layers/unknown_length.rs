//! Answers without a body whose length is not known: those to HEAD whose body would be streamed.

use std::convert::Infallible;

use axum::{
    body::{Body, Bytes},
    http::header::CONTENT_LENGTH,
    response::Response,
};
use futures_util::stream;

/// Marks an answer without a body, in its extensions, which gets no Content-Length. Each router on its way out takes an empty
/// body for one of length 0, and says so.
#[derive(Clone, Copy, Debug)]
pub struct UnknownLength;

/// Takes the length from an answer that is marked [`UnknownLength`].
pub(super) fn without_length(response: Response) -> Response {
    if response.extensions().get::<UnknownLength>().is_none() {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::from_stream(stream::empty::<Result<Bytes, Infallible>>()))
}
