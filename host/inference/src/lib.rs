//! Text embedding on the CPU, without an async runtime and without WebAssembly.
//!
//! Layers, each using only what stands below it:
//!
//! - `model`: one loaded model of either family, from text to vectors
//! - `encoder`, `static_model`: the two families, from token ids to vectors
//! - `source`, `convert`, `catalog`: where models come from, and how they become folders
//! - `tokenizer`: from text to token ids
//! - `workers`: threads that encode units of work
//! - `packed`: an encoder's weights, quantised and laid out, in one mapped file
//! - `kernels`: matrix products for each instruction set
//! - `folder`, `tensors`, `progress`, `error`: a model's files

pub mod convert;
pub mod error;
pub mod folder;
pub mod progress;
pub mod static_model;
pub mod tensors;
pub mod tokenizer;
//! - `pooling`: from token vectors to a text's vector
//! - `folder`, `tensors`, `error`: a model's files

pub mod encoder;
pub mod error;
pub mod folder;
pub mod kernels;
mod packed;
pub mod pooling;
pub mod tensors;
pub mod workers;
