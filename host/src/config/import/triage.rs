//! zammad-ai's YAML into a triage configuration.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use bulkhead_triage::configuration::{Configuration, Settings};
use serde_json::{Map, Value};

use super::{ImportError, Imported, yaml, yaml::Property};

const HEADER: &str = "# Converted from zammad-ai's YAML by `bulkhead triage import`.\n\n";

/// Members of the section `triage` that keep their names.
const TRIAGE: [&str; 6] = [
    "categories",
    "no_category_name",
    "actions",
    "no_action_name",
    "no_action_internal_note",
    "action_rules",
];

/// Converts the text of a configuration; several documents are read as one.
///
/// # Errors
/// When the text is not YAML, or what it says of triage violates what a configuration must keep.
pub fn import_triage_yml(text: &str) -> Result<Imported, ImportError> {
    let mut root = Value::Object(Map::new());
    let (mut dropped, mut notes) = (BTreeSet::new(), Vec::new());
    for property in yaml::documents(text)?.iter().flatten() {
        let words: Vec<&str> = property.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["triage", "prompts", ..] if dropped.insert("triage.prompts".to_owned()) => {
                let text =
                    "triage.prompts is not carried over: give each category a description and examples";
                notes.push(note(property, text));
            }
            ["triage", member, ..] if TRIAGE.contains(member) => {
                place(&mut root, words.get(1..).unwrap_or_default(), scalar(&words, &property.text));
            }
            ["genai" | "triage", "max_user_text_length"] | ["max_user_text_length"] => {
                place(&mut root, &["max_user_text_length"], scalar(&words, &property.text));
            }
            ["preparser", ..] => place(&mut root, &words, scalar(&words, &property.text)),
            [section, member, ..] if dropped.insert(format!("{section}.{member}")) => {
                notes.push(note(property, &format!("{section}.{member} is not carried over")));
            }
            [name] => notes.push(note(property, &format!("{name} is not carried over"))),
            _ => {}
        }
    }
    texts_of_ids(&mut root);
    let refused = |text: String| ImportError { line: 1, text };
    let settings: Settings = serde_json::from_value(root).map_err(|error| refused(error.to_string()))?;
    let configuration =
        Configuration::new(settings.clone()).map_err(|invalid| refused(invalid.to_string()))?;
    for category in configuration.without_examples() {
        notes.push(format!(
            "category {:?} has neither description nor examples: it can never be chosen",
            category.name
        ));
    }
    let toml = toml::to_string(&settings).map_err(|error| refused(error.to_string()))?;
    Ok(Imported { toml: format!("{HEADER}{toml}"), notes })
}

fn note(property: &Property, text: &str) -> String {
    format!("line {}: {text}", property.line)
}

/// A value in the type that its place asks for: days and priorities are whole numbers, a name such as `42` is text.
fn scalar(words: &[&str], text: &str) -> Value {
    let number = || text.parse::<i64>().ok().map(Value::from);
    let typed = match words.last() {
        Some(&("auto_publish" | "enabled" | "case_sensitive")) => text.parse::<bool>().ok().map(Value::from),
        Some(&("priority" | "max_user_text_length" | "value_column" | "value")) => number(),
        _ => None,
    };
    typed.unwrap_or_else(|| Value::from(text))
}

/// Processing ids are text, also those of digits alone.
fn texts_of_ids(root: &mut Value) {
    let rules = root.get_mut("action_rules").and_then(Value::as_array_mut).into_iter().flatten();
    let conditions = rules.filter_map(|rule| rule.get_mut("conditions")?.as_array_mut()).flatten();
    for condition in
        conditions.filter(|condition| condition.get("field").is_some_and(|field| field == "processing_id"))
    {
        if let Some(value @ Value::Number(_)) = condition.get_mut("value") {
            *value = Value::from(value.to_string());
        }
    }
}

/// Sets the value at `words`, where numbers are positions in a list.
fn place(tree: &mut Value, words: &[&str], value: Value) {
    let Some((word, rest)) = words.split_first() else {
        *tree = value;
        return;
    };
    let below = match word.parse::<usize>() {
        Ok(index) => {
            if !tree.is_array() {
                *tree = Value::Array(Vec::new());
            }
            let Value::Array(list) = tree else { return };
            // Positions come in order, so a list never grows by more than one.
            if index >= list.len() {
                list.push(Value::Null);
            }
            list.get_mut(index)
        }
        Err(_) => {
            if !tree.is_object() {
                *tree = Value::Object(Map::new());
            }
            let Value::Object(members) = tree else { return };
            Some(members.entry((*word).to_owned()).or_insert(Value::Null))
        }
    };
    if let Some(below) = below {
        place(below, rest, value);
    }
}
