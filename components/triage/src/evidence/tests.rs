//! Tests of the evidence for a category.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn examples() -> Vec<String> {
    [
        "Die braune Tonne wurde nicht geleert",
        "Ich möchte Sperrmüll anmelden",
        "Wann hat der Wertstoffhof offen?",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn evidence_names_example_and_shared_words() {
    let found = evidence("Unsere Tonne stinkt! Die tonne wurde seit Wochen nicht geleert.", &examples());
    assert_eq!(found.example.as_deref(), Some("Die braune Tonne wurde nicht geleert"));
    assert_eq!(found.words, ["Tonne", "geleert"]);
}

#[test]
fn nothing_is_made_up() {
    assert_eq!(evidence("Quizfrage zur Biologie", &examples()), Evidence::default());
    assert_eq!(evidence("", &examples()), Evidence::default());
    assert_eq!(evidence("Tonne", &[]), Evidence::default());
}

#[test]
fn numbers_are_never_quoted() {
    let examples = ["Aktenzeichen 12345678 und IBAN DE89370400440532013000".to_owned()];
    let found = evidence("Aktenzeichen 12345678, IBAN DE89370400440532013000", &examples);
    assert_eq!(found.words, ["Aktenzeichen", "IBAN"]);
}

#[test]
fn evidence_words_are_in_the_example() {
    let mut examples = examples();
    examples.push("Der Wertstoffhof stinkt".to_owned());
    let found = evidence("Die braune Tonne wurde nicht geleert und der Wertstoffhof stinkt", &examples);
    assert_eq!(found.example.as_deref(), Some("Die braune Tonne wurde nicht geleert"));
    assert_eq!(found.words, ["braune", "Tonne", "geleert"]);
    let found = evidence("Wann kommt die Tonnenleerung?", &["Wann kommt die Straßenreinigung?".to_owned()]);
    assert_eq!(found.words, Vec::<String>::new(), "what any question has");
}

#[test]
fn quotes_are_one_short_line() {
    let quoted = quote(&"Wort\n".repeat(40));
    assert!(quoted.chars().count() <= LONGEST_QUOTE + 1 && quoted.ends_with("Wort…"), "{quoted}");
    assert_eq!(quote(&"ä".repeat(80)), "ä".repeat(80));
    assert_eq!(quote(&"ä".repeat(90)), format!("{}…", "ä".repeat(80)));
    assert_eq!(quote(&format!("{} über", "ä".repeat(78))), format!("{}…", "ä".repeat(78)));
    assert_eq!(quote(&format!("{} über", "ä".repeat(80))), format!("{}…", "ä".repeat(80)));
}

/// Checks all tickets and labelled examples of the project.
#[test]
fn evidence_words_are_in_both_texts() {
    let read = |file: &str| {
        let lines = file.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let text = |line: &serde_json::Value, key: &str| line[key].as_str().unwrap().to_owned();
        lines.map(|line| (text(&line, "category"), text(&line, "text"))).collect::<Vec<_>>()
    };
    let labelled = read(include_str!("../../../../tests/data/triage/training.jsonl"));
    let tickets = [
        read(include_str!("../../../../tests/data/triage/test-german.jsonl")),
        read(include_str!("../../../../tests/data/triage/test-english.jsonl")),
    ];
    let mut named = 0;
    for (category, text) in tickets.iter().flatten() {
        let examples = labelled.iter().filter(|(of, _)| of == category).map(|(_, text)| text.clone());
        let found = evidence(text, &examples.collect::<Vec<_>>());
        let Some(quoted) = found.example else {
            assert!(found.words.is_empty(), "{text}");
            continue;
        };
        let has = |word: &str, whole: &str| {
            whole
                .split(|letter: char| !letter.is_alphanumeric())
                .any(|one| one.to_lowercase() == word.to_lowercase())
        };
        for word in &found.words {
            assert!(has(word, text) && has(word, &quoted), "{word}: {text} / {quoted}");
            assert!(!STOP_WORDS.contains(&word.to_lowercase().as_str()));
            named += 1;
        }
    }
    assert!(named > 50, "{named}");
}
