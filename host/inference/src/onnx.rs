//! ONNX models of any kind, as an operator configured them: named tensors in, named tensors out.
//!
//! The runtime calculates with f32, i32 and u8; it reads a model's 64-bit integers as 32 bits.

#[cfg(feature = "onnx")]
mod runtime;
#[cfg(all(test, feature = "onnx"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use std::path::Path;

use crate::error::LoadError;

/// Numbers of some shape, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Sizes of the dimensions; their product is the length of the numbers.
    pub shape: Vec<usize>,
    /// The numbers.
    pub numbers: Numbers,
}

/// Numbers that the runtime knows.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// f32.
    Floats(Vec<f32>),
    /// i32.
    Integers(Vec<i32>),
    /// u8.
    Bytes(Vec<u8>),
}

/// Why a graph has no output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OnnxError {
    /// An input that the graph does not take, or not so.
    #[error("{0}")]
    Input(String),
    /// Running it failed; the text is for the log.
    #[error("the graph failed: {0}")]
    Run(String),
}

/// A loaded graph.
pub struct OnnxGraph {
    #[cfg(feature = "onnx")]
    runtime: runtime::Runtime,
}

impl std::fmt::Debug for OnnxGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnnxGraph").finish_non_exhaustive()
    }
}

#[cfg(feature = "onnx")]
impl OnnxGraph {
    /// Loads an `.onnx` file, to run on `threads` threads of its own; 0 for one a processor.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or holds what the runtime does not know; the message names it.
    pub fn load(path: &Path, threads: usize) -> Result<Self, LoadError> {
        Ok(Self { runtime: runtime::Runtime::load(path, threads)? })
    }

    /// Runs the graph. All of its outputs are given, by name.
    ///
    /// # Errors
    ///
    /// When inputs are missing, unknown or of another shape or type, or a part of the graph fails.
    pub fn run(&self, inputs: Vec<(String, Value)>) -> Result<Vec<(String, Value)>, OnnxError> {
        self.runtime.run(inputs)
    }
}

#[cfg(not(feature = "onnx"))]
impl OnnxGraph {
    /// Fails, as this build has no runtime.
    ///
    /// # Errors
    ///
    /// Always; the message says how to build a runtime in.
    pub fn load(path: &Path, _threads: usize) -> Result<Self, LoadError> {
        Err(LoadError::malformed(path, "this build runs no ONNX graphs; build it with the feature `onnx`"))
    }

    /// Fails, as no graph can be loaded.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn run(&self, _inputs: Vec<(String, Value)>) -> Result<Vec<(String, Value)>, OnnxError> {
        Err(OnnxError::Run("this build runs no ONNX graphs".to_owned()))
    }
}
