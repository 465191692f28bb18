//! `gql={...}`: a selection of the payload's members, in its own order. It costs and saves no SQL.
//!
//! A selection names members, each with a selection of its own in braces or whole: `{mail{queueCount}version}`.
//! What is not there is left out without a word; `$schema` stays.

use std::{collections::HashMap, iter::Peekable};

use serde_json::value::RawValue;

use super::{error::ApiError, members::Members};

/// Deepest nesting.
const DEPTH: usize = 10;
/// Most names, repeated ones included. A status has some hundred of its own, and a few for each scope of a city.
const NAMES: usize = 4096;

/// What is selected of an object.
#[derive(Debug, Default, PartialEq)]
pub struct Selection {
    /// Each name once, in the order of first mention, with what is selected of it; `None` for all of it.
    members: Vec<(String, Option<Selection>)>,
    /// Where each name stands in `members`.
    places: HashMap<String, usize>,
}

impl Selection {
    /// Reads a selection.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        Self::within(text, NAMES)
    }

    fn within(text: &str, names: usize) -> Result<Self, ApiError> {
        let text = text.trim();
        if !(text.starts_with('{') && text.ends_with('}')) {
            return Err(ApiError::bad_selection("No valid graphql"));
        }
        let mut reader = Reader { tokens: tokens(text).peekable(), names };
        reader.tokens.next();
        let mut selection = Self::default();
        reader.read(&mut selection, 1)?;
        if reader.tokens.next().is_some() {
            return Err(mismatch());
        }
        if selection.members.is_empty() {
            return Err(ApiError::bad_selection("No content for graph"));
        }
        Ok(selection)
    }

    /// The selected members of an object; `None` for any other value.
    pub fn of(&self, value: &RawValue) -> Option<Box<RawValue>> {
        self.select(value, &["$schema"])
    }

    fn select(&self, value: &RawValue, kept: &[&str]) -> Option<Box<RawValue>> {
        let members = Members::of(value)?;
        // Of a member that comes twice the first counts.
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
        Members(kept.chain(selected).collect()).object()
    }

    /// What is selected of the member `name`; nothing yet where it is new.
    fn member(&mut self, name: &str) -> Option<&mut Option<Self>> {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                let place = self.members.len();
                self.places.insert(name.to_owned(), place);
                self.members.push((name.to_owned(), Some(Self::default())));
                place
            }
        };
        self.members.get_mut(place).map(|(_, selected)| selected)
    }
}

/// Reads tokens one after the other, each once.
struct Reader<'t, T: Iterator<Item = &'t str>> {
    tokens: Peekable<T>,
    /// How many names may still come.
    names: usize,
}

impl<'t, T: Iterator<Item = &'t str>> Reader<'t, T> {
    /// Adds what follows an opening brace, up to its closing one, to `selection`.
    fn read(&mut self, selection: &mut Selection, depth: usize) -> Result<(), ApiError> {
        loop {
            let name = match self.tokens.next() {
                None | Some("{") => return Err(mismatch()),
                Some("}") => return Ok(()),
                Some(name) => name,
            };
            self.names = self.names.checked_sub(1).ok_or_else(|| {
                ApiError::bad_selection("the graphql has more than 4096 names; select less, or all")
            })?;
            let Some(selected) = selection.member(name) else { return Err(mismatch()) };
            if self.tokens.next_if_eq(&"{").is_none() {
                *selected = None;
            } else if depth >= DEPTH {
                return Err(ApiError::bad_selection("the graphql is nested too deeply"));
            } else {
                // All of a member holds every part of it.
                let mut of_all = Selection::default();
                self.read(selected.as_mut().unwrap_or(&mut of_all), depth + 1)?;
            }
        }
    }
}

fn mismatch() -> ApiError {
    ApiError::bad_selection("the brackets of the graphql do not match")
}

/// Words and braces; everything else separates.
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
    fn members_are_selected_in_the_selection_s_order() {
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
    fn anything_else_is_refused() {
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
    fn repeated_names_are_joined() {
        let joined = Selection::parse("{a{x} b a{y{z}} b{c} a{y{w} x}}").unwrap();
        assert_eq!(joined, Selection::parse("{a{x y{z w}} b}").unwrap());
    }

    #[test]
    fn more_names_than_allowed_are_refused() {
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
