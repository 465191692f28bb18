//! Which action a category leads to.

pub mod conditions;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use conditions::{Condition, Facts};

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

impl Rule {
    /// Name of the action for a ticket with these facts.
    pub(crate) fn action(&self, facts: &Facts) -> &str {
        let met = self.conditions.iter().filter(|condition| condition.is_met(facts));
        // Of equal priorities `min_by_key` takes the first.
        met.min_by_key(|condition| condition.priority)
            .map_or(&self.action_name, |condition| &condition.action_name)
    }
}
