//! Configuration of the answer component: actions, publication rules, and how answers are written and checked.

use serde::{Deserialize, Serialize};

/// The component's configuration. The host derives it from its own configuration and from triage's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The ticket categories.
    pub categories: Vec<Category>,
    /// The actions a ticket can lead to.
    pub actions: Vec<Action>,
    /// Minimum relevance of a passage to answer from, 0 to 1.
    pub floor: f32,
    /// Maximum number of passages read for an answer.
    pub limit: u32,
    /// Whether to read only documents of the ticket's category and documents without a category.
    pub by_category: bool,
    /// Minimum certainty of a published answer, 0 to 1. Components that were built before take it for the relevance.
    pub publish_score: f32,
    /// Whether answers to questions of yes or no may be published. Not written if false, so that components that were
    /// built before can read the rest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub publish_yes_no: bool,
    /// Maximum number of sentences of an answer.
    pub max_sentences: u32,
    /// Maximum number of characters of an answer, without references and disclaimer.
    pub max_answer_length: u32,
    /// Maximum number of characters of a ticket used as the search query; longer tickets lose their middle.
    pub max_user_text_length: u32,
    /// Addresses, telephone and account numbers of the office itself, which are not personal data: whole values, an
    /// e-mail domain with its `@`, or the first digits of numbers.
    pub office_contacts: Vec<String>,
    /// Names of the office itself and of its town, which tickets may name though no page does. Not written if empty, so
    /// that components that were built before can read the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub office_places: Vec<String>,
    /// What tickets are sent to, as a language model reads it. Not written if `None`, so that components that were built
    /// before can read the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub office: Option<String>,
    /// Disclaimer appended to every answer from the knowledge base.
    pub disclaimer: Option<String>,
}

/// A ticket category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// Whether answers in it may be published without a clerk.
    pub auto_publish: bool,
    /// The classifier's threshold, 0 to 1. Only components that were built before publish by it.
    pub threshold: f32,
}

/// What an action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionType {
    /// Writes an answer from the knowledge base.
    AIAnswer,
    /// Leaves the ticket to a clerk.
    NoAction,
    /// Sends the configured answer.
    StaticAnswer,
}

/// An action a ticket can lead to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ActionType,
    /// The answer of a `StaticAnswer`.
    pub answer: Option<String>,
}

impl Configuration {
    /// Reads the JSON that the host wrote.
    ///
    /// # Errors
    ///
    /// Fails when `json` is not a configuration or a share is out of range.
    pub fn from_json(json: &str) -> Result<Self, String> {
        let read: Self =
            serde_json::from_str(json).map_err(|error| format!("invalid answer configuration: {error}"))?;
        let shares = [("floor", read.floor), ("publish_score", read.publish_score)];
        let shares =
            shares.into_iter().chain(read.categories.iter().map(|one| (one.name.as_str(), one.threshold)));
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("invalid answer configuration: {name} must be from 0 to 1, not {share}"));
            }
        }
        Ok(read)
    }

    /// Returns the category with this name.
    pub fn category(&self, name: &str) -> Option<&Category> {
        self.categories.iter().find(|category| category.name == name)
    }

    /// Returns the action with this name.
    pub fn action(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.name == name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const WRITTEN: &str = r#"{"categories":[{"name":"passports","auto_publish":true,"threshold":0.6}],"actions":[{"name":"fees","type":"StaticAnswer","answer":"Ein Reisepass kostet 70 Euro."}],"floor":0.5,"limit":5,"by_category":false,"publish_score":0.8,"max_sentences":5,"max_answer_length":1200,"max_user_text_length":2000,"office_contacts":["@stadt.example"],"disclaimer":null}"#;

    #[test]
    fn what_the_host_writes_is_read() {
        let read = Configuration::from_json(WRITTEN).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), WRITTEN);
        let (office_places, office) = (vec!["Rathaus".to_owned()], Some("a landlord".to_owned()));
        let placed = Configuration { office_places, office, ..read.clone() };
        let written = serde_json::to_string(&placed).unwrap();
        assert_eq!(Configuration::from_json(&written).unwrap(), placed);
        assert_eq!(
            (read.category("passports"), read.action("fees")),
            (read.categories.first(), read.actions.first())
        );
        assert_eq!((read.category("fees"), read.action("passports")), (None, None));
    }

    #[test]
    fn what_is_no_share_is_refused() {
        let read = Configuration::from_json(WRITTEN).unwrap();
        let json = serde_json::to_string(&Configuration { floor: 1.5, ..read }).unwrap();
        assert!(Configuration::from_json(&json).unwrap_err().contains("floor must be from 0 to 1"));
        assert!(Configuration::from_json("{}").unwrap_err().contains("missing field"));
    }
}
