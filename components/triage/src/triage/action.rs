//! Selects the action for a category.

#[cfg(test)]
mod tests;

use bulkhead_triage_configuration::Configuration;

use crate::rules::{self, Facts};

/// Returns the name of the action for a ticket of `category`. The first rule of a category counts; a category without
/// a rule and tickets of no category lead to the default action.
pub(super) fn action_name<'c>(configuration: &'c Configuration, category: &str, facts: &Facts) -> &'c str {
    let none = configuration.no_action().map_or("", |action| action.name.as_str());
    if configuration.no_category().is_none_or(|no_category| no_category.name == category) {
        return none;
    }
    let rule = configuration.action_rules.iter().find(|rule| rule.category_name == category);
    rule.map_or(none, |rule| rules::action(rule, facts))
}
