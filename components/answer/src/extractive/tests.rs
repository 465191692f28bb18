//! Tests of extractive answers.

#![allow(clippy::unwrap_used)]

use super::*;

const PASSPORT: &str = "Den Reisepass beantragen Sie persönlich im Bürgerbüro. Ein Reisepass kostet 70 Euro. Wer jünger \
                        als 24 Jahre ist, zahlt 37,50 Euro. Die Herstellung dauert etwa vier Wochen. Der Express-Pass ist \
                        nach drei Werktagen da.";
const CARD: &str = "Ein Personalausweis kostet 37 Euro. Er ist zehn Jahre gültig.";
const BOUNDS: Bounds = Bounds { sentences: 4, characters: 600 };

fn passage(text: &str, score: f32) -> Passage {
    Passage { text: text.to_owned(), score, ..Passage::default() }
}

fn german(question: &str, passages: &[(&str, f32)], bounds: Bounds) -> Vec<(String, usize)> {
    let passages: Vec<_> = passages.iter().map(|(text, score)| passage(text, *score)).collect();
    let statements = write(question, &passages, Language::German, bounds);
    statements.into_iter().map(|one| (one.text, one.passages.first().copied().unwrap_or_default())).collect()
}

fn first(question: &str) -> String {
    let one = Bounds { sentences: 1, ..BOUNDS };
    german(question, &[(PASSPORT, 0.9), (CARD, 0.6)], one).into_iter().map(|(text, _)| text).collect()
}

#[test]
fn most_relevant_sentence_comes_first() {
    assert_eq!(first("Was kostet ein Reisepass?"), "Ein Reisepass kostet 70 Euro.");
    assert_eq!(first("Wie lange dauert es bis zum Reisepass?"), "Die Herstellung dauert etwa vier Wochen.");
    assert_eq!(
        first("Ich bin 20 und jünger als andere. Was zahle ich?"),
        "Wer jünger als 24 Jahre ist, zahlt 37,50 Euro."
    );
    assert_eq!(
        first("Wo kann ich den Reisepass beantragen?"),
        "Den Reisepass beantragen Sie persönlich im Bürgerbüro."
    );
}

#[test]
fn sentences_keep_their_passage_s_order() {
    let written =
        german("Was kostet ein Reisepass, und wie lange dauert die Herstellung?", &[(PASSPORT, 0.9)], BOUNDS);
    let places: Vec<_> = written.iter().map(|(text, _)| PASSPORT.find(text.as_str())).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{written:?}");
    assert!(written.len() >= 2);
}

#[test]
fn anaphoric_sentence_brings_its_antecedent() {
    let written = german("Wie viele Jahre ist der Ausweis gültig?", &[(CARD, 0.9)], BOUNDS);
    assert_eq!(written.first().map(|(text, _)| text.as_str()), Some("Ein Personalausweis kostet 37 Euro."));
    assert_eq!(written.last().map(|(text, _)| text.as_str()), Some("Er ist zehn Jahre gültig."));
}

#[test]
fn the_same_is_not_said_twice() {
    let again = "Ein Reisepass kostet 70 Euro.";
    let written = german("Was kostet ein Reisepass?", &[(PASSPORT, 0.9), (again, 0.8)], BOUNDS);
    assert_eq!(written.iter().filter(|(text, _)| text == again).count(), 1, "{written:?}");
}

#[test]
fn passage_without_common_words_is_quoted_first() {
    let written = german("Urlaub geplant, Grenzübertritt", &[(PASSPORT, 0.9)], BOUNDS);
    let texts: Vec<_> = written.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["Den Reisepass beantragen Sie persönlich im Bürgerbüro."]);
}

#[test]
fn an_answer_keeps_its_bounds() {
    let question =
        "Reisepass beantragen, kosten, jünger als 24 Jahre, Herstellung, Express-Pass nach Werktagen";
    for sentences in 1..=4 {
        assert!(german(question, &[(PASSPORT, 0.9)], Bounds { sentences, ..BOUNDS }).len() <= sentences);
    }
    let written = german(question, &[(PASSPORT, 0.9)], Bounds { characters: 60, ..BOUNDS });
    assert!(written.iter().map(|(text, _)| text.chars().count()).sum::<usize>() <= 60, "{written:?}");
    assert!(!written.is_empty());
}

#[test]
fn nothing_comes_of_nothing() {
    assert!(german("Was kostet ein Reisepass?", &[], BOUNDS).is_empty());
    assert!(german("Was kostet ein Reisepass?", &[("# Reisepass", 0.9)], BOUNDS).is_empty());
}

const CARDS: &str = "Personalausweis\n\nDen Ausweis beantragen Sie im Bürgerbüro.\n\nGebühren\n\nab 24 Jahren: Gebühr 37,00 \
                     Euro.\n\nunter 24 Jahren: Gebühr 22,80 Euro.\n\nvorläufiger Ausweis: Gebühr 10,00 \
                     Euro.\n\nUnterlagen\n\n- bisheriger Ausweis\n- ein Foto\n\nDauer\n\nDas dauert drei Wochen.";

#[test]
fn heading_words_match_sentences_below() {
    let written = german("Welche Unterlagen brauche ich für den Personalausweis?", &[(CARDS, 0.9)], BOUNDS);
    assert!(written.iter().any(|(text, _)| text == "- bisheriger Ausweis\n- ein Foto"), "{written:?}");
}

#[test]
fn umlauts_in_two_letters_find_their_sentence() {
    assert_eq!(
        first("Wie lange dauert es bis zum Reisepass, fuer eine Herstellung?"),
        "Die Herstellung dauert etwa vier Wochen."
    );
    assert_eq!(first("Wer ist juenger als 24 Jahre?"), "Wer jünger als 24 Jahre ist, zahlt 37,50 Euro.");
}

const MOORING: &str = "Liegeplatz\n\nGebühren\n\nKajak: 13 Euro\nSegelboot: 40 Euro\n\nAnmeldung\n\nBringen Sie \
                       mit:\n- Ausweis\n- Foto vom Boot\n\nDer Hafenmeister hilft.";

/// Returns the passage `text` with the items that contain these texts, each as near to the question as given.
fn with_items(document: &str, text: &str, items: &[(&str, f32)]) -> Passage {
    let item = |(own, score): &(&str, f32)| {
        let start = text.find(own).unwrap();
        Item { range: start..start + own.len(), score: *score }
    };
    let items = items.iter().map(item).collect();
    Passage { document: document.to_owned(), text: text.to_owned(), items, score: 0.5, ..Passage::default() }
}

fn texts(question: &str, passages: &[Passage]) -> Vec<String> {
    write(question, passages, Language::German, BOUNDS).into_iter().map(|one| one.text).collect()
}

#[test]
fn nearest_items_are_quoted_without_their_neighbours() {
    let near = [("Kajak: 13 Euro", 0.9), ("Segelboot: 40 Euro", 0.86), ("Der Hafenmeister hilft.", 0.85)];
    let page = with_items("hafen", MOORING, &near);
    assert_eq!(texts("Was zahle ich für mein Kanu?", &[page]), ["Kajak: 13 Euro"]);
}

#[test]
fn words_decide_between_items_equally_near() {
    let near = [("Kajak: 13 Euro", 0.88), ("Segelboot: 40 Euro", 0.88), ("Foto vom Boot", 0.86)];
    let (page, one) = (with_items("hafen", MOORING, &near), Bounds { sentences: 1, ..BOUNDS });
    let found = write("Segelboot am Liegeplatz, bitte", &[page], Language::German, one);
    assert_eq!(found.first().map(|one| one.text.as_str()), Some("Segelboot: 40 Euro"), "{found:?}");
}

#[test]
fn announced_list_follows_its_line() {
    let near = [("Bringen Sie mit:", 0.9), ("Ausweis", 0.8), ("Foto vom Boot", 0.8)];
    let page = with_items("hafen", MOORING, &near);
    assert_eq!(texts("Was nehme ich mit?", &[page]), ["Bringen Sie mit:", "Ausweis", "Foto vom Boot"]);
}

#[test]
fn frequent_questions_share_no_page() {
    let entry = |document: &str, title: &str, text: &str, score| Passage {
        title: title.to_owned(),
        url: Some("https://hafen.example/fragen".to_owned()),
        ..with_items(document, text, &[(text, score)])
    };
    let asked = entry("kanu", "Was zahlt ein Kanu?", "Kanus zahlen 9 Euro.", 0.9);
    let other = entry("zelt", "Was zahlt ein Zelt?", "Zelte zahlen 12 Euro.", 0.885);
    let copy = entry("kopie", "Was zahlt ein Kanu?", "Wer ein Kanu hat, zahlt 9 Euro.", 0.899);
    assert_eq!(texts("Was muss man tun?", &[asked.clone(), other.clone()]), ["Kanus zahlen 9 Euro."]);
    assert_eq!(texts("Was muss man tun?", &[asked.clone(), copy]), ["Kanus zahlen 9 Euro."]);
    let page = |passage: Passage| Passage { title: "Preise".to_owned(), ..passage };
    let both = texts("Was muss man tun?", &[page(asked), page(other)]);
    assert_eq!(both, ["Kanus zahlen 9 Euro.", "Zelte zahlen 12 Euro."]);
}

#[test]
fn other_pages_answer_only_when_near() {
    let near = with_items("hafen", MOORING, &[("Kajak: 13 Euro", 0.9)]);
    let other =
        |score| with_items("see", "Ruderboote zahlen nichts.", &[("Ruderboote zahlen nichts.", score)]);
    let question = "Was muss man tun?";
    assert_eq!(texts(question, &[near.clone(), other(0.885)]), ["Kajak: 13 Euro"]);
    assert_eq!(texts(question, &[near, other(0.895)]), ["Kajak: 13 Euro", "Ruderboote zahlen nichts."]);
}
