//! Tests of the cursor.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn start(text: &str) -> Cursor<'_> {
    Cursor { text, at: 0 }
}

#[test]
fn it_passes_what_fits_and_stays_otherwise() {
    let mut cursor = start("Über 12345");
    assert!(!cursor.skip("über") && cursor.at() == 0);
    assert!(!cursor.skip_word("übel") && cursor.at() == 0);
    assert!(cursor.skip_word("über") && cursor.at() == 5);
    assert_eq!((cursor.before(), cursor.need("x")), (Some('r'), None));
    assert!(cursor.skip_any(&["-", " "]));
    assert_eq!(cursor.digits(6..=9), None);
    assert_eq!(cursor.digits(1..=3), Some("123"));
    assert_eq!(cursor.take(0..=2, char::is_alphabetic), Some(""));
    assert_eq!(cursor.rest(), "45");
}

#[test]
fn readings_never_overlap() {
    let pairs: Vec<_> = scan("ä12345", |cursor| cursor.digits(2..=2)).collect();
    assert_eq!(pairs, [(2..4, "12"), (4..6, "34")]);
    assert_eq!(scan("äb", |_| Some(())).map(|(range, ())| range).collect::<Vec<_>>(), [0..0, 2..2]);
    assert_eq!(scan("", |_| Some(())).count(), 0);
}
