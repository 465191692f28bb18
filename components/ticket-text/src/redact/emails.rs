//! Patterns of e-mail addresses, also in spellings that hide them from machines.

use std::ops::Range;
use std::sync::LazyLock;

use super::forms::{Forms, compiled, matches};
use crate::lists::emails;

static FORMS: Forms = LazyLock::new(|| compiled(emails::FORMS));
/// Forms that are compiled only for texts with a sign of one of them.
static RARE: Forms = LazyLock::new(|| compiled(emails::RARE));

pub(super) fn find(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_rare = emails::RARE_SIGNS.iter().any(|sign| text.contains(sign));
    matches(&FORMS, text).chain(is_rare.then(|| matches(&RARE, text)).into_iter().flatten())
}
