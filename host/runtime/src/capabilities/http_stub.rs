//! Stubs of `wasi:http`, which the runtime of componentize-js imports whether its program calls it or not: every function
//! traps. A slot that is granted an interface has that instead.

use wasmtime::{
    bail,
    component::{LinkerInstance, ResourceType},
};

use super::{StoreData, Stub};

const VERSION: &str = "0.2.12";

/// What requests and responses are made of.
pub(super) const TYPES: Stub = Stub {
    name: "wasi:http/types",
    version: VERSION,
    add_to_linker: |instance| {
        for name in RESOURCES {
            // No function makes one, so that none is dropped.
            instance.resource(name, ResourceType::host::<Nothing>(), |_, _| Ok(()))?;
        }
        trapping(instance, FUNCTIONS)
    },
};

/// Requests to other servers.
pub(super) const OUTGOING_HANDLER: Stub = Stub {
    name: "wasi:http/outgoing-handler",
    version: VERSION,
    add_to_linker: |instance| trapping(instance, &["handle"]),
};

/// Behind each handle, of which there are none.
enum Nothing {}

/// Adds functions that trap.
fn trapping(
    instance: &mut LinkerInstance<'_, StoreData>,
    functions: &[&'static str],
) -> wasmtime::Result<()> {
    for name in functions.iter().copied() {
        instance.func_new(name, move |_, _, _, _| {
            bail!("the component calls {name} of wasi:http, which its slot is not granted")
        })?;
    }
    Ok(())
}

const RESOURCES: &[&str] = &[
    "fields",
    "incoming-request",
    "outgoing-request",
    "request-options",
    "response-outparam",
    "incoming-response",
    "incoming-body",
    "future-trailers",
    "outgoing-response",
    "outgoing-body",
    "future-incoming-response",
];

const FUNCTIONS: &[&str] = &[
    "[constructor]fields",
    "[static]fields.from-list",
    "[method]fields.get",
    "[method]fields.has",
    "[method]fields.set",
    "[method]fields.delete",
    "[method]fields.append",
    "[method]fields.entries",
    "[method]fields.clone",
    "[method]incoming-request.method",
    "[method]incoming-request.path-with-query",
    "[method]incoming-request.scheme",
    "[method]incoming-request.authority",
    "[method]incoming-request.headers",
    "[method]incoming-request.consume",
    "[constructor]outgoing-request",
    "[method]outgoing-request.body",
    "[method]outgoing-request.method",
    "[method]outgoing-request.set-method",
    "[method]outgoing-request.path-with-query",
    "[method]outgoing-request.set-path-with-query",
    "[method]outgoing-request.scheme",
    "[method]outgoing-request.set-scheme",
    "[method]outgoing-request.authority",
    "[method]outgoing-request.set-authority",
    "[method]outgoing-request.headers",
    "[constructor]request-options",
    "[method]request-options.connect-timeout",
    "[method]request-options.set-connect-timeout",
    "[method]request-options.first-byte-timeout",
    "[method]request-options.set-first-byte-timeout",
    "[method]request-options.between-bytes-timeout",
    "[method]request-options.set-between-bytes-timeout",
    "[static]response-outparam.set",
    "[method]incoming-response.status",
    "[method]incoming-response.headers",
    "[method]incoming-response.consume",
    "[method]incoming-body.stream",
    "[static]incoming-body.finish",
    "[method]future-trailers.subscribe",
    "[method]future-trailers.get",
    "[constructor]outgoing-response",
    "[method]outgoing-response.status-code",
    "[method]outgoing-response.set-status-code",
    "[method]outgoing-response.headers",
    "[method]outgoing-response.body",
    "[method]outgoing-body.write",
    "[static]outgoing-body.finish",
    "[method]future-incoming-response.subscribe",
    "[method]future-incoming-response.get",
    "http-error-code",
];
