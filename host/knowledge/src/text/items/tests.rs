//! Tests of items.

#![allow(clippy::panic)]

use super::*;

/// Returns the texts of the items of `passage`.
fn texts(passage: &str) -> Vec<&str> {
    ranges(passage).into_iter().filter_map(|range| passage.get(range)).collect()
}

#[test]
fn lines_and_sentences_are_items() {
    let page = "Liegeplatz\n\nGebühren\n\nKajak: 13 Euro\nSegelboot: 40 Euro\n\n- Ausweis\n- Foto vom Boot\n\nSie zahlen am \
                Steg. Der Hafenmeister hilft.";
    let items = items("Hafen", page);
    let contents: Vec<&str> = items.iter().map(|item| item.content.as_str()).collect();
    assert_eq!(
        contents,
        [
            "Hafen",
            "Hafen – Liegeplatz – Gebühren: Kajak: 13 Euro",
            "Hafen – Liegeplatz – Gebühren: Segelboot: 40 Euro",
            "Hafen – Liegeplatz – Gebühren: Ausweis",
            "Hafen – Liegeplatz – Gebühren: Foto vom Boot",
            "Hafen – Liegeplatz – Gebühren: Sie zahlen am Steg.",
            "Hafen – Liegeplatz – Gebühren: Der Hafenmeister hilft.",
        ]
    );
    assert_eq!(items.get(1).and_then(|item| page.get(item.range.clone())), Some("Kajak: 13 Euro"));
}

#[test]
fn abbreviations_and_wrapped_lines_stay_whole() {
    assert_eq!(texts("Boote bis ca. 5 Meter, z. B. Kajaks."), ["Boote bis ca. 5 Meter, z. B. Kajaks."]);
    assert_eq!(
        texts("Der Steg ist von November bis April wegen des Hochwassers\nzu. Im Mai öffnet er."),
        ["Der Steg ist von November bis April wegen des Hochwassers\nzu.", "Im Mai öffnet er."]
    );
    assert_eq!(
        texts("ab 24 Jahren: 37 Euro\nunter 24 Jahren: 22 Euro"),
        ["ab 24 Jahren: 37 Euro", "unter 24 Jahren: 22 Euro"]
    );
    let linked = "Plätze: www.hafen.example/karte?steg=3 und am Steg.";
    assert_eq!(texts(linked), [linked]);
    assert_eq!(texts("Geöffnet:\n- täglich\n- auch sonntags"), ["Geöffnet:", "täglich", "auch sonntags"]);
}

#[test]
fn title_as_heading_is_not_repeated() {
    let items = items("Hafen", "Hafen\n\nDer Steg ist zu.");
    assert_eq!(items.get(1).map(|item| item.content.as_str()), Some("Hafen: Der Steg ist zu."));
}

#[test]
fn stored_items_keep_place_and_nearness() {
    let item = |range: Range<usize>| PassageItem { range, content: String::new() };
    let (title, near, far) = (item(0..0), item(0..4), item(5..9));
    let stored = encode([(&title, vec![1.0, 0.0]), (&near, vec![0.6, 0.8]), (&far, vec![0.0, 1.0])]);
    assert_eq!(stored.len(), 3 * (HEAD + 2));
    assert!((title_nearness(&stored, &[0.6, 0.8]) - 0.6).abs() < 0.01);
    assert_eq!(title_nearness(&[], &[0.6, 0.8]), 0.0);
    let found = score(&stored, &[vec![1.0, 0.0], vec![0.6, 0.8]]);
    let [first, second] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((first.range.clone(), second.range.clone()), (0..4, 5..9));
    assert!((first.score - 1.0).abs() < 0.01 && (second.score - 0.8).abs() < 0.01, "{found:?}");
    assert!(score(&stored, &[]).is_empty() && score(&[], &[vec![1.0, 0.0]]).is_empty());
}
