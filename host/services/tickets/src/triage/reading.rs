//! Reads a configuration from a tree of values and reports all violations of its form, with all others that can be
//! checked in spite of them.

mod entry;
#[cfg(test)]
mod tests;

use bulkhead_triage_configuration::pattern::PatternSettings;
use bulkhead_triage_configuration::preparser::{Form, PreparserSettings, TableSettings};
use bulkhead_triage_configuration::rules::{self, Condition, Field, Operator, Rule};
use bulkhead_triage_configuration::{
    Action, ActionType, CategorySettings, Configuration, DEFAULT_MARGIN, DEFAULT_TEXT_LENGTH,
    DEFAULT_THRESHOLD, Gaps, Invalid, Settings, Violation,
};
use serde_json::Value;

use self::entry::{Entry, FormType, Found};

/// The readable part of a configuration.
#[derive(Debug)]
pub(crate) struct Reading {
    settings: Settings,
    wrong: Vec<Violation>,
    /// Unknown members.
    pub(crate) unknown: Vec<Violation>,
}

impl Reading {
    /// Reads `value`.
    pub(crate) fn new(value: Value) -> Self {
        let mut found = Found::default();
        let settings = Entry::whole(&mut found, String::new(), value, settings);
        Self { settings, wrong: found.wrong, unknown: found.unknown }
    }

    /// Returns the settings as written and the checked configuration, and ignores unknown members.
    ///
    /// # Errors
    ///
    /// Fails with all violations at once.
    pub(crate) fn check(self) -> Result<(Settings, Configuration), Invalid> {
        let Self { settings, wrong, .. } = self;
        let gaps = Gaps { categories: nameless("categories", &wrong), actions: nameless("actions", &wrong) };
        let found = match Configuration::with_gaps(settings.clone(), gaps) {
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
    pub(crate) fn check_all(mut self) -> Result<(Settings, Configuration), Invalid> {
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

fn settings(entry: &mut Entry<'_>) -> Settings {
    Settings {
        categories: entry.tables("categories", true, category),
        no_category_name: entry.required("no_category_name"),
        actions: entry.tables("actions", true, action),
        no_action_name: entry.required("no_action_name"),
        auto_reply: entry.optional("auto_reply"),
        office: entry.optional("office"),
        no_action_internal_note: entry.optional("no_action_internal_note"),
        action_rules: entry.tables("action_rules", false, rule),
        threshold: entry.optional("threshold").unwrap_or(DEFAULT_THRESHOLD),
        margin: entry.optional("margin").unwrap_or(DEFAULT_MARGIN),
        max_user_text_length: entry.optional("max_user_text_length").unwrap_or(DEFAULT_TEXT_LENGTH),
        preparser: entry.table("preparser", preparser).unwrap_or_default(),
    }
}

fn category(entry: &mut Entry<'_>) -> CategorySettings {
    CategorySettings {
        name: entry.required("name"),
        auto_publish: entry.optional("auto_publish").unwrap_or_default(),
        description: entry.optional("description"),
        examples: entry.texts("examples"),
        threshold: entry.optional("threshold"),
        extract: entry.tables("extract", false, pattern),
    }
}

fn pattern(entry: &mut Entry<'_>) -> PatternSettings {
    PatternSettings {
        name: entry.required("name"),
        pattern: entry.required("pattern"),
        kind: entry.optional("type").unwrap_or_default(),
    }
}

fn action(entry: &mut Entry<'_>) -> Action {
    Action {
        name: entry.required("name"),
        description: entry.required("description"),
        kind: entry.required_or("type", ActionType::NoAction),
        answer: entry.optional("answer"),
    }
}

fn rule(entry: &mut Entry<'_>) -> Rule {
    Rule {
        category_name: entry.required("category_name"),
        action_name: entry.required("action_name"),
        conditions: entry.tables("conditions", false, condition),
    }
}

fn condition(entry: &mut Entry<'_>) -> Condition {
    Condition {
        priority: entry.required("priority"),
        field: entry.required_or("field", Field::DaysSinceRequest),
        operator: entry.required_or("operator", Operator::Equals),
        value: entry.required_or("value", rules::Value::Integer(0)),
        action_name: entry.required("action_name"),
    }
}

fn preparser(entry: &mut Entry<'_>) -> PreparserSettings {
    PreparserSettings {
        enabled: entry.optional("enabled").unwrap_or_default(),
        config: entry.table("config", form),
    }
}

fn form(entry: &mut Entry<'_>) -> Form {
    entry.required_or("type", FormType::Table);
    Form::Table(TableSettings {
        keep_rows: entry.texts("keep_rows"),
        case_sensitive: entry.optional("case_sensitive").unwrap_or_default(),
        value_column: entry.optional("value_column").unwrap_or(TableSettings::VALUE_COLUMN),
    })
}
