//! Bindings of the interfaces that the host offers to every service and that are not in wasmtime-wasi.

#![allow(missing_docs)]

wasmtime::component::bindgen!({
    path: "../../wit/host",
    world: "bulkhead:host/all",
    imports: {
        default: trappable,
        "bulkhead:host/embeddings": async | trappable,
        "bulkhead:host/llm": async | trappable,
        "bulkhead:host/guard": async | trappable,
        "bulkhead:host/rerank": async | trappable,
    },
});
