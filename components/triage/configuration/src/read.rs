//! Reads a configuration from a tree of values and reports all violations of its form, with all others that can be
//! checked in spite of them.

use serde_json::Value;

use super::check::{self, Gaps};
use super::entry::{Entry, FormType, Found};
use super::{
    Action, ActionType, CategorySettings, Configuration, DEFAULT_MARGIN, DEFAULT_TEXT_LENGTH,
    DEFAULT_THRESHOLD, Invalid, Settings, Violation,
};
use crate::pattern::{Pattern, PatternSettings};
use crate::preparser::{Form, PreparserSettings, TableSettings};
use crate::rules::{self, Condition, Field, Operator, Rule};

/// The readable part of a configuration.
#[derive(Debug)]
pub struct Reading {
    settings: Settings,
    wrong: Vec<Violation>,
    /// Unknown members.
    pub unknown: Vec<Violation>,
}

impl Reading {
    /// Reads `value`.
    pub fn new(value: Value) -> Self {
        let mut found = Found::default();
        let settings = settings(Entry::new(&mut found, String::new(), value));
        Self { settings, wrong: found.wrong, unknown: found.unknown }
    }

    /// Returns the settings as written and the checked configuration, and ignores unknown members.
    ///
    /// # Errors
    ///
    /// Fails with all violations at once.
    pub fn check(self) -> Result<(Settings, Configuration), Invalid> {
        let Self { settings, wrong, .. } = self;
        let gaps = Gaps { categories: nameless("categories", &wrong), actions: nameless("actions", &wrong) };
        let found = match check::check(settings.clone(), Pattern::new, gaps) {
            Ok(configuration) if wrong.is_empty() => return Ok((settings, configuration)),
            Ok(_) => Vec::new(),
            Err(Invalid(found)) => found,
        };
        // A violation in a placeholder value is a consequence of the missing one.
        let real = found.into_iter().filter(|found| !wrong.iter().any(|wrong| found.touches(wrong)));
        let real: Vec<Violation> = real.collect();
        Err(Invalid(wrong.into_iter().chain(real).collect()))
    }

    /// Does the same as [`Self::check`], but unknown members are violations.
    ///
    /// # Errors
    ///
    /// Fails with all violations at once.
    pub fn check_all(mut self) -> Result<(Settings, Configuration), Invalid> {
        self.wrong.append(&mut self.unknown);
        self.check()
    }
}

/// Returns whether a name of the list is unreadable.
fn nameless(list: &str, wrong: &[Violation]) -> bool {
    wrong.iter().filter_map(|violation| violation.path.strip_prefix(list)).any(|below| {
        let entry = below.strip_prefix('[').and_then(|below| below.split_once(']'));
        below.is_empty() || entry.is_some_and(|(_, member)| matches!(member, "" | ".name"))
    })
}

fn settings(mut entry: Entry<'_>) -> Settings {
    let settings = Settings {
        categories: entry
            .list("categories", true, |found, path, value| category(Entry::new(found, path, value))),
        no_category_name: entry.required("no_category_name"),
        actions: entry.list("actions", true, |found, path, value| action(Entry::new(found, path, value))),
        no_action_name: entry.required("no_action_name"),
        no_action_internal_note: entry.optional("no_action_internal_note"),
        action_rules: entry
            .list("action_rules", false, |found, path, value| rule(Entry::new(found, path, value))),
        threshold: entry.optional("threshold").unwrap_or(DEFAULT_THRESHOLD),
        margin: entry.optional("margin").unwrap_or(DEFAULT_MARGIN),
        max_user_text_length: entry.optional("max_user_text_length").unwrap_or(DEFAULT_TEXT_LENGTH),
        preparser: entry.table("preparser").map(preparser).unwrap_or_default(),
    };
    entry.end();
    settings
}

fn category(mut entry: Entry<'_>) -> CategorySettings {
    let category = CategorySettings {
        name: entry.required("name"),
        auto_publish: entry.optional("auto_publish").unwrap_or_default(),
        description: entry.optional("description"),
        examples: entry.texts("examples"),
        threshold: entry.optional("threshold"),
        extract: entry.list("extract", false, |found, path, value| pattern(Entry::new(found, path, value))),
    };
    entry.end();
    category
}

fn pattern(mut entry: Entry<'_>) -> PatternSettings {
    let pattern = PatternSettings {
        name: entry.required("name"),
        pattern: entry.required("pattern"),
        kind: entry.optional("type").unwrap_or_default(),
    };
    entry.end();
    pattern
}

fn action(mut entry: Entry<'_>) -> Action {
    let action = Action {
        name: entry.required("name"),
        description: entry.required("description"),
        kind: entry.required_or("type", ActionType::NoAction),
        answer: entry.optional("answer"),
    };
    entry.end();
    action
}

fn rule(mut entry: Entry<'_>) -> Rule {
    let rule = Rule {
        category_name: entry.required("category_name"),
        action_name: entry.required("action_name"),
        conditions: entry
            .list("conditions", false, |found, path, value| condition(Entry::new(found, path, value))),
    };
    entry.end();
    rule
}

fn condition(mut entry: Entry<'_>) -> Condition {
    let condition = Condition {
        priority: entry.required("priority"),
        field: entry.required_or("field", Field::DaysSinceRequest),
        operator: entry.required_or("operator", Operator::Equals),
        value: entry.required_or("value", rules::Value::Integer(0)),
        action_name: entry.required("action_name"),
    };
    entry.end();
    condition
}

fn preparser(mut entry: Entry<'_>) -> PreparserSettings {
    let preparser = PreparserSettings {
        enabled: entry.optional("enabled").unwrap_or_default(),
        config: entry.table("config").map(form),
    };
    entry.end();
    preparser
}

fn form(mut entry: Entry<'_>) -> Form {
    entry.required_or("type", FormType::Table);
    let table = TableSettings {
        keep_rows: entry.texts("keep_rows"),
        case_sensitive: entry.optional("case_sensitive").unwrap_or_default(),
        value_column: entry.optional("value_column").unwrap_or(TableSettings::VALUE_COLUMN),
    };
    entry.end();
    Form::Table(table)
}
