//! Personal data out of a text before it leaves the house, and back into what comes home.
//!
//! Each value becomes a token such as `[EMAIL_1]`; the same value is the same token everywhere. What looks like a
//! token in the text already becomes one itself, so that nobody can have another's value put in its place.
//! Words are taken for names only where their place says so: after a salutation, a title, a sign-off, "my name is" or
//! "I am", and above an address.

mod addresses;
mod british;
mod documents;
mod emails;
mod letterhead;
mod lowercase;
mod names;
mod nobility;
mod numbers;
mod places;
mod spans;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use spans::Spans;

/// What a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Personal {
    /// What looked like a token in the text itself.
    Literal,
    /// Account number, whether or not its checksum is right.
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
    /// Any other long number: of a passport, a customer, a card; also what a link hands over.
    Number,
}

impl Personal {
    /// The word in its tokens.
    pub fn word(self) -> &'static str {
        match self {
            Self::Literal => "LITERAL",
            Self::Iban => "IBAN",
            Self::Email => "EMAIL",
            Self::BirthDate => "BIRTHDATE",
            Self::Ticket => "TICKET",
            Self::File => "FILE",
            Self::Plate => "PLATE",
            Self::Phone => "PHONE",
            Self::Address => "ADDRESS",
            Self::Name => "NAME",
            Self::Number => "NUMBER",
        }
    }
}

/// What tokens look like, whoever wrote them.
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[[A-Za-z]+_[0-9]+\]").ok());

/// A text without personal data, and what its tokens stand for.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted {
    text: String,
    originals: BTreeMap<String, String>,
}

/// Shows no value.
impl std::fmt::Debug for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redacted")
            .field("text", &self.text)
            .field("tokens", &self.originals.len())
            .finish_non_exhaustive()
    }
}

impl Redacted {
    /// The text with tokens in the place of values.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// `text`, which may be another than [`Self::text`], with values in the place of this redaction's tokens.
    /// Tokens that stand for nothing stay.
    pub fn restore(&self, text: &str) -> String {
        let Some(token) = TOKEN.as_ref() else { return text.to_owned() };
        let original = |found: &Captures<'_>| {
            let token = found.get(0).map_or("", |token| token.as_str());
            self.originals.get(token).map_or(token, String::as_str).to_owned()
        };
        token.replace_all(text, original).into_owned()
    }

    /// The tokens that stand in `text`, which may be another than [`Self::text`], and their values; none for those that
    /// stand for nothing.
    pub fn tokens<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let tokens = TOKEN.iter().flat_map(move |token| token.find_iter(text));
        tokens.map(|token| (token.as_str(), self.originals.get(token.as_str()).map(String::as_str)))
    }

    /// Each token and the value it stands for.
    pub fn originals(&self) -> impl Iterator<Item = (&str, &str)> {
        self.originals.iter().map(|(token, value)| (token.as_str(), value.as_str()))
    }
}

/// Takes personal data out of `text`.
pub fn redact(text: &str) -> Redacted {
    redact_part(text, "")
}

/// Takes personal data out of `text`, and with it the names that the `letter` it is a part of makes sure: who wrote
/// one, its sign-off says.
pub fn redact_part(text: &str, letter: &str) -> Redacted {
    let mut spans = Spans::default();
    for token in TOKEN.iter().flat_map(|token| token.find_iter(text)) {
        spans.add(token.range(), Personal::Literal);
    }
    let addresses = addresses::find(text);
    let letterheads = letterhead::find(text, &addresses);
    let emails = emails::find(text).map(|range| (range, Personal::Email)).collect();
    let found = [numbers::find(text), emails, addresses, letterheads, names::find(text)];
    for (range, kind) in found.into_iter().flatten() {
        spans.add(range, kind);
    }
    let letterheads = letterhead::find(letter, &addresses::find(letter));
    let known = names::find(letter).into_iter().chain(letterheads);
    let known: Vec<&str> = known.filter_map(|(range, _)| letter.get(range)).collect();
    spans.repeat(text, &known);
    written(text, &spans)
}

fn written(text: &str, spans: &Spans) -> Redacted {
    let mut redacted = Redacted { text: String::with_capacity(text.len()), originals: BTreeMap::new() };
    let mut tokens: BTreeMap<(Personal, &str), String> = BTreeMap::new();
    let mut counts: BTreeMap<Personal, usize> = BTreeMap::new();
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
