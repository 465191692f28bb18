use super::*;

const PASSAGE: &str = "Ein Reisepass kostet 70,00 Euro. Wer jünger als 24 Jahre ist, zahlt 37,50 Euro. Ohne biometrisches \
                       Foto nehmen wir den Antrag nicht an. Schreiben Sie an pass@stadt.example.";

fn german(sentence: &str) -> Result<(), Ungrounded> {
    check(sentence, PASSAGE, Language::German)
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
    assert_eq!(check("The collection takes 2 weeks.", english, Language::English), Ok(()));
}

#[test]
fn a_figure_that_the_passage_lacks_is_not() {
    assert_eq!(german("Der Reisepass kostet 75 Euro."), Err(Ungrounded::Figure("75".to_owned())));
    assert_eq!(german("Ein Reisepass kostet zwei Euro."), Err(Ungrounded::Figure("2".to_owned())));
    assert_eq!(
        german("Schreiben Sie an chef@stadt.example."),
        Err(Ungrounded::Figure("chef@stadt.example".to_owned()))
    );
}

#[test]
fn words_that_the_passage_lacks_are_not() {
    let Err(Ungrounded::Words(unsaid)) =
        german("Das Bürgerbüro verschickt den Reisepass kostenlos per Kurier.")
    else {
        unreachable!("nothing of it stands in the passage")
    };
    assert!(unsaid.contains(&"kuri".to_owned()), "{unsaid:?}");
}

#[test]
fn the_opposite_is_not() {
    assert_eq!(german("Ein Reisepass kostet nicht 70 Euro."), Err(Ungrounded::Negation));
    assert_eq!(german("Ein Reisepass kostet nichts."), Err(Ungrounded::Negation));
    assert_eq!(german("Wir nehmen den Antrag mit biometrischem Foto an."), Err(Ungrounded::Negation));
}

#[test]
fn nothing_is_not() {
    assert_eq!(german(" … "), Err(Ungrounded::Empty));
}
