//! The members of a JSON object, in their order and their original text.

use bulkhead_http::json;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;

/// The members of a JSON object, each with its raw value.
#[derive(Debug, Default)]
pub struct JsonMembers(pub Vec<(String, Box<RawValue>)>);

impl JsonMembers {
    /// Returns the members of an object; `None` for any other value.
    pub fn of(value: &RawValue) -> Option<Self> {
        json::members(value.get().as_bytes()).ok().map(Self)
    }

    /// Returns the object of these members.
    pub fn object(&self) -> Option<Box<RawValue>> {
        serde_json::value::to_raw_value(self).ok()
    }
}

impl Serialize for JsonMembers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
