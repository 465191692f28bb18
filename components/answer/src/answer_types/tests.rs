//! Tests of expected answer types.

use super::*;

#[test]
fn an_answer_has_what_is_asked_for() {
    for (question, answer) in [
        ("Was kostet ein Reisepass?", "Ein Reisepass kostet 70 Euro."),
        ("Wie hoch ist die Gebuehr?", "Der Antrag ist kostenlos."),
        ("How much is a parking permit?", "It costs 120 euros per year."),
        ("Wann habt ihr auf?", "Montags bis freitags von 8 bis 12 Uhr."),
        ("Bis wann muss ich mich anmelden?", "Innerhalb von zwei Wochen."),
        ("Wann ist das Bad geöffnet?", "Das Bad ist im Winter geschlossen."),
        ("When is the pool open?", "The pool opens at 8 o'clock."),
        ("Wie lange dauert das?", "Die Herstellung dauert vier Wochen."),
        ("Wo beantrage ich das?", "Im Bürgeramt."),
        ("Welche Unterlagen brauche ich?", "Unterlagen:\n- Ausweis\n- Foto"),
        ("Was gehört nicht in die Tonne?", "Bauschutt darf nicht hinein."),
        ("Warum wurde nicht geleert?", "An Feiertagen wird nicht geleert."),
        ("Muss ich kommen?", "Sie müssen kommen."),
        ("Ich habe die Gebühr bezahlt. Muss ich kommen?", "Sie müssen kommen."),
    ] {
        assert!(AnswerTypes::of(question).is_answered_by(answer), "{question}");
    }
}

#[test]
fn text_without_answer_type_is_no_answer() {
    for (question, answer) in [
        ("Was kostet ein Reisepass?", "Den Reisepass beantragen Sie im Bürgerbüro."),
        ("How much is a parking permit?", "Apply for a parking permit online."),
        ("How much is a parking permit?", "Come to room 5 in the city centre."),
        ("Gebühr für den Reisepass", "Den Reisepass beantragen Sie im Bürgerbüro."),
        ("Wann habt ihr auf?", "Wir freuen uns auf Sie."),
        ("Wann ist das Bad geöffnet?", "Kurse im Bad melden Sie zwei Wochen vorher an."),
        ("When is the pool open?", "Register at the pool by 3 May."),
        ("Welche Unterlagen brauche ich für Wohngeld?", "Wohngeld beantragen Sie schriftlich oder online."),
        ("Was gehört nicht zum Sperrmüll?", "Zweimal im Jahr holen wir Sperrmüll ab."),
        ("Was kostet das und wie lange dauert es?", "Es kostet 70 Euro."),
        ("Wo beantrage ich das?", "Bringen Sie ein Foto mit."),
    ] {
        assert!(!AnswerTypes::of(question).is_answered_by(answer), "{question}");
    }
}

#[test]
fn number_needs_the_word_for_time() {
    let asked = AnswerTypes::of("Wann habt ihr auf?");
    assert!(asked.is_met_by("Geöffnet ab 8 Uhr") && !asked.is_met_by("Zimmer 8"));
}
