//! What the host does with what a guest gives in answer to a request.

use std::sync::Arc;

use axum::http::{Response, StatusCode};
use bulkhead_runtime::invoke::{EndedCall, Outcome};
use http_body::Body as _;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

use crate::{
    compared::BodyRecord,
    progress::{CallProgress, Head},
    response::{self, GuestBody},
};

/// A response that is passed on, or the reason why there is no such response.
pub(crate) type Received = Result<Response<GuestBody>, NotPassedOn>;

/// Why a guest's response is not passed on.
pub(crate) enum NotPassedOn {
    /// It is refused. Its body is kept until the call ends so: a guest that can no longer write may trap.
    Refused(HyperOutgoingBody),
    /// The guest has given an error in its place.
    GuestError,
}

/// How a response is passed on.
#[derive(Clone, Copy)]
pub(crate) struct Passing {
    /// Whether the request is one whose response has no body.
    pub(crate) is_head: bool,
    /// Whether the body is compared with that of another version.
    pub(crate) is_compared: bool,
    /// Most bytes of the body.
    pub(crate) limit: usize,
}

impl Passing {
    /// Returns whether the client gets the body of a response with this status.
    pub(crate) fn has_body(self, status: StatusCode) -> bool {
        !self.is_head && !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
    }

    /// Receives what a guest gives, and has the call end if it is refused.
    pub(crate) fn receive(self, head: Head, progress: Arc<CallProgress>) -> Received {
        let Ok(response) = head else { return Err(NotPassedOn::GuestError) };
        let (parts, body) = response.into_parts();
        let has_body = self.has_body(parts.status);
        // The length of a body that is left out is that of another request's.
        let declared = response::declared_length(&parts.headers).filter(|_| has_body);
        let refusal = if parts.status.is_informational() {
            Some(bad_answer("its response has a status of 100 to 199"))
        } else if body.is_end_stream() && declared.is_some_and(|length| length > 0) {
            Some(bad_answer("its response declares a length and has no body"))
        } else {
            declared.filter(|length| *length > self.limit as u64).map(|_| response::too_large(self.limit))
        };
        if let Some(refusal) = refusal {
            progress.refuse(refusal);
            return Err(NotPassedOn::Refused(body));
        }
        let record = self.is_compared.then(|| BodyRecord::of(&parts.headers));
        let mut body = GuestBody::new(body, progress, self.limit, declared).recorded(record);
        body.read_ahead();
        Ok(Response::from_parts(parts, body))
    }
}

fn bad_answer(reason: &str) -> EndedCall {
    EndedCall { outcome: Outcome::BadAnswer, reason: reason.to_owned(), key: None }
}
