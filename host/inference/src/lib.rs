//! Text embedding on the CPU, without an async runtime and without WebAssembly.
//!
//! Layers; each uses only the layers below it:
//!
//! - `engine`: many callers, few threads
//! - `head`: from vectors to the probabilities of classes
//! - `model`: one loaded model of either family, from text to vectors
//! - `onnx`: graphs of any kind, run by a runtime of their own
//! - `encoder`, `static_model`: the two families, from token ids to vectors
//! - `late_interaction`: vectors of a text's words
//! - `decimals`: vectors as JSON
//! - `pooling`: from token vectors to a text's vector
//! - `folder`, `tensors`, `tensor_shape`, `atomic_file`, `progress`, `error`: a model's files
//!
//! From text to token ids is the crate `bulkhead-tokenizers`, what follows an encoder is `bulkhead-heads`, and matrix
//! products for each instruction set are `bulkhead-kernels`. Where models come from, and how they become folders, is
//! `bulkhead-sources`, which uses this crate.

pub mod atomic_file;
pub mod decimals;
pub mod encoder;
pub mod engine;
pub mod error;
pub mod folder;
pub mod head;
pub mod late_interaction;
pub mod model;
pub mod onnx;
pub mod pooling;
pub mod progress;
pub mod static_model;
pub mod tensor_shape;
pub mod tensors;
#[cfg(test)]
#[path = "../tokenizers/src/toys/wordpiece.rs"]
mod toy_tokenizer;

/// The kernels that an encoder is opened with.
pub use bulkhead_kernels as kernels;
/// The tokenizers that a model is opened with, and their tokens.
pub use bulkhead_tokenizers as tokenizer;
