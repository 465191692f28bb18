//! What an operator decides: which actions there are, what may be published, and how answers are written and checked.

use serde::{Deserialize, Serialize};

/// What the component works by; the host writes it, from its own configuration and the one of triage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// What tickets are about.
    pub categories: Vec<Category>,
    /// What can happen with a ticket.
    pub actions: Vec<Action>,
    /// Relevance below which a passage is not answered from, 0 to 1.
    pub floor: f32,
    /// Most passages that are read for an answer.
    pub limit: u32,
    /// Whether only documents of the ticket's category, and those of none, are read.
    pub by_category: bool,
    /// Relevance that an answer needs to be published, whatever its category asks for, 0 to 1.
    pub publish_score: f32,
    /// Most sentences of an answer.
    pub max_sentences: u32,
    /// Most characters of an answer, references and disclaimer excluded.
    pub max_answer_length: u32,
    /// Characters of a ticket that are searched for; longer ones lose their middle.
    pub max_user_text_length: u32,
    /// Addresses, telephone and account numbers of the office itself, which are nobody's personal data: whole, an
    /// e-mail domain with its `@`, or the first digits of numbers.
    pub office_contacts: Vec<String>,
    /// Put below every answer that is written from the knowledge base.
    pub disclaimer: Option<String>,
}

/// What a ticket is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// Whether answers in it may be published without a clerk.
    pub auto_publish: bool,
    /// Relevance that a published answer in it needs, 0 to 1.
    pub threshold: f32,
}

/// What an action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionType {
    /// An answer is written from the knowledge base.
    AIAnswer,
    /// A clerk reads the ticket.
    NoAction,
    /// The configured answer is given.
    StaticAnswer,
}

/// What can happen with a ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Its name.
    pub name: String,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: ActionType,
    /// The answer of a `StaticAnswer`.
    pub answer: Option<String>,
}

impl Configuration {
    /// Reads what the host wrote.
    ///
    /// # Errors
    ///
    /// When `json` is no configuration, or a share in it is none.
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

    /// The category with this name.
    pub fn category(&self, name: &str) -> Option<&Category> {
        self.categories.iter().find(|category| category.name == name)
    }

    /// The action with this name.
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
