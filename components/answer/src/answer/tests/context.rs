//! Tests of the context around a quoted sentence: its heading, its exception, its question.

use super::*;

const SCHEIN: &str = "Fischereischein\n\nBis 31. Dezember 2024\n\nDer Fischereischein kostet 20 Euro.\n\n\
                      Ab 1. Januar 2025\n\nDer Fischereischein kostet 40 Euro.";
const EHE: &str = "Die Anmeldung der Eheschließung ist frühestens sechs Monate vor dem Termin möglich. Das gilt nicht für \
                   Paare, von denen eine Person im Ausland wohnt. Bringen Sie zur Anmeldung die Ausweise mit.";

fn page(text: &str) -> Passage {
    Passage { text: text.to_owned(), ..passport() }
}

fn extracted(text: &str, question: &str) -> Reply {
    about(&[page(text)], question)
}

/// Returns the reply to a question when the model writes `sentences`.
fn wrote_by_model(text: &str, sentences: &[&str]) -> Reply {
    let sentence = |text: &&str| serde_json::json!({ "text": text, "passages": [1] });
    let sentences: Vec<_> = sentences.iter().map(sentence).collect();
    let advice = Ok(serde_json::json!({ "sentences": sentences }).to_string());
    let base = Base { advice, ..Base::new(&[page(text)]) };
    let policy = Policy { strategy: Strategy::Llm, guarding: Guarding::Off };
    let request = Request { text: "Was gilt dafür, bitte?", category: "passports", action: "answer" };
    super::super::answer(&base, &configuration(), policy, request).unwrap()
}

fn assert_withheld(reply: &Reply, reason: &str) {
    let given = reply.reason.as_deref().unwrap_or_default();
    assert!(!reply.auto_publish && given.contains(reason), "{reply:?}");
}

#[test]
fn limiting_heading_is_shown_and_blocks_publication() {
    let reply = extracted(SCHEIN, "Was kostet der Fischereischein?");
    assert!(
        reply.response.contains("Bis 31. Dezember 2024: Der Fischereischein kostet 20 Euro."),
        "{reply:?}"
    );
    assert!(reply.response.contains("Ab 1. Januar 2025: Der Fischereischein kostet 40 Euro."), "{reply:?}");
    assert_withheld(&reply, "unter seiner Überschrift");
    assert_eq!(
        reply.documents[0].quote,
        "Bis 31. Dezember 2024\nDer Fischereischein kostet 20 Euro.\nAb 1. Januar 2025\nDer Fischereischein kostet 40 Euro."
    );
    for sentence in ["Der Fischereischein kostet 20 Euro.", "Ein Fischereischein kostet 20 Euro."] {
        assert_withheld(&wrote_by_model(SCHEIN, &[sentence]), "unter seiner Überschrift");
    }
    let closed =
        "Bibliothek\n\nGeschlossen\n\nMontag bis Mittwoch 9 bis 12 Uhr\n\nDer Ausweis ist kostenlos.";
    let reply = extracted(closed, "Wann hat die Bibliothek am Montag auf?");
    assert!(reply.response.contains("Geschlossen: Montag bis Mittwoch 9 bis 12 Uhr"), "{reply:?}");
    assert_withheld(&reply, "unter seiner Überschrift");
}

#[test]
fn harmless_headings_allow_publication() {
    let plain = "Reisepass\n\nGebühren\n\nEin Reisepass kostet 70 Euro.\n\nAb wann?\n\nDen Antrag stellen Sie vorher.";
    let reply = extracted(plain, "Was kostet ein Reisepass?");
    assert_eq!((reply.response.as_str(), reply.auto_publish), ("Ein Reisepass kostet 70 Euro. [1]", true));
    assert!(wrote_by_model(plain, &["Den Antrag stellen Sie vorher."]).auto_publish);
    let named = "Für Kinder\n\nKinder zahlen 10 Euro.";
    let reply = extracted(named, "Was zahlen Kinder?");
    assert_eq!((reply.response.as_str(), reply.auto_publish), ("Kinder zahlen 10 Euro. [1]", true));
}

#[test]
fn other_figure_under_heading_blocks_publication() {
    let text = "Erwachsene\n\nDer Eintritt kostet 5 Euro.\n\nKinder\n\nDer Eintritt kostet 3 Euro.";
    assert_withheld(&extracted(text, "Was kostet der Eintritt?"), "eine andere Angabe");
    assert_withheld(&wrote_by_model(text, &["Der Eintritt kostet 5 Euro."]), "eine andere Angabe");
}

#[test]
fn exception_is_quoted_with_its_rule() {
    let reply = extracted(EHE, "Wann ist die Anmeldung der Eheschließung möglich?");
    assert!(reply.response.contains("Das gilt nicht für Paare"), "{reply:?}");
    let rule = "Die Anmeldung der Eheschließung ist frühestens sechs Monate vor dem Termin möglich.";
    assert_withheld(&wrote_by_model(EHE, &[rule]), "eine Ausnahme");
    let exception = "Das gilt nicht für Paare, von denen eine Person im Ausland wohnt.";
    let reason = wrote_by_model(EHE, &[rule, exception]).reason.unwrap_or_default();
    assert!(!reason.contains("eine Ausnahme"), "{reason}");
}

#[test]
fn questions_and_headings_alone_are_no_answer() {
    let text = "Stadtbibliothek\n\nGeöffnet\n\nMuss ich ein Osterfeuer anmelden?\n\nSie melden es vier Wochen vorher an.";
    for alone in [&["Muss ich ein Osterfeuer anmelden?"][..], &["Stadtbibliothek", "Geöffnet"]] {
        assert_withheld(&wrote_by_model(text, alone), "Ohne das Sprachmodell geschrieben");
    }
    let reply = extracted(text, "Muss ich ein Osterfeuer anmelden?");
    assert!(reply.response.contains("vier Wochen vorher"), "{reply:?}");
    let reply = extracted("Stadtbibliothek\n\nGeöffnet\n\nKarte", "Wann hat die Stadtbibliothek geöffnet?");
    assert!(!reply.auto_publish && !reply.response.contains("Geöffnet"), "{reply:?}");
}

#[test]
fn missing_answer_type_blocks_publication() {
    let place = "Den Reisepass beantragen Sie im Bürgerbüro am Markt.";
    let reply = extracted(place, "Was kostet ein Reisepass?");
    assert!(!reply.auto_publish, "{reply:?}");
    assert_eq!(reply.reason.as_deref(), Some("[uncertain] Die Antwort nennt nicht, wonach gefragt ist."));
    assert!(extracted(place, "Wo beantrage ich einen Reisepass?").auto_publish);
}

#[test]
fn a_list_has_its_heading() {
    let page = "Reisepass\n\nEr kostet 70 Euro.\n\nUnterlagen\n\n- bisheriger Pass\n- ein Foto\n\nDauer\n\nVier Wochen.";
    let reply = extracted(page, "Welche Unterlagen brauche ich für den Reisepass?");
    assert!(reply.response.contains("Unterlagen:\n- bisheriger Pass\n- ein Foto"), "{reply:?}");
    assert!(reply.auto_publish, "{reply:?}");
}

#[test]
fn prices_for_others_block_publication() {
    let page =
        "Der Eintritt in das Freibad kostet 5 Euro.\nFür Kinder kostet der Eintritt in das Freibad 2 Euro.";
    let configuration = Configuration { max_sentences: 1, ..configuration() };
    let base = Base::new(&[Passage { text: page.to_owned(), ..passport() }]);
    let question = "Was kostet der Eintritt in das Freibad?";
    let reply =
        answer(&base, &configuration, Request { text: question, category: "passports", action: "answer" });
    assert_withheld(&reply.unwrap(), "eine andere Angabe");
}

#[test]
fn contradicting_copy_blocks_publication() {
    let copy = |document: &str, text: &str| Passage { document: document.to_owned(), ..page(text) };
    let (old, new) = ("Ein Reisepass kostet 70 Euro.", "Ein Reisepass kostet 75 Euro.");
    let question = "Was kostet ein Reisepass?";
    assert_withheld(&about(&[copy("old", old), copy("new", new)], question), "eine andere Angabe");
    assert!(about(&[copy("old", old), copy("new", old)], question).auto_publish);
}

#[test]
fn fragment_is_shown_below_its_heading() {
    let text = "Hafen\n\nGebühren\n\nKajak: 13 Euro\nSegelboot: 40 Euro\n\nMitzubringen:\n- Ausweis\n- Foto\n\nBis bald.";
    let item = |own: &str| {
        let start = text.find(own).unwrap();
        crate::passage::Item { range: start..start + own.len(), score: 0.9 }
    };
    let with = |own: &[&str]| Passage { items: own.iter().map(|own| item(own)).collect(), ..page(text) };
    let reply = about(&[with(&["Kajak: 13 Euro", "Segelboot: 40 Euro"])], "Was zahlen Boote?");
    assert_eq!(reply.response, "Gebühren: Kajak: 13 Euro\nSegelboot: 40 Euro [1]");
    assert_eq!(reply.documents[0].quote, "Kajak: 13 Euro Segelboot: 40 Euro");
    let reply = about(&[with(&["Foto"])], "Was brauche ich?");
    assert_eq!(reply.response, "Mitzubringen: Foto [1]");
}
