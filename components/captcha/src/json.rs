//! Strict JSON: no duplicate members, bounded depth, numbers as ECMAScript sees them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::error::Error;

/// Maximum nesting depth; a payload of the protocol needs four.
pub const MAX_DEPTH: u32 = 32;

/// Members of an object by name.
pub type Object = BTreeMap<String, Value>;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// The double nearest to the text, as in ECMAScript. Always finite.
    Number(f64),
    /// Text.
    String(String),
    /// Values in order.
    Array(Vec<Value>),
    /// Members by name.
    Object(Object),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

/// Parses `text` as one JSON value, at most [`MAX_DEPTH`] deep, without duplicate members.
pub fn parse(text: &str) -> Result<Value, Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Reader { depth: 0 }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| Error::Malformed(format!("payload is not acceptable JSON: {error}")))
}

struct Reader {
    depth: u32,
}

impl Reader {
    fn inner<E: serde::de::Error>(&self) -> Result<Self, E> {
        match self.depth + 1 {
            depth if depth > MAX_DEPTH => Err(E::custom("nested too deeply")),
            depth => Ok(Self { depth }),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self.inner()?)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        while let Some(name) = access.next_key::<String>()? {
            let value = access.next_value_seed(self.inner()?)?;
            match object.entry(name) {
                Entry::Vacant(entry) => drop(entry.insert(value)),
                Entry::Occupied(_) => return Err(A::Error::custom("duplicate member")),
            }
        }
        Ok(Value::Object(object))
    }
}

/// Typed access to an object's members. An absent member and `null` are the same; a member of another type is
/// [`Error::Malformed`], named by its path.
#[derive(Debug, Clone, Copy)]
pub struct Members<'a> {
    path: &'static str,
    object: &'a Object,
}

impl<'a> Members<'a> {
    /// Wraps the members of `object`, which errors call `path`.
    pub fn new(path: &'static str, object: &'a Object) -> Self {
        Self { path, object }
    }

    /// Returns the object itself.
    pub fn object(self) -> &'a Object {
        self.object
    }

    /// Returns the member, unless absent or null.
    pub fn get(self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !matches!(value, Value::Null))
    }

    /// Returns a text member.
    pub fn string(self, name: &str) -> Result<Option<&'a str>, Error> {
        self.typed(name, "a string", |value| match value {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns a number member.
    pub fn number(self, name: &str) -> Result<Option<f64>, Error> {
        self.typed(name, "a number", |value| match value {
            Value::Number(number) => Some(*number),
            _ => None,
        })
    }

    /// Returns a whole number from 0 to 2^32 - 1.
    pub fn integer(self, name: &str) -> Result<Option<u32>, Error> {
        self.typed(name, "an integer from 0 to 4294967295", |value| match value {
            Value::Number(number) if (0.0..=u32::MAX.into()).contains(number) => {
                (number.fract() == 0.0).then_some(*number as u32)
            }
            _ => None,
        })
    }

    /// Returns an object member, whose path in errors is `path`.
    pub fn members(self, name: &str, path: &'static str) -> Result<Option<Members<'a>>, Error> {
        self.typed(name, "an object", |value| match value {
            Value::Object(object) => Some(Members { path, object }),
            _ => None,
        })
    }

    /// Returns the error for a required member that is missing.
    pub fn missing(self, name: &str) -> Error {
        Error::Malformed(format!("{}.{name} is missing", self.path))
    }

    fn typed<T>(
        self,
        name: &str,
        kind: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(Error::Malformed(format!("{}.{name} must be {kind}", self.path))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn depth_is_capped() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(32)).is_ok());
        let error = parse(&nested(33)).unwrap_err().to_string();
        assert!(error.contains("nested too deeply"), "{error}");
        assert!(parse(&nested(100_000)).is_err());
        let objects = format!("{}1{}", r#"{"a":"#.repeat(33), "}".repeat(33));
        assert!(parse(&objects).is_err());
    }

    #[test]
    fn duplicates_are_refused_even_when_spelt_differently() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"{"x":{"a":1,"b":2,"a":3}}"#] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("duplicate member"), "{error}");
        }
        assert!(parse(r#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
    }

    #[test]
    fn numbers_are_doubles_and_finite() {
        let number = |text| {
            parse(text).map(|value| match value {
                Value::Number(number) => number,
                other => unreachable!("{other:?}"),
            })
        };
        assert_eq!(number("9007199254740993").unwrap(), 9_007_199_254_740_992.0);
        assert_eq!(number("123456789012345678901234567890").unwrap(), 1.234_567_890_123_456_8e29);
        assert_eq!(number("1e-400").unwrap(), 0.0);
        assert!(number("1e400").is_err());
        assert!(number("-1e999999999999").is_err());
        for text in ["01", "+1", ".5", "1.", "0x10", "NaN", "Infinity", "1_0"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn broken_json_is_refused() {
        for text in
            ["", " ", "{} {}", "{}x", "{'a':1}", "{\"a\":1,}", "[1,]", "\"\\ud800\"", "\"\u{1}\"", "nul"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(" {\"a\" : [ 1 , null ] } \n").is_ok());
    }

    #[test]
    fn integers_are_exact() {
        let read = |text: &str| {
            let Value::Object(object) = parse(&format!("{{\"n\":{text}}}")).unwrap() else { unreachable!() };
            Members::new("payload", &object).integer("n")
        };
        assert_eq!(read("4294967295").unwrap(), Some(u32::MAX));
        assert_eq!(read("371.0").unwrap(), Some(371));
        assert_eq!(read("-0").unwrap(), Some(0));
        assert_eq!(read("null").unwrap(), None);
        for text in ["4294967296", "-1", "0.5", "\"1\"", "true", "[1]", "1e10"] {
            let error = read(text).unwrap_err().to_string();
            assert_eq!(error, "payload.n must be an integer from 0 to 4294967295");
        }
    }
}
