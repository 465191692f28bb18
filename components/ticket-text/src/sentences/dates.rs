//! Ends of sentences after a date, whose point may belong to the date.

use crate::lists::sentences::BEGINNINGS;

/// Returns whether a point between `before`, which ends with a digit, and `after` ends a sentence: that of "am
/// 20.11.2026. Der Antrag" and of "am 20.11. Bitte" does, that of "am 3. Mai" and "am 20.11. Montag" does not.
pub(super) fn ends_sentence(before: &str, after: &str) -> bool {
    let after = after.trim_start();
    if !after.starts_with(char::is_uppercase) {
        return false;
    }
    let rest = before.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let figures: Vec<&str> = before.get(rest.len()..).unwrap_or_default().split('.').take(4).collect();
    match figures.as_slice() {
        [day, month, year] => is_day(day) && is_day(month) && (year.len() == 2 || is_year(year)),
        // "3. Mai 2026"
        [year] => is_year(year),
        [day, month] => {
            let word = after.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').next();
            is_day(day) && is_day(month) && word.is_some_and(|word| BEGINNINGS.contains(&word))
        }
        _ => false,
    }
}

fn is_day(figures: &str) -> bool {
    matches!(figures.len(), 1..=2)
}

fn is_year(figures: &str) -> bool {
    figures.len() == 4 && (figures.starts_with("19") || figures.starts_with("20"))
}
