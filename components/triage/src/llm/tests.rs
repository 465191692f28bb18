//! Tests of the language model's prompt and reply.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_ticket_text::redact::redact;
use serde_json::json;

use super::*;

fn configuration() -> Configuration {
    Configuration::from_json(
        r#"{"categories": [{"name": "none"}, {"name": "waste", "examples": ["Die Tonne kostet 70 Euro"]}],
        "no_category_name": "none", "actions": [{"name": "clerk", "description": "", "type": "NoAction"}],
        "no_action_name": "clerk"}"#,
    )
    .unwrap()
}

fn kept(reasoning: &str) -> String {
    let ticket = "Meine Tonne Nr. 12 wurde am 03.05.2026 nicht geleert. Mein Name ist Petra Vogel";
    let answer = json!({ "category": "waste", "confidence": 0.9, "reasoning": reasoning }).to_string();
    advice(&configuration(), &redact(ticket), &answer).unwrap().reasoning
}

#[test]
fn invented_figure_is_removed() {
    for invented in [
        "Der Pass kostet 99 Euro und Sie bekommen morgen einen Termin.",
        "Am 3. Juni wurde die Tonne nicht geleert.",
        "Es kostet ٩٩ Euro.",
        "Die Tonne wird morgen geleert.",
        "Es kostet einundachtzig Euro.",
        "It takes ninety-nine days.",
    ] {
        assert_eq!(kept(invented), "", "{invented}");
        assert_eq!(kept(&format!("Es geht um die Tonne. {invented}")), "Es geht um die Tonne.");
    }
    for known in [
        "[NAME_1] nennt Tonne 12.",
        "Am 3. Mai 2026 wurde nicht geleert.",
        "Wie im Beispiel mit 70 Euro.",
        "The citizen asks about a bin; it may be full.",
    ] {
        assert_eq!(kept(known), known.replace("[NAME_1]", "Petra Vogel"));
    }
}

#[test]
fn unknown_token_is_removed() {
    assert_eq!(kept("[NAME_1] mit [EMAIL_7] will [name_1] Abfuhr"), "Petra Vogel mit will Abfuhr");
    assert_eq!(kept("[IBAN_1]."), "");
    assert_eq!(kept(" \n"), "");
}
