//! Reads JSON objects one level deep; each service reports faults in its own format.

use std::{borrow::Cow, fmt, marker::PhantomData};

use bulkhead_telemetry::{quoted, shortened};
use serde::{
    Deserialize, Deserializer,
    de::{
        self, DeserializeOwned, DeserializeSeed, IgnoredAny, IntoDeserializer as _, MapAccess, SeqAccess,
        Visitor,
        value::{CowStrDeserializer, MapAccessDeserializer},
    },
};
use serde_json::value::RawValue;

/// Why a body is not the expected object. Displays as the reason, for the client.
#[derive(Debug)]
pub enum ObjectError {
    /// It is JSON of another kind.
    NotObject,
    /// It is not JSON, or an object of another shape.
    Unreadable(serde_json::Error),
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotObject => f.write_str("the body must be a JSON object"),
            // The reader names its own type of number.
            Self::Unreadable(error) => {
                f.write_str(&shortened(error.to_string()).replace("expected u64", "expected a whole number"))
            }
        }
    }
}

/// Reads an object as `T`, which decides about unknown members.
///
/// # Errors
/// See [`ObjectError`].
pub fn object<T: DeserializeOwned>(text: &[u8]) -> Result<T, ObjectError> {
    expect_object(text)?;
    serde_json::from_slice(text).map(|ObjectOf(object)| object).map_err(ObjectError::Unreadable)
}

/// An object that is read as `T`. An array is refused, though a derived reader takes its values for the members in order,
/// and an error names the member that it is about.
#[derive(Debug)]
pub struct ObjectOf<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = ObjectOf<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<ObjectOf<T>, A::Error> {
        let members = NamedMembers { members, name: String::new() };
        T::deserialize(MapAccessDeserializer::new(members)).map(ObjectOf)
    }
}

/// The members of an object, whose names begin the errors of their values.
struct NamedMembers<A> {
    members: A,
    /// The name of the member that is being read.
    name: String,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for NamedMembers<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(Name(name)) = self.members.next_key::<Name<'de>>()? else { return Ok(None) };
        self.name.clear();
        self.name.push_str(&name);
        let name: CowStrDeserializer<'_, A::Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        let value = self.members.next_value_seed(seed);
        value.map_err(|error| match error.to_string().starts_with(&self.name) {
            true => error,
            false => de::Error::custom(format_args!("{}: {error}", quoted(&self.name))),
        })
    }
}

/// Returns an object's members in their order, duplicates included.
///
/// # Errors
/// See [`ObjectError`].
pub fn members<'de, V: Deserialize<'de>>(text: &'de [u8]) -> Result<Vec<(String, V)>, ObjectError> {
    expect_object(text)?;
    let mut members = Vec::new();
    let read = each(text, |name, value| {
        members.push((name.into_owned(), value));
        true
    });
    read.map(|()| members).map_err(ObjectError::Unreadable)
}

/// Passes an object's members to `take` in their order, until it rejects one. A rejected member is reported before
/// faults after it. A name without escapes is a part of the text.
///
/// # Errors
/// A data error where the text begins as JSON of another kind or a member is rejected; any other error where it is not
/// JSON.
pub fn each<'de, V: Deserialize<'de>>(
    text: &'de [u8],
    take: impl FnMut(Cow<'de, str>, V) -> bool,
) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    reader.deserialize_map(Each { take, value: PhantomData })?;
    reader.end()
}

/// Returns a component's text as raw JSON, if it is an object whose names and texts can all be decoded:
/// `{"\ud800":1}` is JSON by its grammar only.
///
/// # Errors
/// When it is anything else.
pub fn as_written(text: String) -> serde_json::Result<Box<RawValue>> {
    each(text.as_bytes(), |_, _: Readable| true)?;
    RawValue::from_string(text)
}

/// Rejects other kinds, because a derived reader accepts an array as an object's members in order.
fn expect_object(text: &[u8]) -> Result<(), ObjectError> {
    if text.trim_ascii_start().starts_with(b"{") {
        return Ok(());
    }
    let IgnoredAny = serde_json::from_slice(text).map_err(ObjectError::Unreadable)?;
    Err(ObjectError::NotObject)
}

/// Any value, whose texts and numbers are read and not kept.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self, A::Error> {
        while elements.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct Each<F, V> {
    take: F,
    value: PhantomData<V>,
}

impl<'de, V: Deserialize<'de>, F: FnMut(Cow<'de, str>, V) -> bool> Visitor<'de> for Each<F, V> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((Name(name), value)) = map.next_entry()? {
            if !(self.take)(name, value) {
                return Err(de::Error::custom("a member is refused"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::Value;

    use super::*;

    #[test]
    fn only_an_object_is_an_object() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Point {
            x: u8,
        }
        assert_eq!(object::<Point>(br#" {"x":1,"y":2}"#).unwrap(), Point { x: 1 });
        for text in ["[1]", "1", "\"x\"", "null"] {
            let refused = object::<Point>(text.as_bytes()).unwrap_err();
            assert!(matches!(refused, ObjectError::NotObject), "{text}: {refused}");
            assert_eq!(refused.to_string(), "the body must be a JSON object", "{text}");
        }
        for text in ["", "{", "[1", r#"{"x":300}"#, r#"{}"#] {
            let refused = object::<Point>(text.as_bytes()).unwrap_err().to_string();
            assert!(!refused.contains("struct"), "{text}: {refused}");
        }
    }

    #[test]
    fn errors_name_the_wrong_member() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Inner {
            _y: String,
        }
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Outer {
            _x: Option<u64>,
            _inner: Option<ObjectOf<Inner>>,
        }
        let read = |text: &str| object::<Outer>(text.as_bytes());
        assert!(read(r#"{"_x":1,"_inn\u0065r":{"_y":"a"}}"#).is_ok());
        assert!(read(r#"{"_inner":null}"#).is_ok());
        for (text, wanted) in [
            (r#"{"_x":"a"}"#, "_x: invalid type: string \"a\", expected a whole number at line 1 column 9"),
            (
                r#"{"_x":1,"_inner":["a"]}"#,
                "_inner: invalid type: sequence, expected an object at line 1 column 17",
            ),
            (
                r#"{"_inner":{"_y":1}}"#,
                "_inner: _y: invalid type: integer `1`, expected a string at line 1 column 17",
            ),
            (r#"{"_inner":{}}"#, "_inner: missing field `_y` at line 1 column 12"),
            (r#"{"_x":"#, "_x: EOF while parsing a value at line 1 column 6"),
            (r#"{"_x":1,"_x":2}"#, "duplicate field `_x` at line 1 column 12"),
            (r#"{"z":1}"#, "unknown field `z`, expected `_x` or `_inner` at line 1 column 4"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), wanted, "{text}");
        }
    }

    #[test]
    fn members_keep_their_order_and_duplicates() {
        let read = members::<Value>(br#" {"b":1,"a":null,"\u0062":"c"} "#).unwrap();
        let read: Vec<_> = read.into_iter().map(|(name, value)| format!("{name} {value}")).collect();
        assert_eq!(read, ["b 1", "a null", "b \"c\""]);
    }

    #[test]
    fn rejected_member_precedes_later_faults() {
        let read =
            |text: &'static str| each(text.as_bytes(), |name, _: &'static RawValue| name != "b").unwrap_err();
        for text in [r#"{"a":1,"b":2"#, r#"{"b":{},"#, "[", "1"] {
            assert!(read(text).is_data(), "{text}");
        }
        for text in ["", "{", r#"{"b":"#, r#"{"a":1,}"#, "{}{}"] {
            assert!(!read(text).is_data(), "{text}");
        }
    }

    #[test]
    fn raw_object_is_kept_as_written() {
        let text = r#"{"b":1.50, "a":{"n":[null,true,-1,"\u00e4"]}}"#;
        assert_eq!(as_written(text.into()).unwrap().get(), text);
    }

    #[test]
    fn anything_but_a_readable_object_is_refused() {
        let texts = [
            "",
            "1",
            "null",
            "\"a\"",
            "[{}]",
            "{}{}",
            r#"{"\ud800":1}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":[{"\ud800":1}]}"#,
            r#"{"a":1e999}"#,
        ];
        for text in texts {
            assert!(as_written(text.into()).is_err(), "{text}");
        }
    }
}
