//! `gql={...}`: a selection of the payload's members, in its own order. It costs and saves no SQL.
//!
//! A selection names members, each with a selection of its own in braces or whole: `{mail{queueCount}version}`.
//! What is not there is left out without a word; `$schema` stays.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::{error::ApiError, members::Members};

/// Deepest nesting.
const DEPTH: usize = 10;

/// What is selected of an object.
#[derive(Debug, PartialEq)]
pub struct Selection(Vec<(String, Option<Selection>)>);

impl Selection {
    /// Reads a selection.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let text = text.trim();
        if !(text.starts_with('{') && text.ends_with('}')) {
            return Err(ApiError::bad_selection("No valid graphql"));
        }
        let mut tokens = tokens(text).into_iter().peekable();
        tokens.next();
        let selection = read(&mut tokens, 1)?;
        if tokens.next().is_some() {
            return Err(ApiError::bad_selection("the brackets of the graphql do not match"));
        }
        if selection.0.is_empty() {
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
        let kept = kept.iter().filter_map(|name| Some(((*name).to_owned(), members.get(name)?.to_owned())));
        let selected = self.0.iter().filter_map(|(name, inner)| {
            let member = members.get(name)?;
            let member = match inner {
                None => member.to_owned(),
                Some(inner) => inner.select(member, &[])?,
            };
            Some((name.clone(), member))
        });
        Members(kept.chain(selected).collect()).object()
    }
}

/// Words and braces; everything else separates.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if is_word(first) || first == '{' || first == '}' {
            tokens.push(token);
        }
        rest = after;
    }
    tokens
}

/// What follows an opening brace, up to its closing one.
fn read<'t>(
    tokens: &mut std::iter::Peekable<impl Iterator<Item = &'t str>>,
    depth: usize,
) -> Result<Selection, ApiError> {
    let mismatch = || ApiError::bad_selection("the brackets of the graphql do not match");
    let mut members: Vec<(String, Option<Selection>)> = Vec::new();
    loop {
        match tokens.next() {
            None => return Err(mismatch()),
            Some("}") => return Ok(Selection(merged(members))),
            Some("{") if depth >= DEPTH => {
                return Err(ApiError::bad_selection("the graphql is nested too deeply"));
            }
            Some("{") => match members.last_mut() {
                Some((_, inner @ None)) => *inner = Some(read(tokens, depth + 1)?),
                _ => return Err(mismatch()),
            },
            Some(name) => members.push((name.to_owned(), None)),
        }
    }
}

/// Each name once, where it first stood, with all that is selected of it.
fn merged(members: Vec<(String, Option<Selection>)>) -> Vec<(String, Option<Selection>)> {
    let mut once: Vec<(String, Option<Selection>)> = Vec::with_capacity(members.len());
    let mut places = HashMap::with_capacity(members.len());
    for (name, inner) in members {
        let place = *places.entry(name.clone()).or_insert(once.len());
        match once.get_mut(place) {
            None => once.push((name, inner)),
            Some((_, known)) => {
                *known = known.take().zip(inner).map(|(Selection(mut all), Selection(more))| {
                    all.extend(more);
                    Selection(merged(all))
                });
            }
        }
    }
    once
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

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
}
