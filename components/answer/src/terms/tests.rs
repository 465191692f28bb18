//! Tests of terms and stems.

use super::*;

fn terms(language: Language, text: &str) -> Vec<String> {
    Stems::new(language).terms(text).into_iter().collect()
}

#[test]
fn forms_of_a_word_are_one() {
    assert_eq!(terms(Language::German, "die Gebühren"), terms(Language::German, "Gebühr"));
    assert_eq!(terms(Language::German, "Pässe"), terms(Language::German, "Pass"));
    assert_eq!(terms(Language::German, "gebuehrenfrei fuer Straßen"), ["gebuhrenfrei", "strass"]);
    assert_eq!(terms(Language::English, "the applications"), terms(Language::English, "application"));
}

#[test]
fn words_without_meaning_are_left_out() {
    assert_eq!(
        terms(Language::German, "Guten Tag, was kostet ein Reisepass?"),
        ["kostet", "reisepass", "tag"]
    );
    assert_eq!(terms(Language::English, "Please tell me: is it not 5 EUR?"), ["5", "eur", "not", "tell"]);
}

#[test]
fn compound_part_scores_less_than_word() {
    let said_in = |term: &str, text: &str| {
        let stems = Stems::new(Language::German);
        match_score(&stems.stem(term), &stems.terms(text))
    };
    assert_eq!(said_in("reisepass", "Der Reisepass ist da"), 1.0);
    assert_eq!(said_in("gebühren", "Passgebühr"), PART);
    assert_eq!(said_in("parkausweis", "ein Ausweis"), PART);
    assert_eq!(said_in("alle", "eine Falle"), 0.0);
    assert_eq!(said_in("12345", "123456"), 0.0);
}

#[test]
fn umlauts_may_be_written_as_two_letters() {
    assert!(is_stop("fuer") && is_stop("ueber") && is_stop("does"));
    assert_eq!(terms(Language::German, "aktuelle Poeten"), terms(Language::German, "aktuell Poet"));
}

#[test]
fn a_verb_and_its_particle_are_one() {
    let stems = Stems::new(Language::German);
    let terms = stems.terms_and_verbs("Verlegen Sie den Betrieb, melden Sie ihn für 20 Euro um; das dauert.");
    assert!(terms.contains(&stems.stem("ummelden")), "{terms:?}");
    assert!(stems.terms_and_verbs("Wie melde ich mich um?").contains(&stems.stem("ummelden")));
    assert_eq!(stems.terms_and_verbs("Das Amt ist zu"), stems.terms_and_verbs("Das Amt ist zu."));
    assert_eq!(Stems::new(Language::English).terms_and_verbs("Sign an"), ["sign".to_owned()].into());
}
