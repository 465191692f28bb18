//! Tests of slot ids: rules, interning and serialization.

#![allow(clippy::unwrap_used)]

use super::*;

const ID: SlotId = SlotId::new("my-app2");

#[test]
fn valid_text_is_an_id() {
    let longest = "a".repeat(MAX_BYTES);
    for text in ["a", "captcha", "my-app", "a1", "a-1", "x2-3-y", longest.as_str()] {
        assert_eq!(SlotId::parse(text).unwrap().as_str(), text);
    }
}

#[test]
fn broken_rule_is_named() {
    let long = "a".repeat(MAX_BYTES + 1);
    for (text, error, said) in [
        ("", SlotIdError::Empty, "empty"),
        (long.as_str(), SlotIdError::TooLong, "at most 63 bytes"),
        ("1a", SlotIdError::Start, "begin with a lower-case letter"),
        ("-a", SlotIdError::Start, "begin with a lower-case letter"),
        ("A", SlotIdError::Start, "begin with a lower-case letter"),
        ("aB", SlotIdError::Character, "lower-case letters, digits and dashes"),
        ("my_app", SlotIdError::Character, "lower-case letters, digits and dashes"),
        ("a.b", SlotIdError::Character, "lower-case letters, digits and dashes"),
        ("a/b", SlotIdError::Character, "lower-case letters, digits and dashes"),
        ("a\u{e9}", SlotIdError::Character, "lower-case letters, digits and dashes"),
        ("a--b", SlotIdError::DoubleDash, "two dashes in a row"),
        ("a-", SlotIdError::End, "end with a dash"),
    ] {
        let refused = SlotId::parse(text).unwrap_err();
        assert_eq!(refused, error, "{text}");
        assert!(refused.to_string().contains(said), "{text}: {refused}");
    }
}

#[test]
fn parsed_id_equals_its_literal() {
    let parsed = SlotId::parse(&String::from("my-app2")).unwrap();
    assert_eq!(parsed, ID);
    assert!(parsed < SlotId::new("my-b"));
    assert_eq!(BTreeSet::from([parsed, ID]).len(), 1);
}

#[test]
fn equal_texts_are_kept_once() {
    let [one, other] = [(); 2].map(|()| SlotId::parse(&String::from("kept-once")).unwrap());
    assert!(std::ptr::eq(one.as_str(), other.as_str()));
}

#[test]
fn new_text_after_too_many_is_refused() {
    let mut interned = Interned(BTreeSet::new());
    for number in 0..MAX_IDS {
        interned.intern(&format!("id-{number}")).unwrap();
    }
    assert_eq!(interned.intern("one-more"), Err(SlotIdError::TooMany));
    assert_eq!(interned.intern("id-0"), Ok("id-0"));
}

#[test]
fn id_is_written_as_its_text() {
    assert_eq!(format!("{ID:>9}"), "  my-app2");
    assert_eq!(serde_json::to_string(&ID).unwrap(), "\"my-app2\"");
}
