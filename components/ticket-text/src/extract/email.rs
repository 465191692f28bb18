//! E-mail addresses as people write them, a subset of RFC 5322.

use super::Reading;

/// Maximum number of bytes of an address (RFC 5321).
const LONGEST: usize = 254;

/// Returns the first address in `text`, in lower case.
pub fn first(text: &str) -> Option<String> {
    find(text).into_iter().next().map(|(_, value)| value)
}

pub(super) fn find(text: &str) -> Vec<Reading> {
    text.match_indices('@').filter_map(|(at, _)| around(text, at)).collect()
}

fn around(text: &str, at: usize) -> Option<Reading> {
    let (before, after) = (text.get(..at)?, text.get(at + 1..)?);
    let local = before.chars().rev().take_while(|letter| in_local(*letter));
    let length: usize = local.map(char::len_utf8).sum();
    let domain =
        after.find(|letter: char| !letter.is_alphanumeric() && !".-".contains(letter)).unwrap_or(after.len());
    let domain = after.get(..domain)?.trim_end_matches(['.', '-']);
    let (_, top) = domain.rsplit_once('.')?;
    let well_formed = domain.split('.').all(|label| !label.is_empty() && !label.starts_with('-'))
        && top.chars().count() >= 2
        && top.chars().all(char::is_alphabetic);
    let range = at - length..at + 1 + domain.len();
    let local = text.get(range.start..at)?.trim_start_matches(['.', '-', '+', '%']);
    let range = at - local.len()..range.end;
    let address = text.get(range.clone())?;
    (well_formed && !local.is_empty() && address.len() <= LONGEST).then(|| (range, address.to_lowercase()))
}

/// Returns whether a letter of any language (RFC 6531) may be in the local part, also as two characters: half an
/// address could be another person's.
fn in_local(letter: char) -> bool {
    letter.is_alphanumeric() || "._%+-".contains(letter) || ('\u{300}'..='\u{36f}').contains(&letter)
}
