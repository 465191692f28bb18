//! Tests of passages.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn size(most: usize, overlap: usize) -> ChunkSize {
    ChunkSize { most, overlap }
}

#[test]
fn short_text_is_one_passage() {
    assert_eq!(
        passages("Ein Satz. Noch einer.\n\nEnde.", ChunkSize::default()),
        ["Ein Satz. Noch einer.\n\nEnde."]
    );
    assert_eq!(passages("", ChunkSize::default()), [""; 0]);
    assert_eq!(passages(" \n\n ", ChunkSize::default()), [""; 0]);
}

#[test]
fn passages_overlap_by_whole_sentences() {
    let text = "Erster Satz hier. Zweiter Satz hier. Dritter Satz hier. Vierter Satz hier.";
    assert_eq!(
        passages(text, size(40, 20)),
        [
            "Erster Satz hier. Zweiter Satz hier.",
            "Zweiter Satz hier. Dritter Satz hier.",
            "Dritter Satz hier. Vierter Satz hier.",
        ]
    );
    assert_eq!(passages(text, size(40, 0)).len(), 2);
}

#[test]
fn paragraph_ends_a_half_full_passage() {
    let text = "Ein erster Absatz steht hier.\n\nEin zweiter. Mit mehr. Und noch viel mehr Text.";
    assert_eq!(passages(text, size(50, 0))[0], "Ein erster Absatz steht hier.");
}

#[test]
fn passages_cover_words_within_the_limit() {
    let mut text = String::new();
    for number in 0..500 {
        text.push_str(&format!("wort{number}"));
        text.push_str(match number % 11 {
            0 => ". ",
            5 => "\n",
            7 => "\n\n",
            _ => " ",
        });
    }
    text.push_str(&"ü".repeat(333));
    for (most, overlap) in [(1, 0), (10, 5), (80, 30), (1000, 150), (50, 500)] {
        let passages = passages(&text, size(most, overlap));
        assert!(passages.iter().all(|passage| passage.chars().count() <= most));
        if most >= 10 {
            let all = passages.join(" ");
            assert!((0..500).all(|number| all.contains(&format!("wort{number}"))), "{most} {overlap}");
        }
        assert!(passages.concat().matches('ü').count() >= 333);
    }
}

#[test]
fn passage_begins_with_its_headings() {
    let text = "Schein\n\nBis 31. Dezember 2024\n\nEr kostet im Amt 20 Euro. Er wird dort ausgestellt.\n\n\
                Ab 1. Januar 2025\n\nEr kostet 40 Euro.";
    assert_eq!(
        passages(text, size(70, 0)),
        [
            "Schein\n\nBis 31. Dezember 2024\n\nEr kostet im Amt 20 Euro.",
            "Schein\n\nBis 31. Dezember 2024\n\nEr wird dort ausgestellt.",
            "Ab 1. Januar 2025\n\nEr kostet 40 Euro.",
        ]
    );
}
