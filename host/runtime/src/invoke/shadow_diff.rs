//! Compares the answers of the live version and the shadow to one call, field by field.

use std::fmt::Debug;

use bulkhead_telemetry::escape_guest;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{GuestResult, Outcome};
use crate::slots::FieldDifference;

/// Fields listed in one difference.
const MAX_FIELDS: usize = 20;
/// Longest text of a field, bytes.
const FIELD_BYTES: usize = 200;
/// Characters shown before the first that differs: more than a [`redacted`] text has before its digest differs.
const CONTEXT_CHARACTERS: usize = 40;

/// An answer that is compared with another version's, field by field.
///
/// Fields are equal when their texts are. A field that differs between any two calls of one version (random bytes, the
/// time of the call, signatures over them) is given by its [`shape`]: its type and length. Text that people wrote is
/// given [`redacted`]: a difference shows, the text does not.
pub trait ShadowDiff: Clone + Send + Sync + 'static {
    /// Returns the fields by name.
    fn fields(&self) -> Vec<(String, String)>;
}

impl ShadowDiff for bool {
    fn fields(&self) -> Vec<(String, String)> {
        vec![("answer".into(), self.to_string())]
    }
}

/// Describes the type and length of a value that differs from call to call.
pub fn shape(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => format!("a text of {} characters", text.chars().count()),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(members) => format!("an object of {} members", members.len()),
    }
}

/// Describes a text that operators must not see: its length, and a digest by which a difference shows.
pub fn redacted(text: &str) -> String {
    let digest: String = hex::encode(Sha256::digest(text)).chars().take(12).collect();
    format!("{} characters, sha256 {digest}", text.chars().count())
}

/// Returns the fields of a JSON document by their paths below `name`. Fields named in `volatile` are given by their
/// shape.
pub fn json_fields(name: &str, text: &str, volatile: &[&str]) -> Vec<(String, String)> {
    let Ok(document) = serde_json::from_str::<Value>(text) else {
        return vec![(name.to_owned(), text.to_owned())];
    };
    let (mut fields, mut open) = (Vec::new(), vec![(name.to_owned(), document)]);
    // Iterative, because the guest controls the depth of the document.
    while let Some((path, value)) = open.pop() {
        let last = path.rsplit('.').next().unwrap_or_default();
        match value {
            value if volatile.contains(&last) => fields.push((path, shape(&value))),
            Value::Object(inner) if !inner.is_empty() => {
                open.extend(inner.into_iter().map(|(key, value)| (format!("{path}.{key}"), value)));
            }
            Value::Array(items) if !items.is_empty() => {
                open.extend((0..).zip(items).map(|(at, value): (usize, _)| (format!("{path}.{at}"), value)));
            }
            value => fields.push((path, value.to_string())),
        }
    }
    fields.sort();
    fields
}

/// The observed result of a call: an answer, the guest's own error, or the outcome with which the sandbox ended it.
pub(super) type Observed<T, E> = Result<GuestResult<T, E>, Outcome>;

fn fields<T: ShadowDiff, E: Debug>(observed: &Observed<T, E>) -> Vec<(String, String)> {
    let outcome = |outcome: Outcome| ("outcome".to_owned(), outcome.as_str().to_owned());
    match observed {
        Ok(Ok(answer)) => [outcome(Outcome::Ok)].into_iter().chain(answer.fields()).collect(),
        Ok(Err(error)) => vec![outcome(Outcome::GuestError), ("error".into(), format!("{error:?}"))],
        Err(ended) => vec![outcome(*ended)],
    }
}

/// Returns the fields in which the shadow's answer differs from the live one.
pub(super) fn differences<T: ShadowDiff, E: Debug>(
    live: &Observed<T, E>,
    shadow: &Observed<T, E>,
) -> Vec<FieldDifference> {
    let (live, mut shadow) = (fields(live), fields(shadow));
    let mut found = Vec::new();
    for (name, value) in live {
        let other = shadow.iter().position(|(known, _)| *known == name).map(|at| shadow.swap_remove(at).1);
        if other.as_ref() != Some(&value) {
            found.push(difference(name, Some(value), other));
        }
    }
    found.extend(shadow.into_iter().map(|(name, value)| difference(name, None, Some(value))));
    found.truncate(MAX_FIELDS);
    found
}

/// Returns the difference of a field, with both texts from shortly before the first character that differs.
fn difference(name: String, live: Option<String>, shadow: Option<String>) -> FieldDifference {
    let skip = match (&live, &shadow) {
        (Some(live), Some(shadow)) => {
            let common = live.chars().zip(shadow.chars()).take_while(|(one, other)| one == other).count();
            common.saturating_sub(CONTEXT_CHARACTERS)
        }
        _ => 0,
    };
    let cut = |text: String| escape_guest(&text.chars().skip(skip).collect::<String>(), FIELD_BYTES);
    FieldDifference { name: escape_guest(&name, FIELD_BYTES), live: live.map(cut), shadow: shadow.map(cut) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    #[derive(Clone)]
    struct Text(&'static str);

    impl ShadowDiff for Text {
        fn fields(&self) -> Vec<(String, String)> {
            json_fields("text", self.0, &["salt"])
        }
    }

    fn compare(live: Observed<Text, &str>, shadow: Observed<Text, &str>) -> Vec<(String, String, String)> {
        let text = |text: Option<String>| text.unwrap_or_else(|| "none".into());
        let found = differences(&live, &shadow).into_iter();
        found.map(|field| (field.name, text(field.live), text(field.shadow))).collect()
    }

    fn of(name: &str, live: &str, shadow: &str) -> (String, String, String) {
        (name.into(), live.into(), shadow.into())
    }

    #[test]
    fn fields_are_compared_in_any_order() {
        let one = Text(r#"{"a": 1, "b": ["x", {}]}"#);
        assert_eq!(compare(Ok(Ok(one.clone())), Ok(Ok(Text(r#"{"b":["x",{}],"a":1}"#)))), []);
        let other = Text(r#"{"a": 2, "b": ["x"], "c": null}"#);
        assert_eq!(
            compare(Ok(Ok(one)), Ok(Ok(other))),
            [of("text.a", "1", "2"), of("text.b.1", "{}", "none"), of("text.c", "none", "null")]
        );
    }

    #[test]
    fn volatile_fields_are_compared_by_shape() {
        let salted = |text| Ok(Ok(Text(text)));
        assert_eq!(compare(salted(r#"{"salt": "abc"}"#), salted(r#"{"salt": "xyz"}"#)), []);
        assert_eq!(
            compare(salted(r#"{"salt": "abc"}"#), salted(r#"{"salt": "ab"}"#)),
            [of("text.salt", "a text of 3 characters", "a text of 2 characters")]
        );
        assert_eq!(compare(salted(r#"{"salt": "abc"}"#), salted(r#"{"salt": 1}"#)).len(), 1);
    }

    #[test]
    fn different_outcomes_and_errors_differ() {
        assert_eq!(compare(Ok(Err("a")), Ok(Err("a"))), []);
        assert_eq!(compare(Err(Outcome::Trap), Err(Outcome::Trap)), []);
        assert_eq!(compare(Ok(Err("a")), Ok(Err("b"))), [of("error", "\"a\"", "\"b\"")]);
        let trapped = compare(Ok(Ok(Text("1"))), Err(Outcome::Trap));
        assert_eq!(trapped, [of("outcome", "ok", "trap"), of("text", "1", "none")]);
    }

    #[test]
    fn long_texts_start_near_first_difference() {
        let long = |end: &str| {
            difference("m".into(), Some("x".repeat(1000) + end), Some("x".repeat(1000) + "other"))
        };
        let shown = long("end");
        assert_eq!(shown.live.unwrap(), "x".repeat(CONTEXT_CHARACTERS) + "end");
        assert_eq!(shown.shadow.unwrap(), "x".repeat(CONTEXT_CHARACTERS) + "other");
        assert!(long(&"y".repeat(1000)).live.unwrap().len() <= FIELD_BYTES);
    }

    #[test]
    fn redacted_text_differs_and_is_hidden() {
        assert_ne!(redacted("my name"), redacted("my mane"));
        assert!(!redacted("my name").contains("name"));
    }

    #[test]
    fn redacted_texts_are_shown_whole() {
        let (one, other) = (redacted(&"a".repeat(1000)), redacted(&"b".repeat(1000)));
        let shown = difference("m".into(), Some(one.clone()), Some(other.clone()));
        assert_eq!((shown.live, shown.shadow), (Some(one), Some(other)));
    }
}
