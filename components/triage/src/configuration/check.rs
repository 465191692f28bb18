//! What a configuration must keep. All violations are found in one go.

use std::collections::HashSet;

use super::{ActionType, Category, CategorySettings, Configuration, Invalid, Settings, note};
use crate::rules::Rule;
use bulkhead_ticket_text::extract::pattern::{Pattern, PatternSettings};

/// Makes a pattern, or says what is wrong with it.
pub(super) type Compile = fn(PatternSettings) -> Result<Pattern, String>;

/// Checks `settings`; `compile` is what makes their patterns.
pub(super) fn check(settings: Settings, compile: Compile) -> Result<Configuration, Invalid> {
    let mut violations = Vec::new();
    names("category", settings.categories.iter().map(|category| category.name.as_str()), &mut violations);
    names("action", settings.actions.iter().map(|action| action.name.as_str()), &mut violations);
    let no_category =
        settings.categories.iter().position(|category| category.name == settings.no_category_name);
    if no_category.is_none() {
        violations.push(format!("no_category_name {:?} names no category", settings.no_category_name));
    }
    let no_action = settings.actions.iter().position(|action| action.name == settings.no_action_name);
    if no_action.is_none() {
        violations.push(format!("no_action_name {:?} names no action", settings.no_action_name));
    }
    actions(&settings, &mut violations);
    settings.action_rules.iter().for_each(|rule| check_rule(rule, &settings, &mut violations));
    numbers(&settings, &mut violations);
    settings.preparser.check(&mut violations);
    let threshold = settings.threshold;
    let categories = settings
        .categories
        .into_iter()
        .map(|category| checked(category, threshold, compile, &mut violations))
        .collect();
    let (Some(no_category), Some(no_action), true) = (no_category, no_action, violations.is_empty()) else {
        return Err(Invalid(violations));
    };
    Ok(Configuration {
        categories,
        no_category,
        actions: settings.actions,
        no_action,
        no_action_internal_note: settings.no_action_internal_note,
        action_rules: settings.action_rules,
        margin: settings.margin,
        max_user_text_length: settings.max_user_text_length as usize,
        preparser: settings.preparser,
    })
}

/// At least one, none blank, none twice.
fn names<'n>(what: &str, names: impl Iterator<Item = &'n str>, violations: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for name in names {
        if name.trim().is_empty() {
            violations.push(format!("an {what} has a blank name").replacen("an c", "a c", 1));
        } else if !seen.insert(name) {
            violations.push(format!("{what} {name:?} is configured twice"));
        }
    }
    if seen.is_empty() {
        violations.push(format!("no {what} is configured: at least one is needed"));
    }
}

fn actions(settings: &Settings, violations: &mut Vec<String>) {
    for action in &settings.actions {
        let blank = action.answer.as_deref().is_none_or(|answer| answer.trim().is_empty());
        if action.kind == ActionType::StaticAnswer && blank {
            violations.push(format!("action {:?} is a StaticAnswer without an answer", action.name));
        }
    }
    let filled = settings.no_action_internal_note.as_deref().map(|template| note::fill(template, |_| ""));
    if let Some(Err(reason)) = filled {
        violations.push(format!("no_action_internal_note {reason}"));
    }
}

fn check_rule(rule: &Rule, settings: &Settings, violations: &mut Vec<String>) {
    let of = format!("the rule for category {:?}", rule.category_name);
    if !settings.categories.iter().any(|category| category.name == rule.category_name) {
        violations.push(format!("{of} names no category"));
    }
    let known = |name: &str| settings.actions.iter().any(|action| action.name == name);
    if !known(&rule.action_name) {
        violations.push(format!("{of} leads to the unknown action {:?}", rule.action_name));
    }
    for condition in &rule.conditions {
        if !known(&condition.action_name) {
            violations
                .push(format!("a condition of {of} leads to the unknown action {:?}", condition.action_name));
        }
        if let Err(reason) = condition.check() {
            violations.push(format!("a condition of {of} {reason}"));
        }
    }
}

fn numbers(settings: &Settings, violations: &mut Vec<String>) {
    let own = settings.categories.iter().filter_map(|category| {
        Some((format!("threshold of category {:?}", category.name), category.threshold?))
    });
    let common = [("threshold".to_owned(), settings.threshold), ("margin".to_owned(), settings.margin)];
    for (what, number) in common.into_iter().chain(own) {
        if !(0.0..=1.0).contains(&number) {
            violations.push(format!("{what} is {number}, it must be 0 to 1"));
        }
    }
    if settings.max_user_text_length == 0 {
        violations.push("max_user_text_length is 0, it must be at least 1".to_owned());
    }
}

fn checked(
    category: CategorySettings,
    threshold: f32,
    compile: Compile,
    violations: &mut Vec<String>,
) -> Category {
    let mut extract: Vec<Pattern> = Vec::new();
    for pattern in category.extract {
        let of = format!("pattern {:?} of category {:?}", pattern.name, category.name);
        if extract.iter().any(|other| other.name() == pattern.name) {
            violations.push(format!("{of} is configured twice"));
        }
        match compile(pattern) {
            Ok(pattern) => extract.push(pattern),
            Err(reason) => violations.push(format!("{of} {reason}")),
        }
    }
    let description = category.description.unwrap_or_default();
    let lines = description.lines().map(str::trim).map(str::to_owned);
    let examples =
        category.examples.into_iter().chain(lines).filter(|example| !example.trim().is_empty()).collect();
    Category {
        threshold: category.threshold.unwrap_or(threshold),
        name: category.name,
        auto_publish: category.auto_publish,
        examples,
        extract,
    }
}
