//! Converts zammad-ai's YAML into a triage configuration.

mod scalar;
#[cfg(test)]
mod tests;

use bulkhead_config::import::{
    ImportError, Imported,
    yaml::{self, Node, Value},
};
use bulkhead_triage_configuration::{Reading, Violation};
use serde_json::{Map, Value as Json};

use super::located::{Lines, member};

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

/// What the host's configuration has for members that are no rules of triage.
const ELSEWHERE: [(&str, &str); 4] = [
    ("api.api_key", "set tickets.api_key"),
    ("answer.ai_answer_disclaimer", "set tickets.answer.disclaimer"),
    ("guardrails.enabled", "set tickets.guard.url"),
    ("guardrails.url", "set tickets.guard.url"),
];

/// A member of any of the sections that may hold it.
const TEXT_LENGTH: &str = "max_user_text_length";

/// Converts the text of a configuration; several documents are read as one.
///
/// # Errors
/// When the text is not YAML, says nothing of triage, or what it says violates what a configuration must keep.
pub fn import_triage_yml(text: &str) -> Result<Imported, ImportError> {
    let mut conversion = Conversion::default();
    for document in yaml::documents(text)? {
        conversion.document(document);
    }
    conversion.finish()
}

/// What was read so far.
#[derive(Default)]
struct Conversion {
    /// Whether there is a table `triage`.
    any: bool,
    root: Map<String, Json>,
    lines: Lines,
    notes: Vec<(usize, String)>,
}

impl Conversion {
    fn document(&mut self, document: Node) {
        for (section, node) in members(document) {
            match section.as_str() {
                "triage" => {
                    self.any |= matches!(node.value, Value::Table(_));
                    members(node).into_iter().for_each(|(name, node)| self.triage(&name, node));
                }
                "preparser" | TEXT_LENGTH => self.keep(&section, node),
                _ => self.other(&section, node),
            }
        }
    }

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

    fn drop(&mut self, section: &str, name: &str, node: &Node) {
        if !node.is_nothing() {
            let path = format!("{section}.{name}");
            let hint = ELSEWHERE.iter().find(|(other, _)| *other == path);
            let hint = hint.map(|(_, hint)| format!(": {hint}")).unwrap_or_default();
            self.notes.push((node.line, format!("{path} is not carried over{hint}")));
        }
    }

    fn keep(&mut self, name: &str, node: Node) {
        let value = self.json(name, node, None);
        self.root.insert(name.to_owned(), value);
    }

    /// `node`, which comes to stand at `path`; `field` is what a condition compares.
    fn json(&mut self, path: &str, node: Node, field: Option<&str>) -> Json {
        self.lines.note(path, node.line);
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

    fn finish(mut self) -> Result<Imported, ImportError> {
        if !self.any {
            let expected = TRIAGE.join(", ");
            let text = format!("no table `triage`, which zammad-ai's configuration has, with {expected}");
            return Err(ImportError::at(0, text));
        }
        let mut reading = Reading::new(Json::Object(self.root));
        // The old service passes them over.
        for Violation { path, .. } in std::mem::take(&mut reading.unknown) {
            self.notes
                .push((self.lines.of(&path).unwrap_or_default(), format!("{path} is not carried over")));
        }
        let checked = reading.check().map_err(|invalid| invalid.located(|path| self.lines.of(path)));
        let (settings, configuration) = checked.map_err(|invalid| ImportError::at(0, invalid.to_string()))?;
        let toml = toml::to_string(&settings).map_err(|error| ImportError::at(0, error.to_string()))?;
        self.notes.sort();
        let located = self.notes.into_iter().map(|(line, text)| ImportError { line, text }.to_string());
        let mute = configuration.without_examples().map(|category| {
            format!(
                "category {:?} has neither description nor examples: it can never be chosen",
                category.name
            )
        });
        Ok(Imported { toml: format!("{HEADER}{toml}"), notes: located.chain(mute).collect() })
    }
}

/// The members of a table; of anything else none.
fn members(node: Node) -> Vec<(String, Node)> {
    match node.value {
        Value::Table(members) => members,
        _ => Vec::new(),
    }
}

/// The last name of a path.
fn name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}
