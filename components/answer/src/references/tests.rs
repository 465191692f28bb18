//! Tests of numbered references.

use super::*;

fn passage(document: &str, title: &str, score: f32) -> Passage {
    let (document, title) = (document.to_owned(), title.to_owned());
    Passage {
        url: Some(format!("https://stadt.example/{document}")),
        document,
        title,
        score,
        ..Passage::default()
    }
}

fn statement(text: &str, passage: usize) -> Grounded {
    Grounded { text: text.to_owned(), quote: text.to_owned(), passage, close: true, ..Grounded::default() }
}

#[test]
fn numbers_are_the_places_of_documents() {
    let passages =
        [passage("1", "Reisepass", 0.9), passage("2", "Ausweis", 0.7), passage("3", "unused", 0.6)];
    let statements = [statement("A.", 1), statement("B.", 1), statement("C.", 0), statement("D.", 1)];
    let (text, documents) = referenced(&statements, &passages);
    assert_eq!(text, "A. B. [1]\n\nC. [2]\n\nD. [1]");
    let found: Vec<_> =
        documents.iter().map(|one| (one.title.as_str(), one.url.as_str(), one.quote.as_str())).collect();
    let expected = [
        ("Ausweis", "https://stadt.example/2", "A. … B. … D."),
        ("Reisepass", "https://stadt.example/1", "C."),
    ];
    assert_eq!(found, expected);
    assert_eq!(documents.first().map(|one| one.score), Some(0.7));
}

#[test]
fn passages_of_one_document_are_one_reference() {
    let passages = [passage("1", "", 0.6), passage("1", "", 0.8)];
    let (text, documents) = referenced(&[statement("A.", 0), statement("B:\n- c", 1)], &passages);
    assert_eq!(text, "A.\nB:\n- c [1]");
    assert_eq!(documents.len(), 1);
    assert_eq!(documents.first().map(|one| (one.title.as_str(), one.score)), Some(("1", 0.8)));
}

#[test]
fn what_refers_to_nothing_is_not_said() {
    assert_eq!(referenced(&[statement("A.", 3)], &[passage("1", "", 0.6)]), (String::new(), Vec::new()));
}

#[test]
fn quotes_are_unique_passage_text() {
    let said = |text: &str, quote: &str| Grounded { quote: quote.to_owned(), ..statement(text, 0) };
    let statements =
        [said("It is 70.", "It costs 70."), said("70 are due.", "It costs 70."), said("Now.", "Pay now.")];
    let (text, documents) = referenced(&statements, &[passage("1", "", 0.6)]);
    assert_eq!(text, "It is 70. 70 are due. Now. [1]");
    assert_eq!(documents.first().map(|one| one.quote.as_str()), Some("It costs 70. … Pay now."));
}

/// Readers take `[n]` for the n-th document.
#[test]
fn only_references_are_in_square_brackets() {
    for (text, expected) in [
        ("Es gilt die Satzung [12].", "Es gilt die Satzung (12). [1]"),
        ("Es gilt die Satzung 【12】.", "Es gilt die Satzung (12). [1]"),
        ("Siehe [1], [2, 3] und [4–6].", "Siehe (1), (2, 3) und (4–6). [1]"),
        ("An [x] und [] und [[7]] und [ 8", "An [x] und [] und [(7)] und [ 8 [1]"),
    ] {
        let (response, documents) = referenced(&[statement(text, 0)], &[passage("1", "", 0.6)]);
        assert_eq!(response, expected);
        assert_eq!(documents.first().map(|one| one.quote.as_str()), Some(text), "a quote is the page's");
    }
}

#[test]
fn headings_and_unfinished_sentences_are_separated() {
    let under =
        |heading: &str, text: &str| Grounded { heading: Some(heading.to_owned()), ..statement(text, 0) };
    let statements =
        [under("Geschlossen", "Montag 9 bis 12 Uhr"), under("Was gilt ab 2025?", "Er kostet 5 Euro.")];
    let (text, _) = referenced(&statements, &[passage("1", "", 0.6)]);
    assert_eq!(text, "Geschlossen: Montag 9 bis 12 Uhr\nWas gilt ab 2025? Er kostet 5 Euro. [1]");
}

#[test]
fn adjacent_quotes_have_no_gap() {
    let passage = Passage { text: "A. B.\n\nC. D.".to_owned(), ..passage("1", "", 0.6) };
    let quote = |texts: &[&str]| {
        let statements: Vec<_> = texts.iter().map(|text| statement(text, 0)).collect();
        let (_, documents) = referenced(&statements, std::slice::from_ref(&passage));
        documents.into_iter().map(|one| one.quote).collect::<String>()
    };
    assert_eq!(quote(&["A.", "B.", "C."]), "A. B. C.");
    assert_eq!(quote(&["A.", "C.", "D."]), "A. … C. D.");
}
