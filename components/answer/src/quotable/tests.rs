//! Tests of a passage's sentences.

use super::*;

fn texts(text: &str) -> Vec<String> {
    sentences(text).into_iter().map(|sentence| sentence.text).collect()
}

#[test]
fn inner_full_stop_ends_no_sentence() {
    assert_eq!(
        texts("Bringen Sie z. B. ein Foto mit. Es kostet ca. 12. Mai bis Nr. 5 nichts! Wirklich? Ja."),
        ["Bringen Sie z. B. ein Foto mit.", "Es kostet ca. 12. Mai bis Nr. 5 nichts!", "Wirklich?", "Ja."]
    );
    assert_eq!(
        texts("It costs 37.50 EUR (e.g. by card). \"Come early.\" Cash vs. Card: we take both."),
        ["It costs 37.50 EUR (e.g. by card).", "\"Come early.\"", "Cash vs. Card: we take both."]
    );
}

#[test]
fn list_joins_its_introducing_line() {
    let text = "Sie brauchen:\n- ein Foto\n- 70 Euro\n\nKommen Sie\nmit Termin.";
    assert_eq!(texts(text), ["Sie brauchen:\n- ein Foto\n- 70 Euro", "Kommen Sie mit Termin."]);
    assert_eq!(texts("1. Termin buchen\n2. Kommen"), ["1. Termin buchen\n2. Kommen"]);
    assert_eq!(texts("- ein Foto\n- 70 Euro\n\nDann."), ["- ein Foto\n- 70 Euro", "Dann."]);
}

#[test]
fn fragments_and_headings_are_not_whole() {
    let found = sentences("# Reisepass\nund dann zahlen. Das kostet 70 Euro. Wer jünger ist, zah");
    let whole: Vec<_> = found.iter().map(|sentence| (sentence.text.as_str(), sentence.whole)).collect();
    assert_eq!(
        whole,
        [
            ("# Reisepass", false),
            ("und dann zahlen.", false),
            ("Das kostet 70 Euro.", true),
            ("Wer jünger ist, zah", false)
        ]
    );
}

#[test]
fn ranges_are_where_sentences_stand() {
    let text = "  Erster Satz.\n Zweiter\n Satz. \n\n- Punkt";
    let found = sentences(text);
    let raw: Vec<_> =
        found.iter().map(|sentence| text.get(sentence.range.clone()).unwrap_or_default()).collect();
    assert_eq!(raw, ["Erster Satz.", "Zweiter\n Satz.", "- Punkt"]);
}

#[test]
fn nothing_has_no_sentences() {
    assert!(sentences(" \n\n ").is_empty());
}

#[test]
fn sentences_stand_under_the_nearest_headings() {
    let text = "Fischereischein\n\nBis 31.12.\n\nEr kostet 20 Euro. Er gilt.\n\nWas gilt ab 2025?\n\nEr kostet 40 Euro.\n\nEnde";
    let found = sentences(text);
    let under: Vec<_> = found
        .iter()
        .map(|one| (one.text.as_str(), one.heading, one.under.clone(), one.states_nothing()))
        .collect();
    assert_eq!(
        under,
        [
            ("Fischereischein", true, 0..0, true),
            ("Bis 31.12.", true, 0..1, false),
            ("Er kostet 20 Euro.", false, 0..2, false),
            ("Er gilt.", false, 0..2, false),
            ("Was gilt ab 2025?", true, 0..2, true),
            ("Er kostet 40 Euro.", false, 4..5, false),
            ("Ende", true, 4..5, true),
        ]
    );
}

#[test]
fn paragraph_may_begin_in_lower_case() {
    let found = sentences("und mehr.\n\nab 24 Jahren: Gebühr 37 Euro.\n\nab 60: frei");
    let whole: Vec<_> = found.iter().map(|sentence| sentence.whole).collect();
    assert_eq!(whole, [false, true, false], "{found:?}");
}

#[test]
fn final_number_makes_no_heading() {
    let headings = |text: &str| {
        let found = sentences(text).into_iter().filter(|sentence| sentence.heading);
        found.map(|sentence| sentence.text).collect::<Vec<_>>()
    };
    assert!(headings("Das Tierheim liegt in der Hundegasse 7.\n\nEine Katze kostet 120 Euro.").is_empty());
    assert_eq!(headings("Bis 31.12.\n\nDas kostet 20 Euro."), ["Bis 31.12."]);
}
