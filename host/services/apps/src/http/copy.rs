//! Copies of requests, which a candidate in shadow gets.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderName, Method, Request},
};
use bulkhead_runtime::{
    capabilities::StoreData,
    slots::{Slot, Trial},
};
use futures_util::future::BoxFuture;
use http_body::Body as _;
use wasmtime::Store;

use crate::{
    alone,
    call::{GuestAnswer, GuestFault},
    instance::AppInstance,
    progress::{CallProgress, TimeLimits},
    request::{GuestRequest, IncomingBody},
};

/// What a guest gives in answer to a copy.
type Copied = wasmtime::Result<Result<GuestAnswer, GuestFault>>;

/// Returns whether a request is copied: it only reads, has no body, and a candidate is in shadow.
pub(super) fn is_wanted(slot: &Slot<AppInstance>, method: &Method, body: &Body) -> bool {
    let is_read = method == Method::GET || method == Method::HEAD;
    is_read && body.is_end_stream() && matches!(slot.candidate(), Some((_, Trial::Shadow)))
}

/// Returns the call of a guest with a copy of a request, of whose response these fields are compared. Its outgoing requests are answered from the recording of the
/// live call.
pub(super) fn of(
    request: &GuestRequest,
    compared: &[HeaderName],
) -> impl for<'a> FnOnce(&'a AppInstance, &'a mut Store<StoreData>) -> BoxFuture<'a, Copied> + Send + use<> {
    let (method, uri, headers) = (request.method().clone(), request.uri().clone(), request.headers().clone());
    let compared = compared.to_vec();
    move |instance, store| {
        let (deadline, limit) = {
            let limits = &store.data().capabilities.settings.limits;
            (limits.deadline, limits.response_bytes)
        };
        let limits = TimeLimits { head: deadline, idle: deadline, whole: deadline };
        let progress = Arc::new(CallProgress::comparing(compared));
        let mut request = Request::new(IncomingBody::new(Body::empty(), 0, Arc::clone(&progress)));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Box::pin(alone::exchange(instance, store, request, progress, limits, limit))
    }
}
