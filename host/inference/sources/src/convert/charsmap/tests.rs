//! Tests of the character map.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tokenizers::Normalizer;
use tokenizers::normalizers::Precompiled;

use super::*;

fn lookup(charsmap: &[u8], text: &str) -> String {
    let mut text = NormalizedString::from(text);
    Precompiled::from(charsmap).unwrap().normalize(&mut text).unwrap();
    text.get().to_owned()
}

#[test]
fn charsmap_replaces_only_its_keys() {
    let pairs = [
        ("a", "1"),
        ("b", ""),
        ("ab", "x"),
        ("ä", "ae"),
        ("½", "1/2"),
        ("ﬁ", "fi"),
        ("e\u{301}", "é"),
        ("\u{1}", " "),
    ];
    let map: BTreeMap<String, String> = pairs.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
    let charsmap = encode(&map).unwrap();
    // Single characters that are no key must come back as they are, whatever bytes they share with keys.
    for character in (1..0x1_2000).filter_map(char::from_u32) {
        let text = character.to_string();
        let expected = map.get(&text).unwrap_or(&text);
        assert_eq!(lookup(&charsmap, &text), *expected, "{character:?}");
    }
    assert_eq!(lookup(&charsmap, "e\u{301}e\u{302}cab"), "ée\u{302}c1");
}

#[test]
fn decomposed_accents_are_composed() {
    let mut map = BTreeMap::new();
    compose(&mut map);
    let charsmap = encode(&map).unwrap();
    for (from, to) in [("Mu\u{308}ll", "Müll"), ("e\u{341}", "é"), ("q\u{308}", "q\u{308}")] {
        assert_eq!(lookup(&charsmap, from), to);
    }
    // Only keys short enough to be looked up.
    assert!(map.keys().all(|key| key.len() < 6));
}

#[test]
fn unencodable_keys_are_refused() {
    for (from, to) in [("", "x"), ("a\0", "x"), ("a", "\0")] {
        assert_eq!(encode(&BTreeMap::from([(from.to_owned(), to.to_owned())])), None);
    }
    assert!(encode(&BTreeMap::new()).is_none(), "the reader takes no empty map");
}
