use super::*;
use crate::decision::Candidate;

fn decision(refusal: Option<Refusal>) -> Decision {
    let candidate = |name: &str, confidence| Candidate { name: name.to_owned(), confidence };
    Decision { candidates: vec![candidate("Abfall", 0.934), candidate("Straßen", 0.03)], refusal }
}

fn evidence() -> Evidence {
    Evidence {
        example: Some("Die Tonne\nist voll".to_owned()),
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
    let down = Decision::refused(Refusal::Unavailable("the model \"e5\" is not loaded".to_owned()));
    assert_eq!(
        reasoning(&down, &evidence(), Language::English),
        "Not categorised because the classifier cannot answer: the model \"e5\" is not loaded."
    );
    let empty = Decision::refused(Refusal::Empty);
    assert_eq!(reasoning(&empty, &evidence(), Language::English), "Empty message cannot be categorized");
    let wordless = Decision::refused(Refusal::Wordless);
    assert_eq!(
        reasoning(&wordless, &evidence(), Language::German),
        "In der Nachricht steht kein Wort, nach dem sie sich zuordnen ließe."
    );
}

#[test]
fn quotes_are_one_short_line_and_certainty_is_not_rounded_up() {
    let quoted = quote(&"Wort ".repeat(40));
    assert!(quoted.chars().count() <= LONGEST_QUOTE + 1 && quoted.ends_with('…'), "{quoted}");
    assert_eq!((percent(0.999), percent(1.0), percent(0.004)), (99, 100, 0));
}
