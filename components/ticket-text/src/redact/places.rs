//! The nouns after "Am" and "Im" that are not streets despite a number, and the numbers that are not of houses.

use crate::calendar::is_month;
use crate::extract::last;
use crate::lists::places;

/// Number of letters of the longest unit.
const LONGEST_COUNTED: usize = 7;

/// Number of characters searched for words of a residence before an address.
const REACH: usize = 40;
/// Number of digits of a postcode.
const POSTCODE: usize = 5;

/// Returns whether `noun` and the number that `text` begins with are not an address, despite "Am" or the like before
/// them.
pub(super) fn is_elsewhere(noun: &str, text: &str) -> bool {
    let noun = noun.to_lowercase();
    places::WORDS.contains(&noun.as_str())
        || places::ENDINGS.iter().any(|end| noun.ends_with(end))
        || is_month(&noun)
        || is_no_house(text)
}

/// Returns whether an address may end before `behind`: at the end of the sentence or line, or before a town.
pub(super) fn ends_address(behind: &str) -> bool {
    let rest = behind.trim_start_matches([' ', '\t', '\u{a0}']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.chars().next().is_none_or(|next| "\r\n,.;:!?)(/\"“”–-".contains(next))
        || digits == POSTCODE
        || rest.starts_with("D-")
        || rest.starts_with("in ")
}

/// Returns whether the text `before` an address says that a person lives there.
pub(super) fn tells_of_residence(before: &str) -> bool {
    let near = last(before, REACH).to_lowercase();
    places::RESIDENCE.iter().any(|word| near.contains(word))
}

/// Returns whether the number that `text` begins with is a year, or continues as a house number cannot: "3,50",
/// "10:30", "3 Euro".
pub(super) fn is_no_house(text: &str) -> bool {
    let behind = text.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let number = text.get(..text.len() - behind.len()).unwrap_or_default();
    let is_none = number.starts_with('0');
    let is_year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    let fraction = behind.strip_prefix(['.', ',', ':']);
    is_none
        || is_year
        || fraction.is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
        || is_unit(behind)
}

/// Returns whether the number that `text` begins with is an amount: "9,80", "5 Euro". A postcode may follow the comma
/// of a house number at once.
pub(super) fn is_counted(text: &str) -> bool {
    let behind = text.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let fraction = behind.strip_prefix([',', '.', ':']).unwrap_or_default();
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    (1..POSTCODE).contains(&digits) || is_unit(behind)
}

fn is_unit(behind: &str) -> bool {
    let unit = behind.trim_start().chars().take(LONGEST_COUNTED).collect::<String>().to_lowercase();
    places::COUNTED.iter().any(|counted| unit.starts_with(counted))
}
