//! `gql={...}`: selects members of the payload, in the order of the selection. It changes no SQL.
//!
//! A selection names members, each whole or with a nested selection in braces: `{mail{queueCount}version}`. Unknown members
//! are ignored; `$schema` is always included.

use std::{collections::HashMap, iter::Peekable};

use serde_json::value::RawValue;

use super::{error::StatusApiError, members::JsonMembers};

/// The maximum depth of nesting.
const DEPTH: usize = 10;
/// The maximum number of names, with repetitions. A status has about a hundred, and a few for each scope of a city.
const NAMES: usize = 4096;

/// A selection of an object's members.
#[derive(Debug, Default, PartialEq)]
pub struct Selection {
    /// Each name once, in the order of first mention, with its nested selection; `None` for the whole member.
    members: Vec<(String, Option<Selection>)>,
    /// The position of each name in `members`.
    positions: HashMap<String, usize>,
}

impl Selection {
    /// Parses a selection.
    pub fn parse(text: &str) -> Result<Self, StatusApiError> {
        Self::within(text, NAMES)
    }

    fn within(text: &str, names: usize) -> Result<Self, StatusApiError> {
        let text = text.trim();
        if !(text.starts_with('{') && text.ends_with('}')) {
            return Err(StatusApiError::bad_selection("No valid graphql"));
        }
        let mut reader = SelectionReader { tokens: tokens(text).peekable(), names };
        reader.tokens.next();
        let mut selection = Self::default();
        reader.read(&mut selection, 1)?;
        if reader.tokens.next().is_some() {
            return Err(mismatch());
        }
        if selection.members.is_empty() {
            return Err(StatusApiError::bad_selection("No content for graph"));
        }
        Ok(selection)
    }

    /// Returns the selected members of an object; `None` for any other value.
    pub fn of(&self, value: &RawValue) -> Option<Box<RawValue>> {
        self.select(value, &["$schema"])
    }

    fn select(&self, value: &RawValue, kept: &[&str]) -> Option<Box<RawValue>> {
        let members = JsonMembers::of(value)?;
        // The first of duplicate members is used.
        let known: HashMap<&str, &RawValue> =
            members.0.iter().rev().map(|(name, value)| (name.as_str(), &**value)).collect();
        let kept = kept.iter().filter_map(|name| Some(((*name).to_owned(), (*known.get(name)?).to_owned())));
        let selected = self.members.iter().filter_map(|(name, inner)| {
            let member = *known.get(name.as_str())?;
            let member = match inner {
                None => member.to_owned(),
                Some(inner) => inner.select(member, &[])?,
            };
            Some((name.clone(), member))
        });
        JsonMembers(kept.chain(selected).collect()).object()
    }

    /// Returns the selection of the member `name`, which is added with an empty one where it is new.
    fn member(&mut self, name: &str) -> Option<&mut Option<Self>> {
        let position = match self.positions.get(name) {
            Some(position) => *position,
            None => {
                let position = self.members.len();
                self.positions.insert(name.to_owned(), position);
                self.members.push((name.to_owned(), Some(Self::default())));
                position
            }
        };
        self.members.get_mut(position).map(|(_, selected)| selected)
    }
}

/// Parses a selection from its tokens.
struct SelectionReader<'t, T: Iterator<Item = &'t str>> {
    tokens: Peekable<T>,
    /// The number of names that may still follow.
    names: usize,
}

impl<'t, T: Iterator<Item = &'t str>> SelectionReader<'t, T> {
    /// Reads the tokens after an opening brace, up to its closing brace, into `selection`.
    fn read(&mut self, selection: &mut Selection, depth: usize) -> Result<(), StatusApiError> {
        loop {
            let name = match self.tokens.next() {
                None | Some("{") => return Err(mismatch()),
                Some("}") => return Ok(()),
                Some(name) => name,
            };
            self.names = self.names.checked_sub(1).ok_or_else(|| {
                StatusApiError::bad_selection("the graphql has more than 4096 names; select less, or all")
            })?;
            let Some(selected) = selection.member(name) else { return Err(mismatch()) };
            if self.tokens.next_if_eq(&"{").is_none() {
                *selected = None;
            } else if depth >= DEPTH {
                return Err(StatusApiError::bad_selection("the graphql is nested too deeply"));
            } else {
                // A member that is selected as a whole includes every part of it.
                let mut ignored = Selection::default();
                self.read(selected.as_mut().unwrap_or(&mut ignored), depth + 1)?;
            }
        }
    }
}

fn mismatch() -> StatusApiError {
    StatusApiError::bad_selection("the brackets of the graphql do not match")
}

/// Splits a text into words and braces; all other characters are separators.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| !is_word(c) && c != '{' && c != '}');
        let length = match rest.chars().next()? {
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            brace => brace.len_utf8(),
        };
        let (token, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    const DATA: &str =
        r#"{"$schema":"s","mail":{"queueCount":2,"oldestSeconds":5},"version":{"major":"2"},"n":1}"#;

    fn select(gql: &str) -> String {
        let data = RawValue::from_string(DATA.into()).unwrap();
        Selection::parse(gql).unwrap().of(&data).unwrap().get().to_owned()
    }

    #[test]
    fn members_follow_the_order_of_selection() {
        assert_eq!(
            select("{version+mail{oldestSeconds}}"),
            r#"{"$schema":"s","version":{"major":"2"},"mail":{"oldestSeconds":5}}"#
        );
        assert_eq!(
            select(" { mail , n } "),
            r#"{"$schema":"s","mail":{"queueCount":2,"oldestSeconds":5},"n":1}"#
        );
        assert_eq!(
            select("{n,mail{queueCount},n,mail{oldestSeconds}}"),
            select("{n mail{queueCount oldestSeconds}}")
        );
        assert_eq!(select("{mail{queueCount} mail}"), select("{mail}"));
        assert_eq!(select("{nothing n{deeper} mail{nothing}}"), r#"{"$schema":"s","mail":{}}"#);
    }

    #[test]
    fn malformed_selections_are_rejected() {
        for gql in [
            "",
            "mail",
            "{mail",
            "mail}",
            "{}",
            "{ }",
            "{mail{queueCount}",
            "{mail}}",
            "{{mail}}",
            "{a{b}{c}}",
        ] {
            assert_eq!(Selection::parse(gql).unwrap_err().status, 400, "{gql}");
        }
        let deep = format!("{}{}", "{a".repeat(11), "}".repeat(11));
        assert_eq!(Selection::parse(&deep).unwrap_err().status, 400);
        assert!(Selection::parse(&format!("{}{}", "{a".repeat(10), "}".repeat(10))).is_ok());
    }

    #[test]
    fn repeated_names_are_merged() {
        let merged = Selection::parse("{a{x} b a{y{z}} b{c} a{y{w} x}}").unwrap();
        assert_eq!(merged, Selection::parse("{a{x y{z w}} b}").unwrap());
    }

    #[test]
    fn too_many_names_are_rejected() {
        let with = |names: usize| Selection::parse(&format!("{{{}}}", "a ".repeat(names)));
        assert!(with(NAMES).is_ok());
        let error = with(NAMES + 1).unwrap_err();
        assert_eq!(error.status, 400);
        assert!(error.message.contains(&NAMES.to_string()), "{}", error.message);
    }

    #[test]
    fn selection_steps_grow_with_its_length() {
        let numbered = |bytes: usize| {
            let unit = |number: usize| format!("a{{x{number:06}}}");
            format!("{{{}}}", (0..bytes / 10).map(unit).collect::<String>())
        };
        let shapes: [Shape<'_, String>; 4] = [
            ("one name with other members each time", &numbered),
            ("one name", &|bytes| repeated("{", "a{x}", "}", bytes)),
            ("braces that do not match", &|bytes| repeated("{", "a{", "}", bytes)),
            ("separators", &|bytes| repeated("{a", "\u{e9} ", "}", bytes)),
        ];
        let test = concat!(module_path!(), "::selection_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| Selection::within(text, usize::MAX).is_ok());
    }
}
