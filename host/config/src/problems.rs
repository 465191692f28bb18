//! Holds the problems of a configuration, each with the origin of its value.

use std::{fmt, sync::Arc};

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A line of the configuration file.
    File {
        /// The file as it was named.
        name: Arc<str>,
        /// Its line, from 1; 0 means the file as a whole.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A command line flag.
    Flag(String),
    /// Nowhere: the default holds.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line: 0 } => f.write_str(name),
            Self::File { name, line } => write!(f, "{name} line {line}"),
            Self::Environment(name) | Self::Flag(name) => f.write_str(name),
            Self::Default => f.write_str("defaults"),
        }
    }
}

/// How the problem of a key begins that no host of these services has.
pub(crate) const UNKNOWN_KEY: &str = "unknown key";

/// A problem to fix, or a warning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where it was written.
    pub origin: Origin,
    /// The key in TOML's dotted form; empty when no single key is meant.
    pub key: String,
    /// What is wrong and how to fix it; never contains a secret.
    pub text: String,
}

impl Problem {
    /// Makes a problem of one key.
    pub fn new(origin: Origin, key: impl Into<String>, text: impl Into<String>) -> Self {
        Self { origin, key: key.into(), text: text.into() }
    }

    /// Returns whether no host of these services has the key, whatever its value is.
    pub fn is_unknown_key(&self) -> bool {
        self.text.starts_with(UNKNOWN_KEY)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, key, text } = self;
        if key.is_empty() { write!(f, "{origin}: {text}") } else { write!(f, "{origin}: {key}: {text}") }
    }
}

/// Every problem of a configuration, sorted by file and line; printed one per line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Sorts the problems and removes duplicates.
    pub fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self(problems)
    }

    /// Iterates over the problems in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{problem}")?;
        }
        Ok(())
    }
}
