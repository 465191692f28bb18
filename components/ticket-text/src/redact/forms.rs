//! Regular expressions of personal data, compiled when first used.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Regular expressions from the lists.
pub(super) type Forms = LazyLock<Vec<Regex>>;

/// Compiles `forms`. A test says which do not compile.
pub(super) fn compiled(forms: &[&str]) -> Vec<Regex> {
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
}

/// Returns what the `forms` match in `text`.
pub(super) fn matches(forms: &'static [Regex], text: &str) -> impl Iterator<Item = Range<usize>> {
    forms.iter().flat_map(move |form| form.find_iter(text)).map(|found| found.range())
}

/// Returns the matches of `forms` in `text` with their groups.
pub(super) fn captures<'t>(forms: &'static [Regex], text: &'t str) -> impl Iterator<Item = Captures<'t>> {
    forms.iter().flat_map(move |form| form.captures_iter(text))
}

/// Returns the group `found` of the matches of `forms` in `text`.
pub(super) fn found(forms: &'static [Regex], text: &str) -> impl Iterator<Item = Range<usize>> {
    captures(forms, text).filter_map(|captures| Some(captures.name("found")?.range()))
}
