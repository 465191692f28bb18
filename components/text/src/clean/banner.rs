//! Notices that mail servers add to a mail: its sender is external, or writes for the first time.

use crate::{lists::banner, pairs::contains_any};

/// Number of characters from the start of a line within which a notice says what it is about.
const REACH: usize = 60;
/// Minimum number of signs of a rule around a notice.
const RULE: usize = 5;

/// Returns `text` without the notices of mail servers, and without the rules around them.
pub(super) fn remove(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut in_notice = false;
    for line in text.lines() {
        let lower = line.to_lowercase();
        // The rest of a notice of several lines.
        let continues = || in_notice && contains_any(&lower, banner::CONTINUATIONS);
        if is_notice(&lower) || continues() {
            in_notice = true;
            while kept.last().is_some_and(|last| is_rule(last)) {
                kept.pop();
            }
        } else if !(in_notice && is_rule(line)) {
            in_notice &= line.is_empty();
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// Returns whether a line in lower case is a notice. One speaks of a mail, says "ich" and "we" of nobody, and asks
/// nothing: "Der Lärm kommt von außerhalb der Siedlung" is a sender's.
fn is_notice(line: &str) -> bool {
    let reach = line.char_indices().nth(REACH).map_or(line.len(), |(at, _)| at);
    contains_any(line.get(..reach).unwrap_or_default(), banner::SIGNS)
        && contains_any(line, banner::ABOUT)
        && !line.contains('?')
        && !line.split(|sign: char| !sign.is_alphanumeric()).any(|word| banner::PERSONS.contains(&word))
}

fn is_rule(line: &str) -> bool {
    line.len() >= RULE && line.chars().all(|sign| "-_=*#~".contains(sign))
}
