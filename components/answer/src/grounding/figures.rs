//! What nobody may make up: amounts, dates, times, numbers of any kind, and addresses.

use std::collections::BTreeSet;

/// Words for numbers, which count as the numbers they stand for.
const NUMBERS: &[(&str, &str)] = &[
    ("zwei", "2"),
    ("drei", "3"),
    ("vier", "4"),
    ("fünf", "5"),
    ("sechs", "6"),
    ("sieben", "7"),
    ("acht", "8"),
    ("neun", "9"),
    ("zehn", "10"),
    ("elf", "11"),
    ("zwölf", "12"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("eleven", "11"),
    ("twelve", "12"),
];

/// The figures and addresses of `text`, each in one way of writing.
pub fn figures(text: &str) -> BTreeSet<String> {
    text.split_whitespace().filter_map(figure).collect()
}

fn figure(word: &str) -> Option<String> {
    let word = word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
    if word.contains('@') || word.contains("://") || has_domain(&word) {
        return Some(word);
    }
    if let Some((_, digits)) = NUMBERS.iter().find(|(name, _)| *name == word) {
        return Some((*digits).to_owned());
    }
    if !word.chars().any(char::is_numeric) {
        return None;
    }
    // 70,00 and 70.00 are 70; 1.200 stays as it is, for nobody knows whose thousands they are.
    let digits: String = word.chars().filter(|sign| sign.is_numeric() || ".,:/-".contains(*sign)).collect();
    let digits = digits.trim_matches(|sign: char| !sign.is_numeric()).replace(',', ".");
    Some(digits.strip_suffix(".00").unwrap_or(&digits).to_owned())
}

/// Whether a part of `word` looks like a domain: labels with dots between, the last one of letters. `z.B.` does not.
fn has_domain(word: &str) -> bool {
    word.split(|sign: char| !sign.is_alphanumeric() && sign != '.' && sign != '-').any(|part| {
        let Some((name, last)) = part.trim_matches('.').rsplit_once('.') else { return false };
        let top = last.chars().count() >= 2 && last.chars().all(char::is_alphabetic);
        top && name.split('.').all(|label| !label.is_empty()) && name.chars().count() >= 2
    })
}
