//! Replaces personal data in a text by tokens, and restores it in replies.
//!
//! Each value becomes a token such as `[EMAIL_1]`; equal values have equal tokens. Text that already looks like a
//! token is replaced, too, so that no one can insert another person's value. Words count as names after a salutation, a
//! title, a sign-off, "my name is" and the like, after words for people ("my neighbour"), above an address, and where
//! several capitalised words in a row are no other words.

mod addresses;
mod british;
mod documents;
mod emails;
mod forms;
mod letterhead;
mod lowercase;
mod names;
mod nobility;
mod numbers;
mod people;
mod places;
mod spans;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use spans::Spans;

/// Kind of personal data that a token replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PiiKind {
    /// Text that looks like a token.
    Literal,
    /// Account number, with or without a valid checksum.
    Iban,
    /// E-mail address.
    Email,
    /// Date of birth.
    BirthDate,
    /// Number of a ticket.
    Ticket,
    /// Number under which an office files a case.
    File,
    /// Licence plate.
    Plate,
    /// Telephone number.
    Phone,
    /// Street with number, postcode with town.
    Address,
    /// A person's name.
    Name,
    /// Any other long number, of a passport, a customer, a card; also the parameters of a link.
    Number,
}

impl PiiKind {
    /// Returns the word in its tokens: its name in capitals.
    pub fn word(self) -> String {
        format!("{self:?}").to_uppercase()
    }
}

/// Matches any text in the form of a token.
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[[A-Za-z]+_[0-9]+\]").ok());

/// A text without personal data, and the values of its tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted {
    text: String,
    originals: BTreeMap<String, String>,
}

/// Hides the values.
impl std::fmt::Debug for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redacted")
            .field("text", &self.text)
            .field("tokens", &self.originals.len())
            .finish_non_exhaustive()
    }
}

impl Redacted {
    /// Returns the text with tokens instead of values.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns `text`, any text, with values instead of this redaction's tokens. Unknown tokens stay.
    pub fn restore(&self, text: &str) -> String {
        let Some(token) = TOKEN.as_ref() else { return text.to_owned() };
        let original = |found: &Captures<'_>| {
            let token = found.get(0).map_or("", |token| token.as_str());
            self.originals.get(token).map_or(token, String::as_str).to_owned()
        };
        token.replace_all(text, original).into_owned()
    }

    /// Returns the tokens in `text`, any text, with their values; skips unknown tokens.
    pub fn tokens<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let tokens = TOKEN.iter().flat_map(move |token| token.find_iter(text));
        tokens.map(|token| (token.as_str(), self.originals.get(token.as_str()).map(String::as_str)))
    }

    /// Returns each token with its value.
    pub fn originals(&self) -> impl Iterator<Item = (&str, &str)> {
        self.originals.iter().map(|(token, value)| (token.as_str(), value.as_str()))
    }
}

/// Replaces personal data in `text`.
pub fn redact(text: &str) -> Redacted {
    redact_part(text, "")
}

/// Replaces personal data in `text`, also the names that only the whole `letter` reveals, such as in its sign-off.
pub fn redact_part(text: &str, letter: &str) -> Redacted {
    let mut spans = Spans::default();
    for token in TOKEN.iter().flat_map(|token| token.find_iter(text)) {
        spans.add(token.range(), PiiKind::Literal);
    }
    let addresses = addresses::find(text);
    let letterheads = letterhead::find(text, &addresses);
    let emails = emails::find(text).map(|range| (range, PiiKind::Email)).collect();
    let found = [numbers::find(text), emails, addresses, letterheads, names::find(text), people::find(text)];
    for (range, kind) in found.into_iter().flatten() {
        spans.add(range, kind);
    }
    let letterheads = letterhead::find(letter, &addresses::find(letter));
    let known = names::find(letter).into_iter().chain(people::find(letter)).chain(letterheads);
    let known: Vec<&str> = known.filter_map(|(range, _)| letter.get(range)).collect();
    spans.repeat(text, &known);
    written(text, &spans)
}

fn written(text: &str, spans: &Spans) -> Redacted {
    let mut redacted = Redacted { text: String::with_capacity(text.len()), originals: BTreeMap::new() };
    let mut tokens: BTreeMap<(PiiKind, &str), String> = BTreeMap::new();
    let mut counts: BTreeMap<PiiKind, usize> = BTreeMap::new();
    let mut end = 0;
    for (range, kind) in spans.iter() {
        let Some(value) = text.get(range.clone()) else { continue };
        let token = tokens.entry((kind, value)).or_insert_with(|| {
            let count = counts.entry(kind).or_default();
            *count += 1;
            format!("[{}_{count}]", kind.word())
        });
        redacted.text.push_str(text.get(end..range.start).unwrap_or_default());
        redacted.text.push_str(token);
        redacted.originals.insert(token.clone(), value.to_owned());
        end = range.end;
    }
    redacted.text.push_str(text.get(end..).unwrap_or_default());
    redacted
}
