//! Tests of decisions on tickets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod by_model;
mod guarded;

use std::cell::RefCell;

use bulkhead_triage_configuration::Settings;
use time::Month;

use super::*;

/// Answers with fixed probabilities and records what it was asked.
struct Fixed {
    probabilities: Result<Vec<f32>, Unclassified>,
    asked: RefCell<Vec<(String, Row)>>,
    /// The language model's reply.
    advice: Result<String, Failure>,
    questions: RefCell<Vec<Question>>,
    verdict: Verdict,
    guarded: RefCell<Vec<String>>,
}

impl Host for Fixed {
    fn head(&self) -> Result<Head, Unclassified> {
        let labels = ["Abfall", "Hunde"].map(str::to_owned).to_vec();
        Ok(Head { labels, features: Some(FeatureSettings::words_only(16)) })
    }

    fn classify(&self, text: &str, features: &Row) -> Result<Vec<f32>, Unclassified> {
        self.asked.borrow_mut().push((text.to_owned(), features.clone()));
        self.probabilities.clone()
    }

    fn ask(&self, question: &Question) -> Result<String, Failure> {
        self.questions.borrow_mut().push(question.clone());
        self.advice.clone()
    }

    fn guard(&self, text: &str) -> Verdict {
        self.guarded.borrow_mut().push(text.to_owned());
        self.verdict.clone()
    }

    fn today(&self) -> Date {
        Date::from_calendar_date(2026, Month::November, 28).unwrap()
    }
}

fn host(probabilities: &[f32]) -> Fixed {
    Fixed {
        probabilities: Ok(probabilities.to_vec()),
        asked: RefCell::default(),
        advice: Err(Failure::NotConfigured),
        questions: RefCell::default(),
        verdict: Verdict::Unguarded,
        guarded: RefCell::default(),
    }
}

/// Decides by the classifier and without a guard.
fn triage(host: &Fixed, configuration: &Configuration, text: &str) -> Result<Triage, TriageError> {
    let decided = super::triage(host, configuration, Policy::default(), text);
    assert!(host.questions.borrow().is_empty() && host.guarded.borrow().is_empty(), "no one else was asked");
    decided
}

const CONFIGURATION: &str = r#"{"categories": [{"name": "Sonstiges"},
        {"name": "Abfall", "auto_publish": true, "examples": ["Die Tonne wurde nicht geleert"],
         "extract": [{"name": "hausnummer", "pattern": "Birkenweg ([0-9]+)", "type": "integer"}]},
        {"name": "Hunde"}],
    "no_category_name": "Sonstiges",
    "actions": [{"name": "Mensch", "description": "liest", "type": "NoAction"}, {"name": "KI", "description": "", "type": "AIAnswer"},
        {"name": "Warten", "description": "", "type": "StaticAnswer", "answer": "Bitte warten."}],
    "no_action_name": "Mensch", "no_action_internal_note": "{category}: {reason}",
    "action_rules": [{"category_name": "Abfall", "action_name": "KI", "conditions": [
        {"priority": 1, "field": "days_since_request", "operator": "less", "value": 14, "action_name": "Warten"}]}],
    "max_user_text_length": 200}"#;

fn configuration() -> Configuration {
    Configuration::from_json(CONFIGURATION).unwrap()
}

const LETTER: &str = "Sehr geehrte Damen und Herren,\n\ndie Tonne im Birkenweg 14 wurde nicht geleert. Bestellt hatte ich die Leerung am 20.11.2026.\n\n\
                      Mit freundlichen Grüßen\nPetra Vogel\np.vogel@post.example";

#[test]
fn a_sure_decision_leads_to_its_action() {
    let host = host(&[0.9, 0.1]);
    let result = triage(&host, &configuration(), LETTER).unwrap();
    assert_eq!((result.category.as_str(), result.auto_publish, result.confidence), ("Abfall", true, 0.9));
    assert_eq!(result.action.name, "Warten", "asked for eight days ago");
    assert_eq!(result.user_text, LETTER);
    assert_eq!(result.language.as_deref(), Some("de"));
    assert_eq!(result.alternatives, [Candidate { name: "Hunde".into(), confidence: 0.1 }]);
    assert_eq!(result.internal_note, None);
    let values = &result.extracted_values;
    assert_eq!(values["hausnummer"], Value::Integer(14));
    assert_eq!(values["email"], Value::Text("p.vogel@post.example".into()), "signatures count for values");
    assert!(
        result.reasoning.contains("„Abfall“ mit 90 %") && result.reasoning.contains("Tonne"),
        "{}",
        result.reasoning
    );
    let (asked, features) = host.asked.borrow()[0].clone();
    assert_eq!(
        asked,
        "die Tonne im Birkenweg 14 wurde nicht geleert. Bestellt hatte ich die Leerung am 20.11.2026."
    );
    assert_eq!(features, FeatureSettings::words_only(16).row(&asked));
}

#[test]
fn capitals_are_classified_in_lower_case() {
    let host = host(&[0.9, 0.1]);
    let result = triage(&host, &configuration(), "DIE TONNE WURDE NICHT GELEERT!").unwrap();
    assert_eq!(host.asked.borrow()[0].0, "die tonne wurde nicht geleert!");
    assert_eq!(result.user_text, "DIE TONNE WURDE NICHT GELEERT!");
}

#[test]
fn what_is_quoted_gives_no_values() {
    let mail = format!(
        "{LETTER}\n\nAm 02.03.2026 um 09:14 schrieb Amt <amt@stadt.example>:\n> Ihr Antrag vom 01.03.2026, Az. 4711-2026, Tel. 089 123456"
    );
    let result = triage(&host(&[0.9, 0.1]), &configuration(), &mail).unwrap();
    let names: Vec<&str> = result.extracted_values.keys().map(String::as_str).collect();
    assert_eq!(names, ["date", "email", "hausnummer"]);
    assert_eq!(result.action.name, "Warten", "asked for eight days ago");
}

#[test]
fn confidence_and_reasoning_agree() {
    for probability in [1.0, 0.999_99, 0.996, 0.9] {
        let result = triage(&host(&[probability, 1.0 - probability]), &configuration(), LETTER).unwrap();
        let expected = format!("mit {:.0} % Sicherheit", result.confidence * 100.0);
        assert!(
            result.confidence < 1.0 && result.reasoning.contains(&expected),
            "{expected}: {}",
            result.reasoning
        );
    }
}

#[test]
fn an_unsure_one_leads_to_a_human() {
    let result = triage(&host(&[0.4, 0.3]), &configuration(), LETTER).unwrap();
    assert_eq!((result.category.as_str(), result.auto_publish), ("Sonstiges", false));
    assert_eq!((result.action.name.as_str(), result.confidence), ("Mensch", 0.4));
    assert_eq!(result.alternatives.len(), 2);
    assert!(
        result.internal_note.unwrap().starts_with("Sonstiges: Keine Kategorie ist sicher genug: „Abfall“")
    );
}

#[test]
fn blank_text_asks_no_model() {
    let host = host(&[1.0, 0.0]);
    let result = triage(&host, &configuration(), " \n\t ").unwrap();
    assert_eq!((result.category.as_str(), result.confidence), ("Sonstiges", 1.0));
    assert_eq!(result.action.name, "Mensch");
    assert!(
        host.asked.borrow().is_empty() && result.extracted_values.is_empty() && result.language.is_none()
    );
}

#[test]
fn mail_of_a_program_is_not_sorted() {
    let host = host(&[1.0, 0.0]);
    let text = "I am out of the office until Monday. For anything urgent please call my colleague.";
    let result = triage(&host, &configuration(), text).unwrap();
    assert_eq!((result.category.as_str(), result.confidence), ("Sonstiges", 1.0));
    assert!(result.reasoning.starts_with("The message has no text of its own"), "{}", result.reasoning);
    assert!(host.asked.borrow().is_empty());
    assert_eq!((result.action.name.as_str(), result.internal_note.is_some()), ("Mensch", true));
    let mut settings: Settings = serde_json::from_str(CONFIGURATION).unwrap();
    settings.actions.push(Action { name: "Ablage".to_owned(), answer: None, ..settings.actions[0].clone() });
    settings.auto_reply = Some("Ablage".to_owned());
    let configuration = Configuration::new(settings).unwrap();
    let result = triage(&host, &configuration, text).unwrap();
    assert_eq!((result.action.name.as_str(), result.internal_note), ("Ablage", None));
    let signature = triage(&host, &configuration, "--\nPia Probe").unwrap();
    assert_eq!(signature.action.name, "Mensch", "a person sent it");
}

#[test]
fn signs_without_a_word_are_not_sorted() {
    let host = host(&[1.0, 0.0]);
    for text in ["😀😀 🎉!", "0171 2345678", "?!\n\n> Wo bleibt die Tonne?"] {
        let result = triage(&host, &configuration(), text).unwrap();
        assert_eq!((result.category.as_str(), result.confidence), ("Sonstiges", 1.0), "{text}");
        assert!(result.alternatives.is_empty() && !result.reasoning.is_empty(), "{result:?}");
        assert_eq!(result.user_text, text);
    }
    assert!(host.asked.borrow().is_empty());
}

#[test]
fn missing_classifier_is_explained() {
    let host = Fixed { probabilities: Err(Unclassified::Missing), ..host(&[]) };
    let result = triage(&host, &configuration(), "Where is my bin?").unwrap();
    assert_eq!((result.category.as_str(), result.confidence), ("Sonstiges", 0.0));
    assert_eq!(result.reasoning, "Not categorised because the classifier cannot answer: none is loaded.");
}

#[test]
fn long_text_uses_head_and_tail() {
    let host = host(&[0.9, 0.1]);
    let text = format!("Anfang {} Ende", "wort ".repeat(500));
    let result = triage(&host, &configuration(), &text).unwrap();
    let asked = &host.asked.borrow()[0].0;
    assert!(asked.chars().count() <= 200 && asked.starts_with("Anfang") && asked.ends_with("Ende"));
    assert_eq!(result.user_text, text);
}

/// Some languages have no spaces: work for a letter must not grow with its word.
#[test]
fn a_word_of_any_length_is_read() {
    for letters in ["護", "ก", "の", "x", "a.", "1"] {
        let text = letters.repeat(20_000 / letters.chars().count());
        let result = triage(&host(&[0.9, 0.1]), &configuration(), &text).unwrap();
        assert_eq!(result.user_text, text);
    }
}

/// The read part is bounded, and the returned text is complete.
#[test]
fn huge_text_is_read_at_both_ends() {
    let host = host(&[0.9, 0.1]);
    let middle = "hidden@example.org < ".repeat(50_000);
    let text = format!("Anfang, head@example.org {middle} tail@example.org Ende");
    let result = triage(&host, &configuration(), &text).unwrap();
    assert_eq!(result.user_text, text);
    let values: Vec<String> = result.extracted_values.values().map(|value| format!("{value:?}")).collect();
    assert!(values.iter().any(|value| value.contains("head@example.org")), "{values:?}");
}
