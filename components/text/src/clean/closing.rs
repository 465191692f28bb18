//! Closing phrases of a letter, the signature below them, and disclaimers.

use super::begins;
use crate::{abbreviations::is_abbreviated, lists::closing};

/// Minimum number of words of a sentence.
const LEAST_WORDS: usize = 3;
/// Minimum number of lower-case words, other than links, of a sentence without a stop: a verb and its object.
const LEAST_LOWER: usize = 2;
/// Maximum number of characters of the name after a closing phrase on its line.
const LONGEST_NAME: usize = 40;
/// Maximum number of lines of a signature; a longer rest is text.
const LONGEST_SIGNATURE: usize = 14;

/// Returns the closing phrases.
pub fn closings() -> &'static [&'static str] {
    closing::PHRASES
}

/// Returns `text` up to its closing phrase; postscripts stay.
pub(super) fn remove(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if let Some(start) =
        lines.iter().position(|line| any_begins(closing::DISCLAIMERS, line)).filter(|start| *start > 0)
    {
        lines.truncate(start);
    }
    lines.retain(|line| !any_begins(closing::ADVERTISEMENTS, line));
    let end = lines.iter().enumerate().position(|(at, line)| {
        let after = || lines.get(at + 1..).unwrap_or_default();
        at > 0
            && lines.len() - at <= LONGEST_SIGNATURE
            && (ends(line) || (is_closing(line) && !continues_after_thanks(line, after())))
    });
    let (body, rest) = lines.split_at(end.unwrap_or(lines.len()));
    let afterwords = rest.iter().copied().filter(|line| is_afterword(line));
    let mut kept: Vec<&str> = body.iter().copied().chain(afterwords).collect();
    if end.is_none()
        && let Some(last) = kept.last_mut()
    {
        *last = without_closing(last);
    }
    kept.join("\n")
}

fn any_begins(starts: &[&str], line: &str) -> bool {
    starts.iter().any(|start| begins(line.trim_start(), start))
}

fn is_afterword(line: &str) -> bool {
    begins(line, "PS") || begins(line, "P.S.")
}

/// Returns whether only a signature can follow `line`.
fn ends(line: &str) -> bool {
    line.trim_end() == "--" || (is_closing(line) && !any_begins(closing::THANKS, line))
}

/// Returns whether the sender continues after the thanks in `line`, there or in the lines `after` it.
fn continues_after_thanks(line: &str, after: &[&str]) -> bool {
    let same = line.split(['.', '!']).skip(1);
    let after = after.iter().copied().take_while(|line| !ends(line)).filter(|line| !is_afterword(line));
    same.chain(after).any(is_sentence)
}

/// Returns whether a line is a question, has a stop, or has more than names, numbers and links.
fn is_sentence(line: &str) -> bool {
    let is_lower = |word: &&str| word.starts_with(char::is_lowercase) && !closing::LINKS.contains(word);
    let words = || line.split_whitespace();
    let stops = line.trim_end().strip_suffix(['.', '!']).is_some_and(|before| !is_abbreviated(before));
    line.contains('?')
        || (words().count() >= LEAST_WORDS && (stops || words().filter(is_lower).count() >= LEAST_LOWER))
}

/// Returns whether a line is a closing phrase with at most a name.
fn is_closing(line: &str) -> bool {
    let line = line.trim();
    closing::PHRASES.iter().filter(|words| begins(line, words)).any(|words| {
        // Read no more of a long line than shows that it is too long: each of its sentences comes here with
        // everything after it.
        let mut rest = line.chars().skip(words.chars().count()).peekable();
        let whole = !rest.peek().copied().is_some_and(char::is_alphanumeric);
        whole && rest.nth(LONGEST_NAME).is_none() && !line.contains('?')
    })
}

/// Returns the last line of a one-paragraph letter without its closing sentence.
fn without_closing(line: &str) -> &str {
    let ends = line.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    let starts = ends.filter_map(|end| Some((end, line.get(end..)?)));
    starts
        .into_iter()
        .find(|(_, last)| is_closing(last) && !continues_after_thanks(last, &[]))
        .and_then(|(end, _)| line.get(..end))
        .unwrap_or(line)
}
