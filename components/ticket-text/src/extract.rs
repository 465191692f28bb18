//! Extracts validated values from a text: an account number with a wrong checksum or the 31st of June is not a value.

pub mod account;
pub mod birth;
pub mod date;
pub mod email;
mod number;
mod phone;
pub(crate) mod plate;
pub(crate) mod streets;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use date::Date;

/// Built-in kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// International bank account number, without spaces.
    Iban,
    /// E-mail address.
    Email,
    /// Date, as `2026-05-03`.
    Date,
    /// Number of a ticket.
    TicketNumber,
    /// Number under which an office files a case.
    FileNumber,
    /// German licence plate.
    LicencePlate,
    /// Telephone number: digits, and a `+` before a country's code.
    Phone,
}

impl Kind {
    /// Returns its name among the extracted values.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iban => "iban",
            Self::Email => "email",
            Self::Date => "date",
            Self::TicketNumber => "ticket_number",
            Self::FileNumber => "file_number",
            Self::LicencePlate => "licence_plate",
            Self::Phone => "phone",
        }
    }
}

/// A value with its byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its kind.
    pub kind: Kind,
    /// The value in its normal form.
    pub value: String,
    /// Bytes of the text that it was read from.
    pub range: Range<usize>,
}

/// The byte range of a value, and the value.
type Reading = (Range<usize>, String);

/// Returns the built-in values of `text` in order. `today` completes dates without a year.
pub fn find(text: &str, today: Date) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    if !text.bytes().any(|byte| byte == b'@' || byte.is_ascii_digit()) {
        return all;
    }
    // The stricter a kind, the earlier it takes its range: part of an account number may look like a phone number.
    let kinds: [(Kind, Vec<Reading>); 7] = [
        (Kind::Iban, account::find(text)),
        (Kind::Email, email::find(text)),
        (
            Kind::Date,
            date::find(text, today).into_iter().map(|(range, date)| (range, date.to_string())).collect(),
        ),
        (Kind::TicketNumber, number::find_tickets(text)),
        (Kind::FileNumber, number::find_files(text)),
        (Kind::LicencePlate, plate::find(text)),
        (Kind::Phone, phone::find(text)),
    ];
    let mut taken = Taken::default();
    for (kind, values) in kinds {
        for (range, value) in values {
            if taken.take(&range) {
                all.push(Found { kind, value, range });
            }
        }
    }
    all.sort_by_key(|found| found.range.start);
    all
}

/// Ranges that do not overlap: their ends by their starts.
#[derive(Debug, Default)]
struct Taken(BTreeMap<usize, usize>);

impl Taken {
    /// Returns whether nothing of `range` is taken.
    fn is_free(&self, range: &Range<usize>) -> bool {
        self.0.range(..range.end).next_back().is_none_or(|(_, end)| *end <= range.start)
    }

    /// Takes `range` if all of it is free.
    fn take(&mut self, range: &Range<usize>) -> bool {
        let free = self.is_free(range);
        if free {
            self.0.insert(range.start, range.end);
        }
        free
    }
}

/// Returns whether no part of a word is adjacent to `range`.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).and_then(|before| before.chars().next_back());
    let after = text.get(range.end..).and_then(|after| after.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// Returns the last `count` characters of `text`.
pub(crate) fn last(text: &str, count: usize) -> &str {
    let start = text.char_indices().rev().take(count).last().map_or(text.len(), |(start, _)| start);
    text.get(start..).unwrap_or_default()
}
