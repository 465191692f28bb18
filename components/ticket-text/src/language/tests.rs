#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn short_texts_are_told_apart() {
    for text in [
        "Wo ist die Tonne?",
        "hallo, pass weg. was tun??",
        "Tonne kaputt",
        "Führerschein verloren",
        "Sperrmüll?",
    ] {
        assert_eq!(detect(text), Some("de"), "{text}");
    }
    for text in [
        "Where is my bin?",
        "lost the dog tag",
        "Passport please",
        "I need a permit for the Kreisverwaltungsreferat",
    ] {
        assert_eq!(detect(text), Some("en"), "{text}");
    }
}

#[test]
fn other_languages_are_named_when_certain() {
    let french = "Bonjour, je voudrais savoir comment je peux obtenir un nouveau passeport pour ma fille avant les vacances d'été.";
    assert_eq!(detect(french), Some("fra"));
    assert_eq!(
        detect("Здравствуйте, как мне зарегистрировать новый адрес после переезда в другой город?"),
        Some("rus")
    );
}

#[test]
fn no_words_have_no_language() {
    assert_eq!(detect(" 123 !?"), None);
}

/// The hand-written tickets of both languages; the share that must be right leaves room for the few of three words.
#[test]
fn hand_written_tickets_are_told_apart() {
    for (file, language) in [
        (include_str!("../../../../tests/data/triage/test-german.jsonl"), "de"),
        (include_str!("../../../../tests/data/triage/test-english.jsonl"), "en"),
    ] {
        let texts: Vec<String> = file
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["text"].as_str().unwrap().to_owned()
            })
            .collect();
        let wrong: Vec<&String> = texts.iter().filter(|text| detect(text) != Some(language)).collect();
        assert!(wrong.len() * 50 <= texts.len(), "{} of {}: {wrong:#?}", wrong.len(), texts.len());
    }
}
