//! Converts configurations of replaced services.

pub mod yaml;

/// Why a file could not be converted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{text}", if *line == 0 { String::new() } else { format!("line {line}: ") })]
pub struct ImportError {
    /// Its line, from 1; 0 means the file as a whole.
    pub line: usize,
    /// What is wrong and how to fix it.
    pub text: String,
}

impl ImportError {
    /// Makes an error of a line.
    pub fn at(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into() }
    }
}

/// A converted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The same settings in TOML.
    pub toml: String,
    /// What was not carried over or needs a look, one line each.
    pub notes: Vec<String>,
}
