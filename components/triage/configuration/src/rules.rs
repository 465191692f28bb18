//! Rules that map a category to an action, with conditions.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// The action for tickets of one category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name of the category.
    pub category_name: String,
    /// Name of the action if no condition is met.
    pub action_name: String,
    /// Exceptions; of those that are met, the one with the lowest priority number counts.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// The compared field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Whole days.
    DaysSinceRequest,
    /// Text.
    ProcessingId,
}

/// The comparison.
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

/// The value to compare with.
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

/// An exception to a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Conditions with lower numbers are checked first.
    pub priority: i64,
    /// The compared field.
    pub field: Field,
    /// The comparison.
    pub operator: Operator,
    /// The value to compare with.
    pub value: Value,
    /// Name of the action if it is met.
    pub action_name: String,
}

impl Condition {
    /// Checks that the value has the field's type: any other is met never or always.
    ///
    /// # Errors
    ///
    /// Fails with the type that the value must have.
    pub fn check(&self) -> Result<(), &'static str> {
        match (self.field, &self.value) {
            (Field::DaysSinceRequest, Value::Integer(_)) | (Field::ProcessingId, Value::Text(_)) => Ok(()),
            (Field::DaysSinceRequest, _) => {
                Err("compares days_since_request with a value that is not a whole number")
            }
            (Field::ProcessingId, _) => {
                Err("compares processing_id with a value that is not text: put it in quotes")
            }
        }
    }
}
