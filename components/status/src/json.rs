//! JSON objects with ordered members, and numbers in the wire format.

use serde::{Serialize, Serializer, ser::SerializeMap};

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Json {
    Integer(i64),
    /// Written without a fraction if it has none.
    Float(f64),
    Text(String),
    Object(Object),
}

/// An object whose members keep their insertion order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(Vec<(String, Json)>);

impl Object {
    /// Appends a member.
    pub fn put(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        self.0.push((name.into(), value.into()));
    }

    /// Appends a member if `value` is `Some`.
    pub fn put_some(&mut self, name: &str, value: Option<impl Into<Json>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// Appends an object unless it is empty.
    pub fn put_filled(&mut self, name: &str, object: Self) {
        if !object.0.is_empty() {
            self.put(name, Json::Object(object));
        }
    }

    /// Serialises it to text.
    pub fn text(&self) -> String {
        // Writing text and finite numbers into memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<f64> for Json {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Float(number) if number.fract() == 0.0 => serializer.serialize_i64(*number as i64),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Object(object) => object.serialize(serializer),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_keeps_order_and_integers_lack_fraction() {
        let mut object = Object::default();
        object.put("z", 0.0);
        object.put("a", 0.01);
        object.put_some("absent", None::<u64>);
        object.put_filled("empty", Object::default());
        object.put("m", "ü/\"");
        assert_eq!(object.text(), r#"{"z":0,"a":0.01,"m":"ü/\""}"#);
    }
}
