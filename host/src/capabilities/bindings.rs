//! Bindings of the interfaces that are Bulkhead's own or not in wasmtime-wasi.

#![allow(missing_docs)]

wasmtime::component::bindgen!({
    path: ["../wit/deps/logging", "../wit/deps/config", "../wit/host"],
    world: "bulkhead:host/all",
    imports: {
        default: trappable,
        "bulkhead:host/pow": async | trappable,
        "bulkhead:host/ledger": async | trappable,
        "bulkhead:host/embeddings": async | trappable,
        "bulkhead:host/search": async | trappable,
        "bulkhead:host/llm": async | trappable,
        "bulkhead:host/guard": async | trappable,
    },
});
