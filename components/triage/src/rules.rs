//! Evaluates an action rule: compares its conditions with the facts of a ticket by type.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use bulkhead_triage_configuration::rules::{Condition, Field, Operator, Rule, Value};

/// The text compared if a ticket gives no processing id.
pub const UNKNOWN: &str = "unknown";

/// The facts that a ticket states about its request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Days since the request was made.
    pub days_since_request: Option<i64>,
    /// The processing id of the request.
    pub processing_id: Option<String>,
}

/// Returns the name of the action that `rule` leads to for a ticket with these facts.
pub(crate) fn action<'r>(rule: &'r Rule, facts: &Facts) -> &'r str {
    let met = rule.conditions.iter().filter(|condition| is_met(condition, facts));
    // Of equal priorities `min_by_key` takes the first.
    met.min_by_key(|condition| condition.priority)
        .map_or(&rule.action_name, |condition| &condition.action_name)
}

/// Returns whether the ticket meets `condition`. A missing fact equals nothing, differs from everything and has no
/// order; only a missing processing id equals the text [`UNKNOWN`].
fn is_met(condition: &Condition, facts: &Facts) -> bool {
    let ordering = match (condition.field, &condition.value) {
        (Field::DaysSinceRequest, Value::Integer(value)) => {
            facts.days_since_request.map(|days| days.cmp(value))
        }
        (Field::ProcessingId, Value::Text(value)) => match &facts.processing_id {
            Some(id) => Some(id.as_str().cmp(value)),
            None if value == UNKNOWN && !orders(condition.operator) => Some(Ordering::Equal),
            None => None,
        },
        _ => None,
    };
    match ordering {
        Some(ordering) => holds(condition.operator, ordering),
        None => condition.operator == Operator::NotEquals,
    }
}

fn orders(operator: Operator) -> bool {
    !matches!(operator, Operator::Equals | Operator::NotEquals)
}

fn holds(operator: Operator, ordering: Ordering) -> bool {
    match operator {
        Operator::Equals => ordering.is_eq(),
        Operator::NotEquals => ordering.is_ne(),
        Operator::Less => ordering.is_lt(),
        Operator::LessEquals => ordering.is_le(),
        Operator::Greater => ordering.is_gt(),
        Operator::GreaterEquals => ordering.is_ge(),
    }
}
