//! `wasi:http/types` and `wasi:http/outgoing-handler`, from wasmtime-wasi-http.

use std::{future::Future, ops::RangeInclusive, sync::Arc};

use axum::http::{Request, Response};
use bulkhead_runtime::capabilities::{
    Access::{Read, Write},
    CallState, Capability, Interface, ShadowMode, SlotResources, StoreData,
};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
    p2::bindings::http::{outgoing_handler, types},
};

use crate::{outgoing, recording};

/// The least and the most bytes that the host keeps behind a handle.
const HANDLE_BYTES: RangeInclusive<usize> = 8 << 10..=64 << 10;

/// Pieces of a body that a guest writes before it waits for the host to read them. A guest that waits is woken again, and its
/// call becomes a task of its own. Most writes are `blocking-write-and-flush`, which takes 4 KiB: a response of 12 KiB needs
/// no wait.
const PIECES: usize = 3;

/// What the host keeps behind one handle of a guest at most, bytes: a set of header or trailer fields, or half of the pieces
/// of a body. The table around fields is not counted: it takes up to three times as much again where the fields are short. A
/// value in a slot's resources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandleBytes(usize);

impl HandleBytes {
    /// Returns the share of a call's memory that each of its handles may have. All together take no more than the memory of
    /// the call once again, unless the least share is too much.
    pub(crate) fn share(memory_bytes: usize, handles: usize) -> Self {
        let share = memory_bytes.checked_div(handles).unwrap_or_default();
        Self(share.clamp(*HANDLE_BYTES.start(), *HANDLE_BYTES.end()))
    }
}

/// `wasi:http`, for the components of apps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HttpCapability;

impl Capability for HttpCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[TYPES, OUTGOING_HANDLER]
    }
}

/// Requests, responses, fields and bodies.
const TYPES: Interface = Interface {
    name: "wasi:http/types",
    version: "0.2.12",
    is_general: false,
    functions: &[
        ("http-error-code", Read),
        ("[constructor]fields", Read),
        ("[static]fields.from-list", Read),
        ("[method]fields.get", Read),
        ("[method]fields.has", Read),
        ("[method]fields.set", Read),
        ("[method]fields.delete", Read),
        ("[method]fields.append", Read),
        ("[method]fields.entries", Read),
        ("[method]fields.clone", Read),
        ("[method]incoming-request.method", Read),
        ("[method]incoming-request.path-with-query", Read),
        ("[method]incoming-request.scheme", Read),
        ("[method]incoming-request.authority", Read),
        ("[method]incoming-request.headers", Read),
        ("[method]incoming-request.consume", Read),
        ("[constructor]outgoing-request", Read),
        ("[method]outgoing-request.body", Read),
        ("[method]outgoing-request.method", Read),
        ("[method]outgoing-request.set-method", Read),
        ("[method]outgoing-request.path-with-query", Read),
        ("[method]outgoing-request.set-path-with-query", Read),
        ("[method]outgoing-request.scheme", Read),
        ("[method]outgoing-request.set-scheme", Read),
        ("[method]outgoing-request.authority", Read),
        ("[method]outgoing-request.set-authority", Read),
        ("[method]outgoing-request.headers", Read),
        ("[constructor]request-options", Read),
        ("[method]request-options.connect-timeout", Read),
        ("[method]request-options.set-connect-timeout", Read),
        ("[method]request-options.first-byte-timeout", Read),
        ("[method]request-options.set-first-byte-timeout", Read),
        ("[method]request-options.between-bytes-timeout", Read),
        ("[method]request-options.set-between-bytes-timeout", Read),
        ("[static]response-outparam.set", Read),
        ("[method]incoming-response.status", Read),
        ("[method]incoming-response.headers", Read),
        ("[method]incoming-response.consume", Read),
        ("[method]incoming-body.stream", Read),
        ("[static]incoming-body.finish", Read),
        ("[method]future-trailers.subscribe", Read),
        ("[method]future-trailers.get", Read),
        ("[constructor]outgoing-response", Read),
        ("[method]outgoing-response.status-code", Read),
        ("[method]outgoing-response.set-status-code", Read),
        ("[method]outgoing-response.headers", Read),
        ("[method]outgoing-response.body", Read),
        ("[method]outgoing-body.write", Read),
        ("[static]outgoing-body.finish", Read),
        ("[method]future-incoming-response.subscribe", Read),
        ("[method]future-incoming-response.get", Read),
    ],
    add_to_linker: |instance| {
        let stable = types::LinkOptions::default();
        types::add_to_linker_instance::<_, WasiHttp>(instance, &stable, view)
    },
};

/// Outgoing requests.
const OUTGOING_HANDLER: Interface = Interface {
    name: "wasi:http/outgoing-handler",
    version: "0.2.12",
    is_general: false,
    functions: &[("handle", Write)],
    add_to_linker: |instance| outgoing_handler::add_to_linker_instance::<_, WasiHttp>(instance, view),
};

/// The state of `wasi:http` in a store.
pub(crate) struct HttpState {
    context: WasiHttpCtx,
    pub(crate) hooks: HttpHooks,
}

impl CallState for HttpState {
    fn new(resources: &Arc<SlotResources>) -> Self {
        let mut context = WasiHttpCtx::new();
        let handle_bytes = resources.get::<HandleBytes>().map_or(*HANDLE_BYTES.start(), |share| share.0);
        context.set_field_size_limit(handle_bytes);
        Self { context, hooks: HttpHooks::new(resources, handle_bytes) }
    }
}

/// Returns the state of `wasi:http` in a store, and the table of the guest's handles.
pub(crate) fn view(guest: &mut StoreData) -> WasiHttpCtxView<'_> {
    let shadow = guest.capabilities.shadow.clone();
    let (HttpState { context, hooks }, table) = guest.capabilities.state_and_table::<HttpState>();
    hooks.shadow = shadow;
    WasiHttpCtxView { ctx: context, table, hooks }
}

/// What the host decides about the HTTP of a guest.
pub(crate) struct HttpHooks {
    resources: Arc<SlotResources>,
    /// The bytes of [`HandleBytes`].
    handle_bytes: usize,
    /// The part of the call in shadowing. A probe is a copy for which nothing is recorded.
    shadow: ShadowMode,
    /// Whether requests are sent although nothing else may change.
    pub(crate) may_send: bool,
}

impl HttpHooks {
    fn new(resources: &Arc<SlotResources>, handle_bytes: usize) -> Self {
        Self { resources: Arc::clone(resources), handle_bytes, shadow: ShadowMode::Off, may_send: false }
    }
}

/// The rest of an exchange after its answer has begun.
type Exchanged = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for HttpHooks {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Exchanged,
    ) -> Box<dyn Future<Output = Result<(Response<WasiBody>, Exchanged), Error>> + Send> {
        let shadow = self.shadow.clone();
        let key = recording::key(&shadow, &request);
        if matches!(shadow, ShadowMode::Replay(_)) && !self.may_send {
            let response = recording::replayed(&shadow, key).ok_or(Error::HttpRequestDenied);
            let rest: Exchanged = Box::new(async move {
                recording::drain(request.into_body()).await;
                Ok(())
            });
            return Box::new(async move { response.map(|response| (response, rest)) });
        }
        let sent = outgoing::send(Arc::clone(&self.resources), request, options);
        Box::new(async move {
            let response = recording::recorded(shadow, key, sent.await?);
            let rest: Exchanged = Box::new(async { Ok(()) });
            Ok((response, rest))
        })
    }

    fn p2_outgoing_body_buffer_chunks(&mut self) -> usize {
        PIECES
    }

    /// All pieces together, with the one that a guest writes before it waits, have twice the bytes of a handle.
    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        2 * self.handle_bytes / (PIECES + 1)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_config::slots::SlotId;
    use bulkhead_runtime::capabilities::general;
    use wasmtime::{Engine, component::Linker};

    use super::*;
    use crate::spec;

    #[test]
    fn share_of_handle_has_bounds() {
        for (memory_bytes, handles, share) in [
            (1 << 20, 1000, 8 << 10),
            (16 << 20, 1024, 16 << 10),
            (64 << 20, 1000, 64 << 10),
            (1, 0, 8 << 10),
        ] {
            assert_eq!(HandleBytes::share(memory_bytes, handles).0, share, "{memory_bytes} / {handles}");
        }
    }

    #[test]
    fn interfaces_are_linked_without_a_grant() {
        let slot = spec::slot(SlotId::parse("shop").unwrap());
        let set = general().with(HttpCapability);
        set.add_to_linker(&mut Linker::new(&Engine::default()), &slot, &[]).unwrap();
        for name in ["wasi:http/types", "wasi:http/outgoing-handler", "wasi:io/poll"] {
            assert!(set.is_granted(set.find(name).unwrap(), &slot, &[]), "{name}");
        }
    }
}
