//! Tests of the reasoning for clerks.

#![allow(clippy::indexing_slicing)]

use bulkhead_ticket_text::llm::Failure;

use super::*;
use crate::decision::Candidate;

fn decision(refusal: Option<Refusal>) -> Decision {
    let candidate = |name: &str, confidence| Candidate { name: name.to_owned(), confidence };
    Decision { candidates: vec![candidate("Abfall", 0.934), candidate("Straßen", 0.03)], refusal }
}

fn evidence() -> Evidence {
    Evidence {
        example: Some("Die Tonne ist voll".to_owned()),
        words: vec!["Tonne".to_owned(), "voll".to_owned()],
    }
}

#[test]
fn a_choice_names_its_figures_and_evidence() {
    assert_eq!(
        reasoning(&decision(None), &evidence(), Language::German),
        "„Abfall“ mit 93 % Sicherheit, 90 Prozentpunkte vor „Straßen“. Am ähnlichsten ist das Beispiel „Die Tonne ist voll“; \
         gemeinsame Wörter: Tonne, voll."
    );
    assert_eq!(
        reasoning(&decision(None), &Evidence::default(), Language::English),
        "“Abfall” with a confidence of 93%, 90 points ahead of “Straßen”."
    );
}

#[test]
fn a_refusal_says_what_was_missing() {
    let unsure = decision(Some(Refusal::Unsure { threshold: 0.95 }));
    assert_eq!(
        reasoning(&unsure, &Evidence::default(), Language::German),
        "Keine Kategorie ist sicher genug: „Abfall“ kommt auf 93 %, nötig sind 95 %."
    );
    let close = decision(Some(Refusal::Close { margin: 0.95 }));
    let said = reasoning(&close, &evidence(), Language::English);
    assert!(
        said.starts_with("“Abfall” (93%) and “Straßen” are closer than 95 points. The most similar"),
        "{said}"
    );
    let down = Decision::refused(Refusal::Unavailable(Unclassified::Missing));
    assert_eq!(
        reasoning(&down, &evidence(), Language::English),
        "Not categorised because the classifier cannot answer: none is loaded."
    );
    let empty = Decision::refused(Refusal::Empty);
    assert_eq!(reasoning(&empty, &evidence(), Language::English), "Empty message cannot be categorized");
    let unwritten = Decision::refused(Refusal::Unwritten);
    assert_eq!(
        reasoning(&unwritten, &evidence(), Language::English),
        "The message has no text of its own: an automatic reply, or only a signature."
    );
    let wordless = Decision::refused(Refusal::Wordless);
    assert_eq!(
        reasoning(&wordless, &evidence(), Language::German),
        "In der Nachricht steht kein Wort, nach dem sie sich zuordnen ließe."
    );
}

#[test]
fn rounded_figures_do_not_contradict_themselves() {
    let said = |first: f32, second: f32, refusal: Option<Refusal>, language| {
        let mut decision = decision(refusal);
        decision.candidates[0].confidence = first;
        decision.candidates[1].confidence = second;
        reasoning(&decision, &Evidence::default(), language)
    };
    let unsure = || Some(Refusal::Unsure { threshold: 0.5 });
    assert_eq!(
        said(0.4964, 0.1, unsure(), Language::German),
        "Keine Kategorie ist sicher genug: „Abfall“ kommt auf knapp 50 %, nötig sind 50 %."
    );
    assert_eq!(
        said(0.4964, 0.1, unsure(), Language::English),
        "No category is certain enough: “Abfall” reaches just under 50%, 50% are needed."
    );
    assert_eq!(
        said(0.9999, 0.0, None, Language::German),
        "„Abfall“ mit 99 % Sicherheit, 99 Prozentpunkte vor „Straßen“."
    );
    assert_eq!(
        said(0.501, 0.499, None, Language::German),
        "„Abfall“ mit 50 % Sicherheit, knapp vor „Straßen“."
    );
    assert_eq!(
        said(0.501, 0.491, None, Language::English),
        "“Abfall” with a confidence of 50%, 1 point ahead of “Straßen”."
    );
    assert_eq!(
        said(0.501, 0.499, Some(Refusal::Close { margin: 0.004 }), Language::English),
        "“Abfall” (50%) and “Straßen” are closer than 1 point."
    );
}

#[test]
fn missing_model_reasoning_is_reported() {
    assert_eq!(quoted("Tonne", Language::German), "Begründung des Sprachmodells: Tonne");
    assert_eq!(quoted("", Language::German), "Das Sprachmodell hat es nicht begründet.");
    assert_eq!(quoted("", Language::English), "The language model gave no reason.");
}

#[test]
fn certainty_is_not_rounded_up() {
    assert_eq!((percent(0.999), percent(1.0), percent(0.004)), (99, 100, 0));
}

#[test]
fn german_reasoning_has_no_english() {
    use {LlmClassifierError as Advice, Unclassified as Class};
    for reason in [Class::Missing, Class::Silent, Class::Mismatched, Class::UnknownLabels] {
        let said = reasoning(
            &Decision::refused(Refusal::Unavailable(reason)),
            &Evidence::default(),
            Language::German,
        );
        assert!(
            said.starts_with("Ohne Zuordnung") && !said.contains("the ") && !said.contains(" it "),
            "{said}"
        );
    }
    for reason in [Advice::Failed(Failure::Silent), Advice::Category, Advice::Confidence] {
        let said = fallback_note(reason, Language::German);
        assert!(!said.contains(" the ") && !said.contains(" it "), "{said}");
    }
}
