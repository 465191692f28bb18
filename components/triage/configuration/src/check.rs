//! Checks of a configuration, which report all violations at once.

use std::collections::HashSet;

use super::{
    ActionType, Category, CategorySettings, Configuration, Examples, Invalid, Settings, Violation, note,
};
use crate::pattern::{Pattern, PatternSettings};
use crate::rules::Rule;

/// Compiles a pattern, or returns what is wrong with it.
pub(super) type Compile = fn(PatternSettings) -> Result<Pattern, String>;

/// Lists with unreadable names: any name may be one of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gaps {
    /// Whether a category's name is unreadable.
    pub categories: bool,
    /// Whether an action's name is unreadable.
    pub actions: bool,
}

/// Checks `settings`; `compile` compiles their patterns.
pub(super) fn check(settings: Settings, compile: Compile, gaps: Gaps) -> Result<Configuration, Invalid> {
    let mut violations = Vec::new();
    names(
        "category",
        "categories",
        settings.categories.iter().map(|category| &category.name),
        &mut violations,
    );
    names("action", "actions", settings.actions.iter().map(|action| &action.name), &mut violations);
    let no_category =
        settings.categories.iter().position(|category| category.name == settings.no_category_name);
    if no_category.is_none() && !gaps.categories {
        let text = format!("no_category_name {:?} names no category", settings.no_category_name);
        violations.push(Violation::at("no_category_name", text));
    }
    let no_action = settings.actions.iter().position(|action| action.name == settings.no_action_name);
    if no_action.is_none() && !gaps.actions {
        let text = format!("no_action_name {:?} names no action", settings.no_action_name);
        violations.push(Violation::at("no_action_name", text));
    }
    let auto_reply =
        settings.auto_reply.as_deref().and_then(|name| silent_action(name, &settings, gaps, &mut violations));
    if settings.office.as_deref().is_some_and(|office| office.trim().is_empty()) {
        violations.push(Violation::at("office", "office is blank"));
    }
    actions(&settings, &mut violations);
    for (index, rule) in settings.action_rules.iter().enumerate() {
        check_rule(index, rule, &settings, gaps, &mut violations);
    }
    numbers(&settings, &mut violations);
    settings.preparser.check(&mut violations);
    let threshold = settings.threshold;
    let categories = settings
        .categories
        .into_iter()
        .enumerate()
        .map(|(index, category)| checked(index, category, threshold, compile, &mut violations))
        .collect();
    let (Some(no_category), Some(no_action), true) = (no_category, no_action, violations.is_empty()) else {
        return Err(Invalid(violations));
    };
    Ok(Configuration {
        categories,
        no_category,
        actions: settings.actions,
        no_action,
        auto_reply,
        office: settings.office,
        no_action_internal_note: settings.no_action_internal_note,
        action_rules: settings.action_rules,
        margin: settings.margin,
        max_user_text_length: settings.max_user_text_length as usize,
        preparser: settings.preparser,
    })
}

/// Requires at least one name, none blank, none twice.
fn names<'n>(
    what: &str,
    list: &str,
    names: impl Iterator<Item = &'n String>,
    violations: &mut Vec<Violation>,
) {
    let mut seen = HashSet::new();
    let mut any = false;
    for (index, name) in names.enumerate() {
        any = true;
        let path = || format!("{list}[{index}].name");
        if name.trim().is_empty() {
            let text = format!("an {what} has a blank name").replacen("an c", "a c", 1);
            violations.push(Violation::at(path(), text));
        } else if !seen.insert(name) {
            violations.push(Violation::at(path(), format!("{what} {name:?} is configured twice")));
        }
    }
    if !any {
        violations.push(Violation::at(list, format!("no {what} is configured: at least one is needed")));
    }
}

/// Returns the index of the action for mails that programs send. It must not answer, because a program may answer again.
fn silent_action(
    name: &str,
    settings: &Settings,
    gaps: Gaps,
    violations: &mut Vec<Violation>,
) -> Option<usize> {
    let found = settings.actions.iter().enumerate().find(|(_, action)| action.name == name);
    let text = match found {
        Some((index, action)) if action.kind == ActionType::NoAction => return Some(index),
        Some(_) => format!("auto_reply {name:?} must be a NoAction: programs would answer each other"),
        None if gaps.actions => return None,
        None => format!("auto_reply {name:?} names no action"),
    };
    violations.push(Violation::at("auto_reply", text));
    None
}

fn actions(settings: &Settings, violations: &mut Vec<Violation>) {
    for (index, action) in settings.actions.iter().enumerate() {
        let blank = action.answer.as_deref().is_none_or(|answer| answer.trim().is_empty());
        if action.kind == ActionType::StaticAnswer && blank {
            let text = format!("action {:?} is a StaticAnswer without an answer", action.name);
            violations.push(Violation::at(format!("actions[{index}].answer"), text));
        }
    }
    let filled = settings.no_action_internal_note.as_deref().map(|template| note::fill(template, |_| ""));
    if let Some(Err(reason)) = filled {
        let text = format!("no_action_internal_note {reason}");
        violations.push(Violation::at("no_action_internal_note", text));
    }
}

fn check_rule(at: usize, rule: &Rule, settings: &Settings, gaps: Gaps, violations: &mut Vec<Violation>) {
    let path = || format!("action_rules[{at}]");
    let of = || format!("the rule for category {:?}", rule.category_name);
    let categories = &settings.categories;
    if !gaps.categories && !categories.iter().any(|category| category.name == rule.category_name) {
        let text = format!("{} names no category", of());
        violations.push(Violation::at(format!("{}.category_name", path()), text));
    }
    let known = |name: &str| gaps.actions || settings.actions.iter().any(|action| action.name == name);
    if !known(&rule.action_name) {
        let text = format!("{} leads to the unknown action {:?}", of(), rule.action_name);
        violations.push(Violation::at(format!("{}.action_name", path()), text));
    }
    for (index, condition) in rule.conditions.iter().enumerate() {
        let path = || format!("{}.conditions[{index}]", path());
        if !known(&condition.action_name) {
            let action = &condition.action_name;
            let text = format!("a condition of {} leads to the unknown action {action:?}", of());
            violations.push(Violation::at(format!("{}.action_name", path()), text));
        }
        if let Err(reason) = condition.check() {
            violations.push(Violation::at(path(), format!("a condition of {} {reason}", of())));
        }
    }
}

fn numbers(settings: &Settings, violations: &mut Vec<Violation>) {
    let is_outside = |number: &f32| !(0.0..=1.0).contains(number);
    let own = settings.categories.iter().enumerate().filter_map(|(index, category)| {
        let number = category.threshold.filter(is_outside)?;
        let what = format!("threshold of category {:?}", category.name);
        Some((format!("categories[{index}].threshold"), what, number))
    });
    let common = [("threshold", settings.threshold), ("margin", settings.margin)];
    let common = common.into_iter().filter(|(_, number)| is_outside(number));
    let common = common.map(|(name, number)| (name.to_owned(), name.to_owned(), number));
    for (path, what, number) in common.chain(own) {
        violations.push(Violation::at(path, format!("{what} is {number}, it must be 0 to 1")));
    }
    if settings.max_user_text_length == 0 {
        let text = "max_user_text_length is 0, it must be at least 1";
        violations.push(Violation::at("max_user_text_length", text));
    }
}

fn checked(
    index: usize,
    category: CategorySettings,
    threshold: f32,
    compile: Compile,
    violations: &mut Vec<Violation>,
) -> Category {
    let mut extract: Vec<Pattern> = Vec::new();
    for (number, pattern) in category.extract.into_iter().enumerate() {
        let path = format!("categories[{index}].extract[{number}]");
        let of = format!("pattern {:?} of category {:?}", pattern.name, category.name);
        if extract.iter().any(|other| other.name() == pattern.name) {
            violations.push(Violation::at(format!("{path}.name"), format!("{of} is configured twice")));
        }
        match compile(pattern) {
            Ok(pattern) => extract.push(pattern),
            Err(reason) => violations.push(Violation::at(path, format!("{of} {reason}"))),
        }
    }
    Category {
        threshold: category.threshold.unwrap_or(threshold),
        name: category.name,
        auto_publish: category.auto_publish,
        examples: Examples::new(category.examples, category.description.as_deref()),
        extract,
    }
}
