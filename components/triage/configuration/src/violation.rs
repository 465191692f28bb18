//! Violations of a configuration, with path and line.

use std::fmt;

/// Something to correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Line of the file, from 1; `None` if unknown.
    pub line: Option<usize>,
    /// Its path, such as `action_rules[0].conditions[2].field`; empty for the whole configuration.
    pub path: String,
    /// The problem.
    pub text: String,
}

impl Violation {
    /// Creates a violation at `path`.
    pub fn at(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { line: None, path: path.into(), text: text.into() }
    }

    /// Returns whether one of the two paths is equal to, or inside, the other.
    pub fn touches(&self, other: &Self) -> bool {
        holds(&self.path, &other.path) || holds(&other.path, &self.path)
    }
}

fn holds(outer: &str, inner: &str) -> bool {
    let below = inner.strip_prefix(outer);
    outer.is_empty() || below.is_some_and(|below| below.is_empty() || below.starts_with(['.', '[']))
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.text)
    }
}

/// All violations of a configuration, one a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid(pub Vec<Violation>);

impl Invalid {
    /// Creates a single violation of the whole configuration.
    pub fn whole(text: impl Into<String>) -> Self {
        Self(vec![Violation::at("", text)])
    }

    /// Returns the violations with their lines, sorted; `line` maps a path to its line.
    #[must_use]
    pub fn located(mut self, line: impl Fn(&str) -> Option<usize>) -> Self {
        for violation in &mut self.0 {
            violation.line = violation.line.or_else(|| line(&violation.path));
        }
        self.0.sort_by_key(|violation| violation.line);
        self
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid triage configuration:")?;
        self.0.iter().try_for_each(|violation| write!(f, "\n- {violation}"))
    }
}

impl std::error::Error for Invalid {}
