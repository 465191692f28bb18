//! Which action a category leads to, and on which conditions.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// What happens with the tickets of one category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name of the category.
    pub category_name: String,
    /// Name of the action unless a condition is met.
    pub action_name: String,
    /// Exceptions; among those that are met, the lowest priority counts.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Whole days.
    DaysSinceRequest,
    /// Text.
    ProcessingId,
}

/// How it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// ==
    Equals,
    /// !=
    NotEquals,
    /// <
    Less,
    /// <=
    LessEquals,
    /// >
    Greater,
    /// >=
    GreaterEquals,
}

/// What it is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(String),
}

/// An exception from a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Lower ones are looked at first.
    pub priority: i64,
    /// What is compared.
    pub field: Field,
    /// How.
    pub operator: Operator,
    /// With what.
    pub value: Value,
    /// Name of the action when it is met.
    pub action_name: String,
}

impl Condition {
    /// Whether the value has the field's type: another could never be met, or always.
    ///
    /// # Errors
    ///
    /// With what the value must be.
    pub fn check(&self) -> Result<(), &'static str> {
        match (self.field, &self.value) {
            (Field::DaysSinceRequest, Value::Integer(_)) | (Field::ProcessingId, Value::Text(_)) => Ok(()),
            (Field::DaysSinceRequest, _) => Err("compares days_since_request with no whole number"),
            (Field::ProcessingId, _) => Err("compares processing_id with no text: put the value in quotes"),
        }
    }
}
