//! Which action a category leads to.

pub mod conditions;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::configuration::Configuration;
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
    fn action(&self, facts: &Facts) -> &str {
        let met = self.conditions.iter().filter(|condition| condition.is_met(facts));
        // Of equal priorities `min_by_key` takes the first.
        met.min_by_key(|condition| condition.priority)
            .map_or(&self.action_name, |condition| &condition.action_name)
    }
}

/// Name of the action for a ticket of `category`. The first rule of a category counts; a category without one
/// and tickets of no category lead to the action where no rule says otherwise.
pub fn action_name<'c>(configuration: &'c Configuration, category: &str, facts: &Facts) -> &'c str {
    let none = configuration.no_action().map_or("", |action| action.name.as_str());
    if configuration.no_category().is_none_or(|no_category| no_category.name == category) {
        return none;
    }
    let rule = configuration.action_rules.iter().find(|rule| rule.category_name == category);
    rule.map_or(none, |rule| rule.action(facts))
}
