//! By what the answers of two versions to one call are compared.

use std::fmt::Debug;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Answer, Outcome};
use crate::{slots::Member, telemetry::escape_guest};

/// Members listed in one difference.
const MEMBERS: usize = 20;
/// Longest text of a member, bytes.
const MEMBER_BYTES: usize = 200;
/// Characters shown before the first that differs.
const BEFORE: usize = 20;

/// An answer that is compared with another version's, member by member.
///
/// Members are equal when their texts are. What differs between any two calls of one version (random bytes, the
/// moment of the call, signatures over them) is given by its [`form`]: there, of this kind, this long. What people
/// wrote is given [`hidden`]: a difference is seen, the text is not.
pub trait Compared: Clone + Send + Sync + 'static {
    /// The members by name.
    fn members(&self) -> Vec<(String, String)>;
}

impl Compared for bool {
    fn members(&self) -> Vec<(String, String)> {
        vec![("answer".into(), self.to_string())]
    }
}

/// What is said of a member whose value differs from call to call.
pub fn form(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => format!("a text of {} characters", text.chars().count()),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(members) => format!("an object of {} members", members.len()),
    }
}

/// What is said of a text that operators need not read: its length, and a digest that tells it from others.
pub fn hidden(text: &str) -> String {
    let digest: String = hex::encode(Sha256::digest(text)).chars().take(12).collect();
    format!("{} characters, sha256 {digest}", text.chars().count())
}

/// The members of a JSON document by their paths below `name`; those called one of `volatile` by their form.
pub fn json_members(name: &str, text: &str, volatile: &[&str]) -> Vec<(String, String)> {
    let Ok(document) = serde_json::from_str::<Value>(text) else {
        return vec![(name.to_owned(), text.to_owned())];
    };
    let (mut members, mut open) = (Vec::new(), vec![(name.to_owned(), document)]);
    // Not by recursion: a guest made the document.
    while let Some((path, value)) = open.pop() {
        let last = path.rsplit('.').next().unwrap_or_default();
        match value {
            value if volatile.contains(&last) => members.push((path, form(&value))),
            Value::Object(inner) if !inner.is_empty() => {
                open.extend(inner.into_iter().map(|(key, value)| (format!("{path}.{key}"), value)));
            }
            Value::Array(items) if !items.is_empty() => {
                open.extend((0..).zip(items).map(|(at, value): (usize, _)| (format!("{path}.{at}"), value)));
            }
            value => members.push((path, value.to_string())),
        }
    }
    members.sort();
    members
}

/// What became of a call: an answer, the guest's own error, or how the sandbox ended it.
pub(super) type Seen<T, E> = Result<Answer<T, E>, Outcome>;

fn members<T: Compared, E: Debug>(seen: &Seen<T, E>) -> Vec<(String, String)> {
    let outcome = |outcome: Outcome| ("outcome".to_owned(), outcome.as_str().to_owned());
    match seen {
        Ok(Ok(answer)) => [outcome(Outcome::Ok)].into_iter().chain(answer.members()).collect(),
        Ok(Err(error)) => vec![outcome(Outcome::GuestError), ("error".into(), format!("{error:?}"))],
        Err(ended) => vec![outcome(*ended)],
    }
}

/// In what the shadow's answer differs from the live one; empty: in nothing.
pub(super) fn differences<T: Compared, E: Debug>(live: &Seen<T, E>, shadow: &Seen<T, E>) -> Vec<Member> {
    let (live, mut shadow) = (members(live), members(shadow));
    let mut found = Vec::new();
    for (name, value) in live {
        let other = shadow.iter().position(|(known, _)| *known == name).map(|at| shadow.swap_remove(at).1);
        if other.as_ref() != Some(&value) {
            found.push(member(name, Some(value), other));
        }
    }
    found.extend(shadow.into_iter().map(|(name, value)| member(name, None, Some(value))));
    found.truncate(MEMBERS);
    found
}

/// Both texts from shortly before they part.
fn member(name: String, live: Option<String>, shadow: Option<String>) -> Member {
    let skip = match (&live, &shadow) {
        (Some(live), Some(shadow)) => {
            let common = live.chars().zip(shadow.chars()).take_while(|(one, other)| one == other).count();
            common.saturating_sub(BEFORE)
        }
        _ => 0,
    };
    let cut = |text: String| escape_guest(&text.chars().skip(skip).collect::<String>(), MEMBER_BYTES);
    Member { name: escape_guest(&name, MEMBER_BYTES), live: live.map(cut), shadow: shadow.map(cut) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    #[derive(Clone)]
    struct Text(&'static str);

    impl Compared for Text {
        fn members(&self) -> Vec<(String, String)> {
            json_members("text", self.0, &["salt"])
        }
    }

    fn compare(live: Seen<Text, &str>, shadow: Seen<Text, &str>) -> Vec<(String, String, String)> {
        let text = |text: Option<String>| text.unwrap_or_else(|| "none".into());
        let found = differences(&live, &shadow).into_iter();
        found.map(|member| (member.name, text(member.live), text(member.shadow))).collect()
    }

    fn of(name: &str, live: &str, shadow: &str) -> (String, String, String) {
        (name.into(), live.into(), shadow.into())
    }

    #[test]
    fn answers_are_compared_member_by_member_whatever_their_order() {
        let one = Text(r#"{"a": 1, "b": ["x", {}]}"#);
        assert_eq!(compare(Ok(Ok(one.clone())), Ok(Ok(Text(r#"{"b":["x",{}],"a":1}"#)))), []);
        let other = Text(r#"{"a": 2, "b": ["x"], "c": null}"#);
        assert_eq!(
            compare(Ok(Ok(one)), Ok(Ok(other))),
            [of("text.a", "1", "2"), of("text.b.1", "{}", "none"), of("text.c", "none", "null")]
        );
    }

    #[test]
    fn what_differs_from_call_to_call_is_compared_by_its_form() {
        let salted = |text| Ok(Ok(Text(text)));
        assert_eq!(compare(salted(r#"{"salt": "abc"}"#), salted(r#"{"salt": "xyz"}"#)), []);
        assert_eq!(
            compare(salted(r#"{"salt": "abc"}"#), salted(r#"{"salt": "ab"}"#)),
            [of("text.salt", "a text of 3 characters", "a text of 2 characters")]
        );
        assert_eq!(compare(salted(r#"{"salt": "abc"}"#), salted(r#"{"salt": 1}"#)).len(), 1);
    }

    #[test]
    fn other_outcomes_and_other_errors_differ() {
        assert_eq!(compare(Ok(Err("a")), Ok(Err("a"))), []);
        assert_eq!(compare(Err(Outcome::Trap), Err(Outcome::Trap)), []);
        assert_eq!(compare(Ok(Err("a")), Ok(Err("b"))), [of("error", "\"a\"", "\"b\"")]);
        let trapped = compare(Ok(Ok(Text("1"))), Err(Outcome::Trap));
        assert_eq!(trapped, [of("outcome", "ok", "trap"), of("text", "1", "none")]);
    }

    #[test]
    fn long_texts_are_shown_from_where_they_part() {
        let long =
            |end: &str| member("m".into(), Some("x".repeat(1000) + end), Some("x".repeat(1000) + "other"));
        let shown = long("end");
        assert_eq!(shown.live.unwrap(), "x".repeat(BEFORE) + "end");
        assert_eq!(shown.shadow.unwrap(), "x".repeat(BEFORE) + "other");
        assert!(long(&"y".repeat(1000)).live.unwrap().len() <= MEMBER_BYTES);
    }

    #[test]
    fn what_people_wrote_is_told_apart_and_not_shown() {
        assert_ne!(hidden("my name"), hidden("my mane"));
        assert!(!hidden("my name").contains("name"));
    }
}
