//! Reads the members of a table with their types. A wrong member is recorded and replaced by a default.

use bulkhead_triage_configuration::pattern::PatternType;
use bulkhead_triage_configuration::rules::{self, Field, Operator};
use bulkhead_triage_configuration::{ActionType, Violation};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// A type of members.
pub(super) trait Kind: DeserializeOwned {
    /// The type in words, for error texts.
    const WORDS: &'static str;
}

macro_rules! kinds {
    ($($kind:ty: $words:literal,)*) => {
        $(impl Kind for $kind {
            const WORDS: &'static str = $words;
        })*
    };
}

kinds! {
    String: "text",
    bool: "true or false",
    f32: "a number",
    i64: "a whole number",
    u32: "a whole number, 0 or more",
    usize: "a whole number, 0 or more",
    ActionType: "one of AIAnswer, NoAction, StaticAnswer",
    Field: "one of days_since_request, processing_id",
    Operator: "one of equals, not_equals, less, less_equals, greater, greater_equals",
    rules::Value: "true or false, a whole number or text",
    PatternType: "one of text, integer, number, date, iban, email",
    FormType: "table",
}

/// The format that a preparser reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FormType {
    /// A Markdown table.
    Table,
}

/// The violations found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Members that are missing or have a wrong type.
    pub(super) wrong: Vec<Violation>,
    /// Unknown members.
    pub(super) unknown: Vec<Violation>,
}

/// A table that is being read.
pub(super) struct Entry<'f> {
    found: &'f mut Found,
    path: String,
    /// `None` if the value is not a table: then no member is missing.
    members: Option<Map<String, Value>>,
    known: Vec<&'static str>,
}

impl<'f> Entry<'f> {
    /// Reads `value` at `path` with `read`; records one violation if it is not a table, and the members that were not read as
    /// unknown.
    pub(super) fn whole<T>(
        found: &'f mut Found,
        path: String,
        value: Value,
        read: fn(&mut Entry<'_>) -> T,
    ) -> T {
        let members = match value {
            Value::Object(members) => Some(members),
            other => {
                found.wrong.push(refused(path.clone(), "a table", &other));
                None
            }
        };
        let mut entry = Entry { found, path, members, known: Vec::new() };
        let whole = read(&mut entry);
        for name in entry.members.iter().flat_map(Map::keys) {
            let text = format!("unknown member; known here: {}", entry.known.join(", "));
            entry.found.unknown.push(Violation::at(join(&entry.path, name), text));
        }
        whole
    }

    /// Reads a required member; the type's default replaces a wrong one.
    pub(super) fn required<T: Kind + Default>(&mut self, name: &'static str) -> T {
        self.required_or(name, T::default())
    }

    /// Reads a required member; `standin` replaces a wrong one.
    pub(super) fn required_or<T: Kind>(&mut self, name: &'static str, stand_in: T) -> T {
        match self.take(name) {
            Some(value) => self.read(name, value).unwrap_or(stand_in),
            None => {
                self.missing(name, T::WORDS);
                stand_in
            }
        }
    }

    /// Reads an optional member.
    pub(super) fn optional<T: Kind>(&mut self, name: &'static str) -> Option<T> {
        let value = self.take(name)?;
        self.read(name, value)
    }

    /// Reads a list of tables. A missing list is a violation if it `must` be there.
    pub(super) fn tables<T>(
        &mut self,
        name: &'static str,
        must: bool,
        each: fn(&mut Entry<'_>) -> T,
    ) -> Vec<T> {
        self.list(name, must, |found, path, value| Entry::whole(found, path, value, each))
    }

    /// Reads a list of texts.
    pub(super) fn texts(&mut self, name: &'static str) -> Vec<String> {
        self.list(name, false, |found, path, value| read(found, path, value).unwrap_or_default())
    }

    fn list<T>(
        &mut self,
        name: &'static str,
        must: bool,
        mut each: impl FnMut(&mut Found, String, Value) -> T,
    ) -> Vec<T> {
        let path = self.below(name);
        match self.take(name) {
            Some(Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                items.map(|(index, item)| each(self.found, format!("{path}[{index}]"), item)).collect()
            }
            Some(other) => {
                self.found.wrong.push(refused(path, "a list", &other));
                Vec::new()
            }
            None if must => {
                self.missing(name, "a list");
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// Reads an optional table.
    pub(super) fn table<T>(&mut self, name: &'static str, each: fn(&mut Entry<'_>) -> T) -> Option<T> {
        let value = self.take(name)?;
        let path = self.below(name);
        Some(Entry::whole(self.found, path, value, each))
    }

    /// Takes a member out of the table; `null` counts as missing.
    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.members.as_mut()?.remove(name).filter(|value| !value.is_null())
    }

    fn read<T: Kind>(&mut self, name: &str, value: Value) -> Option<T> {
        let path = self.below(name);
        read(self.found, path, value)
    }

    fn missing(&mut self, name: &str, words: &str) {
        if self.members.is_none() {
            return;
        }
        let path = self.below(name);
        self.found.wrong.push(Violation::at(path, format!("is missing, it must be {words}")));
    }

    fn below(&self, name: &str) -> String {
        join(&self.path, name)
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn read<T: Kind>(found: &mut Found, path: String, value: Value) -> Option<T> {
    let violation = refused(path, T::WORDS, &value);
    let read = serde_json::from_value(value).ok();
    if read.is_none() {
        found.wrong.push(violation);
    }
    read
}

fn refused(path: String, words: &str, value: &Value) -> Violation {
    let found = match value {
        Value::Null => "nothing".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        scalar => scalar.to_string(),
    };
    Violation::at(path, format!("is {found}, it must be {words}"))
}
