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
fn the_likest_example_and_shared_words_are_named() {
    let found = evidence("Unsere Tonne stinkt! Die tonne wurde seit Wochen nicht geleert.", &examples());
    assert_eq!(found.example.as_deref(), Some("Die braune Tonne wurde nicht geleert"));
    assert_eq!(found.words, ["Tonne", "wurde", "geleert"]);
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
fn cosines_of_rows() {
    let row = FEATURES.row("eine Tonne");
    assert!((cosine(&row, &row) - 1.0).abs() < 0.02);
    assert_eq!(cosine(&row, &Row::default()), 0.0);
}
