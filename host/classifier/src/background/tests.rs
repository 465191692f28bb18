//! Tests of the built-in background texts.

use std::collections::BTreeSet;

use super::TEXTS;

#[test]
fn background_texts_are_many_and_distinct() {
    let distinct: BTreeSet<String> = TEXTS.iter().map(|text| text.to_lowercase()).collect();
    assert_eq!(distinct.len(), TEXTS.len());
    assert!(TEXTS.len() >= 240, "{}", TEXTS.len());
    for text in TEXTS {
        assert!((1..160).contains(&text.chars().count()) && text.trim() == *text, "{text:?}");
    }
}
