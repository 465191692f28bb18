//! Measures redaction on texts with known personal data.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use bulkhead_ticket_text::redact::redact;
use serde_json::Value;

/// What redaction found in a set of texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Recall {
    /// Values that are replaced whole, and all values, by kind.
    kinds: BTreeMap<String, (usize, usize)>,
    /// Texts without personal data that are changed.
    changed: usize,
    /// Texts without personal data.
    harmless: usize,
}

/// Prints a line a kind, and one for the texts that are changed.
impl Display for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, (found, all)) in &self.kinds {
            writeln!(f, "{kind}: {found} of {all}")?;
        }
        writeln!(f, "changed without need: {} of {}", self.changed, self.harmless)
    }
}

/// Measures redaction on `set`, a JSON object a line: `{"text", "secrets": [{"value", "kind"}]}`. A value counts as
/// found if nothing of it stays but the spaces and commas between its parts.
///
/// # Errors
///
/// Fails on a line in another form, with its number.
pub(super) fn recall(set: &str) -> Result<Recall, String> {
    let mut recall = Recall::default();
    for (number, line) in set.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        add(&mut recall, line).ok_or_else(|| format!("line {} is no text with its secrets", number + 1))?;
    }
    Ok(recall)
}

fn add(recall: &mut Recall, line: &str) -> Option<()> {
    let line: Value = serde_json::from_str(line).ok()?;
    let text = line.get("text")?.as_str()?;
    let secrets = line.get("secrets")?.as_array()?;
    let kept = kept(text);
    if secrets.is_empty() {
        recall.harmless += 1;
        recall.changed += usize::from(kept.contains(&false));
    }
    for secret in secrets {
        let (value, kind) = (secret.get("value")?.as_str()?, secret.get("kind")?.as_str()?);
        let stays = |(start, _): (usize, &str)| {
            let signs = value.bytes().zip(kept.get(start..).unwrap_or_default());
            signs.filter(|(sign, kept)| **kept && !b" ,".contains(sign)).count() > 0
        };
        let (found, all) = recall.kinds.entry(kind.to_owned()).or_default();
        *found += usize::from(!text.match_indices(value).any(stays));
        *all += 1;
    }
    Some(())
}

/// Returns whether each byte of `text` stays.
fn kept(text: &str) -> Vec<bool> {
    let redacted = redact(text);
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = redacted.text();
    while let Some(first) = rest.chars().next() {
        let token = redacted.originals().find(|(token, _)| rest.starts_with(token));
        let (written, read, stays) = match token {
            Some((token, original)) => (token.len(), original.len(), false),
            None => (first.len_utf8(), first.len_utf8(), true),
        };
        kept.extend(std::iter::repeat_n(stays, read));
        rest = rest.get(written..).unwrap_or_default();
    }
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::super::SET;
    use super::*;

    /// Least number of names of the project's own set that are replaced whole, of 22.
    const NAMES: usize = 21;

    #[test]
    fn own_set_keeps_its_recall() {
        let recall = recall(SET).unwrap();
        let (names, all) = recall.kinds["name"];
        assert!(names >= NAMES && all == 22, "{recall:?}");
        let missed: Vec<_> =
            recall.kinds.iter().filter(|(kind, (found, all))| *kind != "name" && found < all).collect();
        assert!(missed.is_empty(), "{missed:?}");
        assert_eq!((recall.changed, recall.harmless), (0, 16), "{recall:?}");
    }

    #[test]
    fn value_in_part_is_not_found() {
        let line =
            r#"{"text": "Ich bin Eva Brandt.", "secrets": [{"value": "bin Eva Brandt", "kind": "name"}]}"#;
        assert_eq!(recall(line).unwrap().kinds["name"], (0, 1));
        assert_eq!(recall(line).unwrap().to_string(), "name: 0 of 1\nchanged without need: 0 of 0\n");
        assert_eq!(recall("\n{}").unwrap_err(), "line 2 is no text with its secrets");
    }
}
