//! Patterns of people's names in unambiguous positions.

use std::ops::Range;
use std::sync::LazyLock;

use bulkhead_text::clean;

use crate::lists::names;

use super::forms::{Forms, captures, compiled};
use super::{PiiKind, nobility};

static FORMS: Forms = LazyLock::new(|| {
    let mut closings = clean::closings().to_vec();
    closings.sort_by_key(|words| std::cmp::Reverse(words.len()));
    let is_greeting = |words: &&&str| {
        let lower = words.to_lowercase();
        !names::COURTS.contains(*words) && names::GREETINGS.iter().any(|part| lower.contains(part))
    };
    let greetings = closings.iter().filter(is_greeting).copied().collect::<Vec<_>>().join("|");
    let closings = closings.join("|");
    let whole = |form: &&str| form.replace("CLOSINGS", &closings).replace("GREETINGS", &greetings);
    let forms: Vec<String> = names::FORMS.iter().map(whole).collect();
    compiled(&forms.iter().map(String::as_str).collect::<Vec<_>>())
});

pub(super) fn find(text: &str) -> Vec<(Range<usize>, PiiKind)> {
    let names = captures(&FORMS, text).filter_map(|captures| {
        let name = captures.name("name").or_else(|| captures.name("signed"))?;
        let own = nobility::own(name.as_str());
        (!is_not_name(own)).then(|| (name.start()..name.start() + own.len(), PiiKind::Name))
    });
    names.collect()
}

/// Returns whether a word of `name` cannot be in a person's name.
pub(super) fn is_not_name(name: &str) -> bool {
    let mut words = name.split_whitespace();
    words.any(|word| {
        names::NOT_NAMES.contains(&word) || names::NOT_NAME_STARTS.iter().any(|start| word.starts_with(start))
    })
}
