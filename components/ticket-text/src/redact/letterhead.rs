//! Names above addresses, and before them on their line.

use std::ops::Range;
use std::sync::LazyLock;

use crate::lists::letterhead;

use super::PiiKind;
use super::forms::{Forms, captures, compiled};
use super::names;

/// Maximum number of bytes of a line with a name.
const LONGEST_LINE: usize = 120;

static FORMS: Forms = LazyLock::new(|| compiled(letterhead::FORMS));

/// Returns the names directly above one of the `addresses` that begins its line, or before it on its line.
pub(super) fn find(text: &str, addresses: &[(Range<usize>, PiiKind)]) -> Vec<(Range<usize>, PiiKind)> {
    let names = addresses.iter().filter_map(|(address, _)| above(text, address.start));
    names.map(|range| (range, PiiKind::Name)).collect()
}

fn above(text: &str, address: usize) -> Option<Range<usize>> {
    let before = text.get(..address)?;
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let same = text.get(line..address)?;
    if !same.trim().is_empty() {
        return same.trim_end().ends_with(',').then(|| name(same, line)).flatten();
    }
    let (start, upper) = line_above(text, line)?;
    // A "care of" line may be between name and address.
    let guest = upper.trim_start().to_lowercase().starts_with("c/o");
    let (start, upper) = if guest { line_above(text, start)? } else { (start, upper) };
    name(upper, start)
}

/// Returns the line before the one that begins at byte `line`, with its start.
fn line_above(text: &str, line: usize) -> Option<(usize, &str)> {
    let upper = text.get(..line.checked_sub(1)?)?;
    let start = upper.rfind('\n').map_or(0, |end| end + 1);
    Some((start, upper.get(start..)?))
}

/// Returns the range of the name that `line` is, which begins at byte `start` of the text.
fn name(line: &str, start: usize) -> Option<Range<usize>> {
    let short = Some(line).filter(|line| line.len() <= LONGEST_LINE)?;
    let name = captures(&FORMS, short.trim_end_matches('\r')).next()?.name("name")?;
    let lower = name.as_str().to_lowercase();
    let mut words = lower.split_whitespace();
    let begins = words.clone().next().is_some_and(|first| letterhead::BEGINNINGS.contains(&first));
    let other = words.any(|word| {
        letterhead::WORDS.contains(&word) || letterhead::ENDINGS.iter().any(|end| word.ends_with(end))
    });
    (!begins && !other && !names::is_not_name(name.as_str()))
        .then(|| start + name.start()..start + name.end())
}
