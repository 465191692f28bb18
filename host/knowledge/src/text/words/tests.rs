//! Tests of terms.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn first(text: &str, language: &str) -> String {
    terms(text, Some(language)).remove(0)
}

#[test]
fn word_variants_share_one_term() {
    assert_eq!(
        terms("Die Gebühren für Kfz-Zulassungen", Some("de")),
        ["die", "gebuhr", "fur", "kfz", "zulass"]
    );
    for same in ["Gebühr", "Gebühren", "GEBÜHREN", "Gebuehren", "gebu\u{308}hr"] {
        assert_eq!(first(same, "de"), "gebuhr", "{same}");
    }
    assert_eq!(first("Straße", "de"), first("Strasse", "de"));
    assert_eq!(first("applications", "en"), first("application", "en"));
    assert_eq!(terms("neue Bauten quer", Some("xx")), ["neue", "bauten", "quer"]);
    assert_eq!(terms("café 17.30 24/7", None), ["cafe", "17", "30", "24", "7"]);
}

#[test]
fn question_words_have_terms_per_language() {
    let words = question("Wie viel kosten die Parkausweise? kosten!", ["de", "en"]);
    let terms: Vec<_> = words.iter().map(|word| word.terms.join(" ")).collect();
    assert_eq!(terms, ["kost kosten", "parkausweis parkausweise"]);
}

#[test]
fn question_terms_are_bounded() {
    let long: String = (0..5000).map(|number| format!("wort{number}ö ")).collect();
    assert!(question(&long, ["de"]).len() <= MAX_WORDS + 1);
    assert_eq!(question("\" * ( ) NEAR/ : ^ - \0", ["de"]).len(), 1);
    assert!(terms(&"x".repeat(10_000), None)[0].len() <= MAX_TERM);
}

#[test]
fn the_list_of_stop_words_is_sorted() {
    for word in ["a", "der", "zwischen", "über", "your"] {
        assert!(stop::contains(word), "{word}");
    }
    assert!(!stop::contains("parken"));
}
