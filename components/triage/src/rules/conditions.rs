//! Conditions on what a ticket says, compared by type.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// The text that stands for a processing id that a ticket does not give.
pub const UNKNOWN: &str = "unknown";

/// What a ticket says of the request it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Days since the request was made.
    pub days_since_request: Option<i64>,
    /// The number under which the request is processed.
    pub processing_id: Option<String>,
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

impl Operator {
    fn orders(self) -> bool {
        !matches!(self, Self::Equals | Self::NotEquals)
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equals => ordering.is_eq(),
            Self::NotEquals => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessEquals => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterEquals => ordering.is_ge(),
        }
    }
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
    /// Whether the ticket meets it. What a ticket does not say equals nothing, differs from everything and
    /// stands in no order; only a processing id that is not given equals the text [`UNKNOWN`].
    pub fn is_met(&self, facts: &Facts) -> bool {
        let ordering = match (self.field, &self.value) {
            (Field::DaysSinceRequest, Value::Integer(value)) => {
                facts.days_since_request.map(|days| days.cmp(value))
            }
            (Field::ProcessingId, Value::Text(value)) => match &facts.processing_id {
                Some(id) => Some(id.as_str().cmp(value)),
                None if value == UNKNOWN && !self.operator.orders() => Some(Ordering::Equal),
                None => None,
            },
            _ => None,
        };
        match ordering {
            Some(ordering) => self.operator.holds(ordering),
            None => self.operator == Operator::NotEquals,
        }
    }

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
