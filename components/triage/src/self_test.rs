//! The component's self-test.

use crate::decision::Unclassified;
use crate::triage::{Head, Host, Policy, triage};
use bulkhead_ticket_text::extract::date::Date;
use bulkhead_ticket_text::guarding::Verdict;
use bulkhead_ticket_text::llm::{Failure, Question};
use bulkhead_triage_configuration::Configuration;
use bulkhead_triage_features::{FeatureSettings, Row};

/// A configuration of two categories and a rule.
const CONFIGURATION: &str = r#"{
    "categories": [{ "name": "other" }, { "name": "passport" }],
    "no_category_name": "other",
    "actions": [
        { "name": "read", "description": "a clerk reads it", "type": "NoAction" },
        { "name": "tell", "description": "names the fee", "type": "StaticAnswer", "answer": "37.50 EUR" }
    ],
    "no_action_name": "read",
    "action_rules": [{ "category_name": "passport", "action_name": "tell" }]
}"#;

/// A host whose classifier is certain.
struct Certain;

impl Host for Certain {
    fn head(&self) -> Result<Head, Unclassified> {
        let labels = vec!["other".to_owned(), "passport".to_owned()];
        Ok(Head { labels, features: Some(FeatureSettings::words_only(8)) })
    }

    fn classify(&self, _text: &str, features: &Row) -> Result<Vec<f32>, Unclassified> {
        match features.indices.is_empty() {
            true => Err(Unclassified::Silent),
            false => Ok(vec![0.1, 0.9]),
        }
    }

    fn ask(&self, _question: &Question) -> Result<String, Failure> {
        Err(Failure::NotConfigured)
    }

    fn guard(&self, _text: &str) -> Verdict {
        Verdict::Unguarded
    }

    fn today(&self) -> Date {
        Date::MIN
    }
}

/// Decides on tickets without the host's models.
///
/// # Errors
///
/// Fails with a text that names what does not work.
pub fn self_test() -> Result<(), String> {
    let configuration = Configuration::from_json(CONFIGURATION).map_err(|invalid| invalid.to_string())?;
    let text = "What does a passport cost? Write to eva@example.org";
    let decided = triage(&Certain, &configuration, Policy::default(), text);
    let decided = decided.map_err(|undecided| undecided.to_string())?;
    if decided.category != "passport" || decided.action.name != "tell" {
        return Err(format!(
            "a certain ticket was decided as {} and {}",
            decided.category, decided.action.name
        ));
    }
    match decided.extracted_values.is_empty() {
        true => Err("an e-mail address was not found".to_owned()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_passes() {
        assert_eq!(super::self_test(), Ok(()));
    }
}
