//! Defines the id of a slot: a key of the configuration, a metric label and the name of a folder.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError},
};

use serde::{Serialize, Serializer};

/// Most slots of a host. A slot id is a metric label, so the number of slots bounds the number of series.
pub const MAX_SLOTS: usize = 64;

/// Most distinct ids that a process parses. They stay in memory, so that slots that come and go must not add up.
const MAX_IDS: usize = 1024;

/// Names that no slot of a configuration may have: the audit log has entries under them that belong to no slot.
pub const RESERVED: [&str; 2] = ["access", "config"];

/// Longest slot id, bytes: the length of a DNS label.
const MAX_BYTES: usize = 63;

/// Identifies a slot. It consists of lower-case letters, digits and dashes, begins with a letter, does not end with a
/// dash, has no two dashes in a row and at most 63 bytes. An underscore is not allowed, so that it can mean a dash in
/// environment variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(&'static str);

/// The rule of slot ids that a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotIdError {
    /// It is empty.
    #[error("must not be empty")]
    Empty,
    /// It has more than 63 bytes.
    #[error("must have at most {} bytes", MAX_BYTES)]
    TooLong,
    /// It does not begin with a lower-case letter.
    #[error("must begin with a lower-case letter")]
    Start,
    /// It has an invalid character.
    #[error("must consist of lower-case letters, digits and dashes")]
    Character,
    /// It has two dashes in a row.
    #[error("must not have two dashes in a row")]
    DoubleDash,
    /// It ends with a dash.
    #[error("must not end with a dash")]
    End,
    /// The process has parsed too many distinct ids.
    #[error("must be one of the {} slot ids that the process has had; restart it to use others", MAX_IDS)]
    TooMany,
}

/// Checks every rule of a slot id.
const fn check(text: &str) -> Result<(), SlotIdError> {
    let mut rest = text.as_bytes();
    if rest.len() > MAX_BYTES {
        return Err(SlotIdError::TooLong);
    }
    let mut previous = None;
    while let [byte, after @ ..] = rest {
        match (previous, *byte) {
            (_, b'a'..=b'z') | (Some(_), b'0'..=b'9') => {}
            (None, _) => return Err(SlotIdError::Start),
            (Some(b'-'), b'-') => return Err(SlotIdError::DoubleDash),
            (Some(_), b'-') => {}
            (Some(_), _) => return Err(SlotIdError::Character),
        }
        previous = Some(*byte);
        rest = after;
    }
    match previous {
        None => Err(SlotIdError::Empty),
        Some(b'-') => Err(SlotIdError::End),
        Some(_) => Ok(()),
    }
}

/// The texts of the ids that were parsed.
struct Interned(BTreeSet<&'static str>);

impl Interned {
    /// Returns a copy of `text` that is never freed, the same one for equal texts.
    fn intern(&mut self, text: &str) -> Result<&'static str, SlotIdError> {
        if let Some(known) = self.0.get(text).copied() {
            return Ok(known);
        }
        if self.0.len() >= MAX_IDS {
            return Err(SlotIdError::TooMany);
        }
        let kept: &'static str = Box::leak(Box::from(text));
        self.0.insert(kept);
        Ok(kept)
    }
}

impl SlotId {
    /// Makes an id of a literal. As a constant, a text that breaks a rule is an error of the compiler.
    pub const fn new(id: &'static str) -> Self {
        assert!(
            check(id).is_ok(),
            "a slot id is of lower-case letters, digits and single dashes between them"
        );
        Self(id)
    }

    /// Makes an id of a text that is known at run time. Each distinct id is kept in memory until the process ends, so
    /// parse only texts of which there are few: keys of a configuration, not paths of requests.
    ///
    /// # Errors
    /// When the text breaks a rule, or is a new id after 1024 distinct ones.
    pub fn parse(text: &str) -> Result<Self, SlotIdError> {
        static INTERNED: Mutex<Interned> = Mutex::new(Interned(BTreeSet::new()));
        check(text)?;
        INTERNED.lock().unwrap_or_else(PoisonError::into_inner).intern(text).map(Self)
    }

    /// Returns the text in the configuration, in metrics and in logs.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for SlotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl Serialize for SlotId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}
