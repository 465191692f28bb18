#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn size(most: usize, overlap: usize) -> ChunkSize {
    ChunkSize { most, overlap }
}

#[test]
fn a_short_text_is_one_passage_and_nothing_is_none() {
    assert_eq!(
        passages("Ein Satz. Noch einer.\n\nEnde.", ChunkSize::default()),
        ["Ein Satz. Noch einer.\n\nEnde."]
    );
    assert_eq!(passages("", ChunkSize::default()), [""; 0]);
    assert_eq!(passages(" \n\n ", ChunkSize::default()), [""; 0]);
}

#[test]
fn cuts_fall_between_sentences_and_repeat_the_last_that_fits() {
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
fn a_paragraph_ends_a_passage_that_is_half_full() {
    let text = "Ein erster Absatz steht hier.\n\nEin zweiter. Mit mehr. Und noch viel mehr Text.";
    assert_eq!(passages(text, size(50, 0))[0], "Ein erster Absatz steht hier.");
}

#[test]
fn every_word_is_in_a_passage_and_no_passage_is_too_long() {
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
fn a_passage_begins_with_the_headings_that_it_stands_under() {
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
