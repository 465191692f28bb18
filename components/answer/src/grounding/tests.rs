//! Tests of grounded sentences.

mod altered;

use super::context::is_variant;
use super::*;

const PASSAGE: &str = "Ein Reisepass kostet 70,00 Euro. Wer jünger als 24 Jahre ist, zahlt 37,50 Euro. Ohne biometrisches \
                       Foto nehmen wir den Antrag nicht an. Schreiben Sie an pass@stadt.example.";

fn german(sentence: &str) -> Result<(), Ungrounded> {
    checked(sentence, PASSAGE, Language::German)
}

fn checked(sentence: &str, passage: &str, language: Language) -> Result<(), Ungrounded> {
    let stems = Stems::new(language);
    check(sentence, &Source::new(passage, &stems))
}

#[test]
fn the_passage_s_own_words_are_grounded() {
    assert_eq!(german("Wer jünger als 24 Jahre ist,\n zahlt 37,50 Euro."), Ok(()));
}

#[test]
fn other_words_for_the_same_are_grounded() {
    assert_eq!(german("Der Reisepass kostet 70 Euro."), Ok(()));
    assert_eq!(german("Jüngere als 24 Jahre zahlen für den Reisepass 37,50 Euro."), Ok(()));
    let english = "Collection takes two weeks.";
    assert_eq!(checked("The collection takes 2 weeks.", english, Language::English), Ok(()));
}

#[test]
fn words_for_a_price_may_be_others() {
    assert_eq!(german("Die Gebühr beträgt siebzig Euro."), Ok(()));
    assert_eq!(checked("The fee is 12 euros.", "Mooring costs 12 euros.", Language::English), Ok(()));
    assert!(german("Die Gebühr für Hunde beträgt siebzig Euro.").is_err());
}

#[test]
fn amount_of_others_is_not_grounded() {
    let passage = "Eine Kopie kostet 12 Euro. Kopien für Kita und Schule sind gebührenfrei.";
    for (passage, sentence) in [
        (PASSAGE, "Ein Reisepass kostet 37,50 Euro."),
        (passage, "Kopien für Kita und Schule: 12 Euro"),
        (passage, "Kopien für Kita und Schule kosten 12 Euro."),
    ] {
        let refused = checked(sentence, passage, Language::German);
        assert!(matches!(refused, Err(Ungrounded::Figure(_))), "{sentence}: {refused:?}");
    }
    assert_eq!(checked("Kopien kosten 12 Euro.", passage, Language::German), Ok(()));
}

#[test]
fn unknown_figure_is_not_grounded() {
    assert_eq!(german("Der Reisepass kostet 75 Euro."), Err(Ungrounded::Figure("75".to_owned())));
    assert_eq!(german("Ein Reisepass kostet zwei Euro."), Err(Ungrounded::Figure("2".to_owned())));
    assert_eq!(
        german("Schreiben Sie an chef@stadt.example."),
        Err(Ungrounded::Figure("chef@stadt.example".to_owned()))
    );
}

#[test]
fn a_figure_with_another_unit_is_not() {
    for (passage, said, altered) in [
        ("Ein Pass kostet 30 Euro.", "Der Pass kostet 30 €.", "Der Pass kostet 30 Minuten."),
        (
            "Ein neuer Pass kostet im Amt 30€.",
            "Der neue Pass kostet im Amt EUR 30.",
            "Der neue Pass kostet im Amt 30 Cent.",
        ),
        ("Ein Pass gilt zehn Jahre.", "Der Pass gilt 10 Jahre.", "Der Pass gilt zehn Monate."),
        (
            "Der Zuschlag beträgt im Jahr 5 %.",
            "Der Zuschlag beträgt im Jahr 5 Prozent.",
            "Der Zuschlag beträgt im Jahr 5 Euro.",
        ),
        (
            "Die Frist endet nach 14 Tagen.",
            "Nach 14 Tagen endet die Frist.",
            "Die Frist endet nach 14 Wochen.",
        ),
        (
            "Die Rampe am Amt ist 2 m lang.",
            "Die Rampe am Amt ist 2 Meter lang.",
            "Die Rampe am Amt ist 2 Kilometer lang.",
        ),
        ("Es dauert vier bis fünf Wochen.", "Es dauert 4 bis 5 Wochen.", "Es dauert vier bis fünf Tage."),
        ("Ein Pass kostet 70,00 Euro.", "Der Pass kostet 70 €.", "Der Pass kostet 70,00 Dollar."),
        ("Ein Pass kostet 70,00 Euro.", "Der Pass kostet 70 Euro.", "Der Pass kostet $70,00."),
        ("Ein Pass kostet 70,00 Euro.", "Der Pass kostet 70€.", "Der Pass kostet £70,00."),
        ("Ein Pass kostet 70,00 Euro.", "Der Pass kostet 70 Euro.", "Der Pass kostet CHF 70."),
        ("Ein Pass gilt zehn Jahre.", "Der Pass gilt 10 Jahre.", "Der Pass gilt zehn Jahrzehnte."),
        (
            "Es liegt nach drei Werktagen bereit.",
            "Es liegt bereit nach 3 Werktagen.",
            "Es liegt bereit nach drei Wochen.",
        ),
        (
            "Es dauert vier bis sechs Wochen.",
            "Es dauert 4 bis 6 Wochen.",
            "Es dauert vier bis sechs Werktage.",
        ),
        ("Gepäck bis 20 Kilogramm ist frei.", "Frei ist Gepäck bis 20kg.", "Frei ist Gepäck bis 20 Gramm."),
        (
            "Das Amt öffnet um 8 Uhr. Gepäck bis 20 kg ist frei.",
            "Um 8 Uhr öffnet das Amt.",
            "Das Amt öffnet um 20 Uhr.",
        ),
        (
            "Es dauert vier bis sechs Wochen.",
            "Es dauert vier Wochen bis sechs Wochen.",
            "Es dauert vier Tage bis sechs Wochen.",
        ),
        ("Es kostet 2 Euro. Es dauert 2 Tage.", "Das dauert 2 Tage.", "Das dauert 2 Stunden."),
    ] {
        assert_eq!(checked(said, passage, Language::German), Ok(()), "{said}");
        let refused = checked(altered, passage, Language::German);
        assert!(matches!(refused, Err(Ungrounded::Figure(_))), "{altered}: {refused:?}");
    }
    for (passage, said, altered) in [
        ("Park within 500 metres.", "You park within 500 m.", "You park within 500 miles."),
        ("It opens at 8 am.", "At 8am it opens.", "It opens at 8 pm now."),
        ("Collection takes three working days.", "It takes 3 working days.", "It takes three days."),
        (
            "Collection takes three working days.",
            "It takes three working days.",
            "It takes 3 business weeks.",
        ),
    ] {
        assert_eq!(checked(said, passage, Language::English), Ok(()), "{said}");
        assert!(checked(altered, passage, Language::English).is_err(), "{altered}");
    }
    let english = "Collection takes 20 minutes.";
    assert_eq!(checked("The collection takes 20 minutes.", english, Language::English), Ok(()));
    assert!(checked("The collection takes 20 hours.", english, Language::English).is_err());
}

/// A unit that only one of the two names refuses nothing.
#[test]
fn missing_unit_matches_any() {
    let passage = "Wer jünger als 24 ist, zahlt für den Pass 37,50 Euro.";
    assert_eq!(
        checked("Wer jünger als 24 Jahre ist, zahlt für den Pass 37,50.", passage, Language::German),
        Ok(())
    );
}

#[test]
fn unknown_address_is_not_grounded() {
    for address in ["https://evil.example/pay", "www.evil.example", "evil.example", "pass.stadt.example/a"] {
        let sentence = format!("Ein Reisepass kostet 70,00 Euro, siehe {address}.");
        assert!(matches!(german(&sentence), Err(Ungrounded::Figure(_))), "{address}");
        let linked = format!("Ein [Reisepass](https://{address}) kostet 70,00 Euro.");
        assert!(matches!(german(&linked), Err(Ungrounded::Figure(_))), "{address}");
    }
    assert_eq!(german("Ein Reisepass kostet z.B. 70,00 Euro."), Ok(()));
}

#[test]
fn words_that_the_passage_lacks_are_not() {
    let Err(Ungrounded::Words(unsaid)) =
        german("Das Bürgerbüro verschickt den Reisepass kostenlos per Kurier.")
    else {
        unreachable!("nothing of it is in the passage")
    };
    assert!(unsaid.contains(&"kuri".to_owned()), "{unsaid:?}");
}

#[test]
fn the_opposite_is_not() {
    assert_eq!(german("Ein Reisepass kostet nicht 70 Euro."), Err(Ungrounded::Negation));
    assert_eq!(german("Ein Reisepass kostet nichts."), Err(Ungrounded::Negation));
    let passage = "Ein Reisepass kostet 70 Euro. Ein Reisepass ist nicht übertragbar.";
    let priced = |sentence: &str| checked(sentence, passage, Language::German);
    assert_eq!(priced("Ein Reisepass kostet nicht 70 Euro."), Err(Ungrounded::Negation));
    assert_eq!(priced("Der Preis für einen Reisepass beträgt 70 Euro."), Ok(()));
    assert_eq!(german("Wir nehmen den Antrag mit biometrischem Foto an."), Err(Ungrounded::Negation));
}

/// The passage holds whatever the question was; `yes` does not.
#[test]
fn yes_and_no_are_not() {
    assert_eq!(german("Ja, ein Reisepass kostet 70 Euro."), Err(Ungrounded::Words(vec!["ja".to_owned()])));
    assert!(german("Nein, ein Reisepass kostet 70 Euro.").is_err());
    assert_eq!(checked("Yes, it is.", "Yes, it is open.", Language::English), Ok(()));
    assert!(checked("Yes, it is.", "It is open.", Language::English).is_err());
}

#[test]
fn nothing_is_not() {
    assert_eq!(german(" … "), Err(Ungrounded::Empty));
    assert_eq!(german("Das ist so."), Err(Ungrounded::Empty));
}

fn statement(text: &str, passages: &[usize]) -> Statement {
    Statement { text: text.to_owned(), passages: passages.to_vec() }
}

/// Returns the grounded statements: texts with the indices of their passages, and quotes.
fn left(statements: &[Statement]) -> Vec<(String, usize, String)> {
    let passage = |text: &str| Passage { text: text.to_owned(), ..Passage::default() };
    let passages =
        [passage(PASSAGE), passage("Ein Ausweis kostet 37 Euro."), passage("Ein Reisepass kostet 70 Euro.")];
    let grounded = grounded(statements, &passages, Language::German);
    grounded.into_iter().map(|one| (one.text, one.passage, one.quote)).collect()
}

#[test]
fn first_supporting_passage_is_cited() {
    let sentence = "Der Reisepass kostet 70 Euro.";
    let first = (sentence.to_owned(), 0, "Ein Reisepass kostet 70,00 Euro.".to_owned());
    assert_eq!(left(&[statement(sentence, &[0, 2])]), [first]);
    let third = (sentence.to_owned(), 2, "Ein Reisepass kostet 70 Euro.".to_owned());
    assert_eq!(left(&[statement(sentence, &[1, 2])]), [third]);
    for wrong in [&[1][..], &[7], &[]] {
        assert_eq!(left(&[statement(sentence, wrong)]), [], "{wrong:?}");
    }
}

/// A combination of two passages is in neither.
#[test]
fn combined_passages_support_nothing() {
    assert_eq!(left(&[statement("Ein Reisepass kostet 37 Euro.", &[0, 1, 2])]), []);
}

#[test]
fn the_quote_is_the_passage_s() {
    let quoted = |sentence: &str| left(&[statement(sentence, &[0])]).remove(0).2;
    assert_eq!(
        quoted("Jüngere als 24 Jahre zahlen für den Reisepass 37,50 Euro."),
        "Ein Reisepass kostet 70,00 Euro. Wer jünger als 24 Jahre ist, zahlt 37,50 Euro."
    );
    assert_eq!(quoted("Ein Reisepass kostet\n70,00 Euro."), "Ein Reisepass kostet 70,00 Euro.");
}

#[test]
fn limiting_headings_are_recognised() {
    let limited = |heading: &str| {
        let text = format!("Hafen\n\n{heading}\n\nEin Platz kostet 12 Euro.");
        let passages = [Passage { text, ..Passage::default() }];
        let shown = quoted(&[statement("Ein Platz kostet 12 Euro.", &[0])], &passages, Language::German);
        shown.first().is_some_and(|one| one.limited)
    };
    for heading in
        ["Ermäßigte Plätze", "Frühere Preise", "Winterlager", "Für Kanus", "Reduced rates", "During events"]
    {
        assert!(limited(heading), "{heading}");
    }
    for heading in ["Preise", "Ab wann?"] {
        assert!(!limited(heading), "{heading}");
    }
}

#[test]
fn exceptions_and_reduced_prices_are_recognised() {
    for text in [
        "Ausgenommen sind Kanus.",
        "Das gilt nur im Winter.",
        "This does not cover canoes.",
        "Except for canoes.",
    ] {
        assert!(is_exception(text), "{text}");
    }
    for text in ["Das gilt im Winter.", "Kanus zahlen nur 5 Euro."] {
        assert!(!is_exception(text), "{text}");
    }
    let price = "Ein Platz kostet 12 Euro.";
    assert!(is_variant(price, "Ermäßigt kostet er 6 Euro.") && is_variant(price, "Reduced: 6 euros"));
    assert!(!is_variant(price, "Am Steg kostet er 6 Euro."));
}

#[test]
fn shares_and_multiples_are_figures() {
    for (word, figure) in [("doppelt", Some("2")), ("half", Some("1/2")), ("Steg", None)] {
        assert_eq!(super::figures::figure(word).as_deref(), figure, "{word}");
    }
}
