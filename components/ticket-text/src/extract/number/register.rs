//! File numbers with spaces, as registers of courts and offices write them.

use crate::cursor::Cursor;

/// Maximum number of letters of a register mark: "BvR", "OWiG".
const LONGEST_MARK: usize = 4;
/// Maximum number of letters at the beginning of a number: "WG 4477812".
const LONGEST_BEGINNING: usize = 4;
/// Number of digits after such a beginning. Fewer may be a count.
const DIGITS_BEHIND: std::ops::RangeInclusive<usize> = 4..=12;

/// Advances over a number with spaces, or does not move.
pub(super) fn pass(cursor: &mut Cursor<'_>) -> Option<()> {
    // Otherwise it would be the rest of a word: "REFERAT 1234" holds no reference.
    if cursor.before().is_some_and(char::is_alphabetic) {
        return None;
    }
    let forms = [of_court, of_court_with_senate, lettered, in_threes];
    forms.into_iter().find_map(|form| {
        cursor.attempt(|ahead| {
            form(ahead)?;
            (!is_part_of_other(ahead.rest())).then_some(())
        })
    })
}

/// Parses `123 Js 456/26`, `5 K 123/26`, `1 BvR 2649/21` and `5 K 1234.26`.
fn of_court(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.digits(1..=4)?;
    cursor.skip(" ");
    mark(cursor)?;
    case(cursor)
}

/// Parses `XII ZB 123/20`, `L 4 AS 123/20 ER` and `VG 5 K 123.26`.
fn of_court_with_senate(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.take(1..=LONGEST_BEGINNING, |letter| letter.is_ascii_uppercase())?;
    cursor.need(" ")?;
    cursor.attempt(|ahead| {
        ahead.digits(1..=4)?;
        ahead.need(" ")
    });
    mark(cursor)?;
    case(cursor)?;
    // The kind of procedure: "ER", "PKH".
    cursor.attempt(|ahead| {
        ahead.need(" ")?;
        ahead.take(1..=3, |letter| letter.is_ascii_uppercase())?;
        (!ahead.rest().starts_with(char::is_alphanumeric)).then_some(())
    });
    Some(())
}

/// Parses `WG 4477812`.
fn lettered(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.take(1..=LONGEST_BEGINNING, |letter| letter.is_uppercase())?;
    cursor.need(" ")?;
    cursor.digits(DIGITS_BEHIND)?;
    cursor.attempt(|ahead| {
        ahead.skip_any(&["/", "-", "."]).then_some(())?;
        ahead.digits(1..=6)
    });
    Some(())
}

/// Parses `503 884 211`: with two groups only, the second may be a count.
fn in_threes(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.digits(3..=3)?;
    let group = |ahead: &mut Cursor<'_>| {
        ahead.need(" ")?;
        ahead.digits(3..=3)?;
        (!ahead.rest().starts_with(|letter: char| letter.is_ascii_digit())).then_some(())
    };
    let mut groups = 1;
    while cursor.attempt(group).is_some() {
        groups += 1;
    }
    (groups > 2).then_some(())
}

/// Parses a register mark, which begins with a capital.
fn mark(cursor: &mut Cursor<'_>) -> Option<()> {
    let mark = cursor.take(1..=LONGEST_MARK, |letter| letter.is_ascii_alphabetic())?;
    mark.starts_with(char::is_uppercase).then_some(())
}

/// Parses the number of a case and its year.
fn case(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.need(" ")?;
    cursor.digits(1..=6)?;
    cursor.skip_any(&["/", ".", "-"]).then_some(())?;
    cursor.digits(2..=5).map(drop)
}

/// Returns whether the number is part of something that is not a file number.
fn is_part_of_other(rest: &str) -> bool {
    let mut rest = rest.chars();
    match rest.next() {
        Some('/' | '-' | '.' | ',' | ':') => rest.next().is_some_and(|letter| letter.is_ascii_digit()),
        next => next.is_some_and(char::is_alphanumeric),
    }
}
