//! Patterns of British addresses.

use std::ops::Range;
use std::sync::LazyLock;

use crate::lists::british;

use super::forms::{Forms, captures, compiled};

static FORMS: Forms = LazyLock::new(|| compiled(british::FORMS));

pub(super) fn find(text: &str) -> impl Iterator<Item = Range<usize>> {
    captures(&FORMS, text).filter_map(|captures| {
        let unnamed = captures
            .name("name")
            .is_some_and(|name| name.as_str().split(' ').any(|word| british::UNNAMED.contains(&word)));
        let other = captures.name("town").is_some()
            && captures.name("inward").is_some_and(|inward| british::OTHERS.contains(&inward.as_str()));
        captures.name("place").filter(|_| !other && !unnamed).map(|place| place.range())
    })
}
