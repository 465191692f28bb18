//! Converts zammad-ai's YAML into a triage configuration.

mod scalar;
#[cfg(test)]
mod tests;

use bulkhead_config::import::{
    ImportError, Imported,
    yaml::{self, Node, Value},
};
use bulkhead_triage_configuration::Violation;
use serde_json::{Map, Value as Json};

use super::reading::Reading;
use crate::triage::spanned_toml::{LineIndex, member};

/// The first lines of a converted file.
const HEADER: &str = "# Converted from zammad-ai's YAML by `bulkhead triage import`.\n\n";

/// Members of the section `triage` that are converted under their names.
const TRIAGE: [&str; 6] = [
    "categories",
    "no_category_name",
    "actions",
    "no_action_name",
    "no_action_internal_note",
    "action_rules",
];

/// Hints for members that the host's configuration has in other places.
const ELSEWHERE: [(&str, &str); 4] = [
    ("api.api_key", "set tickets.api_key"),
    ("answer.ai_answer_disclaimer", "set tickets.answer.disclaimer"),
    ("guardrails.enabled", "set tickets.guard.url"),
    ("guardrails.url", "set tickets.guard.url"),
];

/// A member that several sections may hold.
const TEXT_LENGTH: &str = "max_user_text_length";

/// Converts the text of a configuration; several documents are read as one.
///
/// # Errors
/// When the text is not YAML, has no section `triage`, or is not a valid configuration.
pub fn import_triage_yml(text: &str) -> Result<Imported, ImportError> {
    let mut conversion = TriageConversion::default();
    for document in yaml::documents(text)? {
        conversion.document(document);
    }
    conversion.finish()
}

/// The state of a conversion.
#[derive(Default)]
struct TriageConversion {
    /// Whether there is a table `triage`.
    has_triage: bool,
    root: Map<String, Json>,
    lines: LineIndex,
    notes: Vec<(usize, String)>,
}

impl TriageConversion {
    /// Converts the sections of a document.
    fn document(&mut self, document: Node) {
        for (section, node) in members(document) {
            match section.as_str() {
                "triage" => {
                    self.has_triage |= matches!(node.value, Value::Table(_));
                    members(node).into_iter().for_each(|(name, node)| self.triage(&name, node));
                }
                "preparser" | TEXT_LENGTH => self.keep(&section, node),
                _ => self.other(&section, node),
            }
        }
    }

    /// Converts a member of the section `triage`.
    fn triage(&mut self, name: &str, node: Node) {
        match name {
            "prompts" => {
                let text =
                    "triage.prompts is not carried over: give each category a description and examples";
                self.notes.push((node.line, text.to_owned()));
            }
            name if name == TEXT_LENGTH || TRIAGE.contains(&name) => self.keep(name, node),
            name => self.drop("triage", name, &node),
        }
    }

    /// Converts a section without rules of triage.
    fn other(&mut self, section: &str, node: Node) {
        if !matches!(node.value, Value::Table(_)) {
            self.notes.push((node.line, format!("{section} is not carried over")));
        }
        for (name, node) in members(node) {
            match name == TEXT_LENGTH && section == "genai" {
                true => self.keep(&name, node),
                false => self.drop(section, &name, &node),
            }
        }
    }

    /// Notes that a member is not carried over.
    fn drop(&mut self, section: &str, name: &str, node: &Node) {
        if !node.is_nothing() {
            let path = format!("{section}.{name}");
            let hint = ELSEWHERE.iter().find(|(other, _)| *other == path);
            let hint = hint.map(|(_, hint)| format!(": {hint}")).unwrap_or_default();
            self.notes.push((node.line, format!("{path} is not carried over{hint}")));
        }
    }

    /// Converts a member under its name.
    fn keep(&mut self, name: &str, node: Node) {
        let value = self.json(name, node, None);
        self.root.insert(name.to_owned(), value);
    }

    /// Converts `node` to the value at `path`; `field` is the field that a condition compares.
    fn json(&mut self, path: &str, node: Node, field: Option<&str>) -> Json {
        self.lines.insert(path, node.line);
        if node.is_nothing() {
            return Json::Null;
        }
        match node.value {
            Value::Scalar { text, plain } => scalar::read(name(path), field, text, plain),
            Value::List(nodes) => {
                let nodes = nodes.into_iter().enumerate();
                nodes.map(|(index, node)| self.json(&format!("{path}[{index}]"), node, None)).collect()
            }
            Value::Table(members) => {
                let field = members.iter().find(|(name, _)| name == "field");
                let field = field.and_then(|(_, node)| match &node.value {
                    Value::Scalar { text, .. } => Some(text.clone()),
                    _ => None,
                });
                let json = |(name, node): (String, Node)| {
                    let value = self.json(&member(path, &name), node, field.as_deref());
                    (name, value)
                };
                Json::Object(members.into_iter().map(json).collect())
            }
        }
    }

    /// Checks the configuration and returns its TOML with the notes.
    fn finish(mut self) -> Result<Imported, ImportError> {
        if !self.has_triage {
            let expected = TRIAGE.join(", ");
            let text = format!("no table `triage`, which zammad-ai's configuration has, with {expected}");
            return Err(ImportError::at(0, text));
        }
        let mut reading = Reading::new(Json::Object(self.root));
        // The replaced service ignores them.
        for Violation { path, .. } in std::mem::take(&mut reading.unknown) {
            self.notes
                .push((self.lines.line_of(&path).unwrap_or_default(), format!("{path} is not carried over")));
        }
        let checked = reading.check().map_err(|invalid| invalid.located(|path| self.lines.line_of(path)));
        let (settings, configuration) = checked.map_err(|invalid| ImportError::at(0, invalid.to_string()))?;
        let toml = toml::to_string(&settings).map_err(|error| ImportError::at(0, error.to_string()))?;
        self.notes.sort();
        let located = self.notes.into_iter().map(|(line, text)| ImportError { line, text }.to_string());
        let unreachable = configuration.without_examples().map(|category| {
            format!(
                "category {:?} has neither description nor examples: it can never be chosen",
                category.name
            )
        });
        Ok(Imported { toml: format!("{HEADER}{toml}"), notes: located.chain(unreachable).collect() })
    }
}

/// Returns the members of a table, or none for other values.
fn members(node: Node) -> Vec<(String, Node)> {
    match node.value {
        Value::Table(members) => members,
        _ => Vec::new(),
    }
}

/// Returns the last name of a path.
fn name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}
