//! Closing phrases of a letter, the signature below them, and disclaimers.

use super::begins;
use crate::{abbreviations::is_abbreviated, language::is_frequent, lists::closing};

/// Minimum number of words of a sentence.
const LEAST_WORDS: usize = 3;
/// Minimum number of lower-case words, other than links, of a sentence without a stop: a verb and its object.
const LEAST_LOWER: usize = 2;
/// Maximum number of characters of the name after a closing phrase on its line.
const LONGEST_NAME: usize = 40;
/// Maximum number of words of a line that phones and mail services add.
const LONGEST_ADVERTISEMENT: usize = 10;
/// Maximum number of words before the greeting of a closing phrase: "Mit vielen sonnigen Grüßen".
const LONGEST_GREETING: usize = 3;
/// Maximum number of lines of a signature; a longer rest with a sentence is text.
const LONGEST_SIGNATURE: usize = 14;

/// Returns the closing phrases.
pub fn closings() -> &'static [&'static str] {
    closing::PHRASES
}

/// Returns `text` up to its closing phrase; postscripts stay, up to an empty line.
pub(super) fn remove(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if let Some(start) =
        lines.iter().position(|line| any_begins(closing::DISCLAIMERS, line)).filter(|start| *start > 0)
    {
        lines.truncate(start);
    }
    let is_alone = |at: usize| lines.get(at + 1).is_none_or(|next| next.trim().is_empty());
    let lines: Vec<&str> = lines
        .iter()
        .enumerate()
        .filter(|(at, line)| !(is_advertisement(line) && is_alone(*at)))
        .map(|(_, line)| *line)
        .collect();
    let last_sentence = lines.iter().rposition(|line| is_sentence(line)).unwrap_or_default();
    let end = lines.iter().enumerate().position(|(at, line)| {
        let after = || lines.get(at + 1..).unwrap_or_default();
        (at > 0 || is_delimiter(line))
            && (lines.len() - at <= LONGEST_SIGNATURE || last_sentence <= at)
            && (ends(line) || (is_closing(line) && !continues_after_thanks(line, after())))
    });
    let (body, rest) = lines.split_at(end.unwrap_or(lines.len()));
    let mut continues = false;
    let afterwords = rest.iter().copied().filter(|line| {
        continues = is_afterword(line) || (continues && !line.is_empty() && !is_delimiter(line));
        continues
    });
    let mut kept: Vec<&str> = body.iter().copied().chain(afterwords).collect();
    if end.is_none()
        && let Some(last) = kept.last_mut()
    {
        *last = without_closing(last);
    }
    kept.join("\n")
}

fn any_begins(starts: &[&str], line: &str) -> bool {
    let line = line.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    starts.iter().any(|start| begins(line, start))
}

fn is_afterword(line: &str) -> bool {
    closing::AFTERWORDS.iter().any(|word| {
        let next = line.chars().nth(word.chars().count());
        begins(line, word) && next.is_none_or(|next| !next.is_alphanumeric())
    })
}

/// Returns whether `text` begins with the delimiter of a signature.
pub(super) fn is_signature(text: &str) -> bool {
    text.lines().next().is_some_and(is_delimiter)
}

fn is_delimiter(line: &str) -> bool {
    line.trim_end() == "--"
}

/// Returns whether a line is one that phones and mail services add, without regard to its links. Names have few of the words
/// that sentences have: "Von meinem Vermieter wurde ein Brief gesendet" is a sender's.
fn is_advertisement(line: &str) -> bool {
    let bare = line.split('<').map(|part| part.split_once('>').map_or(part, |(_, after)| after));
    let bare = bare.flat_map(str::split_whitespace).collect::<Vec<_>>();
    if bare.is_empty() || bare.len() > LONGEST_ADVERTISEMENT {
        return false;
    }
    let bare = bare.join(" ");
    let bare = bare.trim_end_matches('.');
    closing::ADVERTISEMENTS.iter().any(|form| match form.split_once('…') {
        Some((start, end)) => {
            let (count, [start_count, end_count]) =
                (bare.chars().count(), [start, end].map(|part| part.chars().count()));
            let name = || bare.chars().skip(start_count).take(count - start_count - end_count);
            begins(bare, start)
                && bare.to_lowercase().ends_with(&end.to_lowercase())
                && count > start_count + end_count
                && !name().collect::<String>().split_whitespace().any(is_function_word)
        }
        None => begins(bare, form) && begins(form, bare),
    })
}

/// Returns whether a word is an article, a pronoun, an auxiliary verb or the like, and no link in a name.
fn is_function_word(word: &str) -> bool {
    is_frequent(word) && !closing::LINKS.contains(&word)
}

/// Returns whether only a signature can follow `line`.
fn ends(line: &str) -> bool {
    is_delimiter(line) || (is_closing(line) && !any_begins(closing::THANKS, line))
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
        line.char_indices().nth(words.chars().count()).is_none_or(|(at, _)| ends_phrase(line, at))
    }) || greeting(line).is_some_and(|at| ends_phrase(line, at))
}

/// Returns whether nothing but a name follows a closing phrase that ends at byte `at` of `line`.
fn ends_phrase(line: &str, at: usize) -> bool {
    // Read no more of a long line than shows that it is too long: each of its sentences comes here with everything
    // after it.
    let mut rest = line.get(at..).unwrap_or_default().chars().peekable();
    let whole = !rest.peek().copied().is_some_and(char::is_alphanumeric);
    whole && rest.nth(LONGEST_NAME).is_none() && !line.contains('?')
}

/// Returns where a greeting of the sender's own words ends: "Sonnige Grüße", "Mit summenden Grüßen".
fn greeting(line: &str) -> Option<usize> {
    // Each sentence of a long line comes here with everything after it.
    let most = (LONGEST_GREETING + 1) * LONGEST_NAME;
    let line = line.char_indices().nth(most).and_then(|(at, _)| line.get(..at)).unwrap_or(line);
    let mut end = 0;
    for word in line.split(' ').take(LONGEST_GREETING + 1) {
        let bare = word.trim_end_matches([',', '.', '!']);
        if closing::GREETINGS.contains(&bare) {
            return (end > 0).then_some(end + bare.len());
        }
        let describes = closing::BEFORE_GREETINGS.contains(&bare.to_lowercase().as_str())
            || closing::ADJECTIVES.iter().any(|ending| bare.ends_with(ending));
        if !describes || bare.len() < word.len() {
            return None;
        }
        end += word.len() + 1;
    }
    None
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
