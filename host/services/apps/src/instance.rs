//! An instance of the world of apps.

use wasmtime_wasi_http::p2::bindings::Proxy;

/// An instance of `wasi:http/proxy`.
pub struct AppInstance(pub(crate) Proxy);
