//! Outgoing requests of apps: who sends them, and the refusal where nobody does.

use std::{fmt, sync::Arc};

use axum::http::{Request, Response};
use bulkhead_runtime::capabilities::SlotResources;
use futures_util::future::BoxFuture;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// Sends the outgoing requests of a slot's guests, as far as the slot is granted them.
pub trait OutgoingHandler: fmt::Debug + Send + Sync + 'static {
    /// Sends a request, whose URI is absolute, and returns the answer of the origin, redirects included. Errors are given to
    /// the guest, which decides what it does about them.
    fn send(
        &self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>>;
}

/// The handler of a slot: a value in its resources. Without one, every request is refused.
#[derive(Clone, Debug)]
pub struct Outgoing(pub Arc<dyn OutgoingHandler>);

/// Sends a request of a slot's guest, or refuses it with a line in the slot's log.
pub(crate) fn send(
    resources: &SlotResources,
    request: Request<WasiBody>,
    options: Option<RequestOptions>,
) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
    if let Some(Outgoing(handler)) = resources.get::<Outgoing>() {
        return handler.send(request, options);
    }
    let slot = resources.slot.as_str();
    let text = format!("an outgoing request was refused; allow its origin with apps.{slot}.outgoing");
    if resources.diagnoses.take(text.len()) {
        tracing::warn!(slot, "{text}");
        resources.recent.add("warn", "", "outgoing".to_owned(), text);
    }
    Box::pin(async { Err(Error::HttpRequestDenied) })
}
