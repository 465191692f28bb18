//! What guests may ask of models: `wasi:nn`, `bulkhead:host/embeddings` and `bulkhead:host/rerank`.

mod call;
pub mod embeddings;
pub mod nn;
pub mod rerank;
