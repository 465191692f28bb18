//! Tests of the window of a long text.

use super::*;

#[test]
fn short_texts_stay_whole() {
    assert_eq!(window("Straße", 6), "Straße");
    assert_eq!(window("", 1), "");
}

#[test]
fn long_texts_lose_their_middle_between_words() {
    let text = "Anfang des Textes, ".to_owned() + &"mitte ".repeat(50) + "und am Schluss die Frage?";
    let cut = window(&text, 60);
    assert_eq!(cut, "Anfang des Textes, mitte mitte mitte\n…\nSchluss die Frage?");
    assert!(cut.chars().count() <= 60);
}

#[test]
fn a_text_without_spaces_is_cut_anywhere() {
    let cut = window(&"ä".repeat(200), 33);
    assert_eq!(cut, format!("{}\n…\n{}", "ä".repeat(20), "ä".repeat(10)));
    assert_eq!(window("abc", 1), "\n…\n");
}
