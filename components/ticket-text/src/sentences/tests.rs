//! Tests of sentences, clauses and tenses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn sentences_end_with_marks_and_lines() {
    let text = "Am 3. Mai war es so. Und dann? Nichts!\nNoch heute";
    let parts: Vec<&str> = sentences(text).map(|part| &text[part]).collect();
    assert_eq!(parts, ["Am 3. Mai war es so.", " Und dann?", " Nichts!", "Noch heute"]);
    let tenses = Tenses::new(text);
    let found: Vec<_> = [0, 11, 25, text.len() - 1, text.len()].map(|at| tenses.at(at)).to_vec();
    assert_eq!(found, [Some(Tense::Past), Some(Tense::Past), None, None, None]);
    assert_eq!(Tenses::new("").at(0), None);
}

#[test]
fn an_abbreviation_ends_none() {
    for text in [
        "Am 20. Nov. habe ich es beantragt",
        "I applied on Nov. 20",
        "Frau Dr. Huber, z. B. am 3. oder z.B. ca. um drei",
    ] {
        assert_eq!(sentences(text).count(), 1, "{text}");
    }
    assert_eq!(sentences("Das ist der Antrag. Danke").count(), 2);
}

#[test]
fn a_sentence_may_end_with_a_date() {
    for text in [
        "Beantragt am 20.11.2026. Wohngeld fehlt",
        "Beantragt am 20.11.26. Bitte um Rückruf",
        "Beantragt am 20.11. Bitte um Rückruf",
        "Beantragt am 3. Mai 2026. Danke",
        "Das war am 20.11. Ich warte",
        "I applied on 20.11. Where is it",
    ] {
        assert_eq!(sentences(text).count(), 2, "{text}");
    }
    for text in [
        "Am 3. Mai war es so",
        "den 20.11. Montag passt",
        "Ich habe am 20.11. Ihr Schreiben erhalten",
        "Ich habe am 20.11. Sie angerufen",
        "am 20.11. und am 21.11. abends",
        "am 20.11.2026. und dann",
        "Am 12. Febr. 2026 und am 3. Jän. 2026",
        "Version 1.2.3.4. Das",
        "im 2. Stock",
        "der 100. Besucher",
    ] {
        assert_eq!(sentences(text).count(), 1, "{text}");
    }
}

/// Texts without spaces must not be read once for each letter.
#[test]
fn long_word_is_read_once() {
    for letters in ["護", "ก", "の", "x", "a.", "1.", "!", "Ä"] {
        let text = letters.repeat(20_000 / letters.chars().count());
        assert_eq!(sentences(&text).count(), 1, "{letters}");
        assert_eq!(clauses(&text).len(), 1, "{letters}");
    }
}

#[test]
fn comma_in_figure_separates_nothing() {
    let parts = |text: &'static str| clauses(text).into_iter().map(|part| &text[part]).collect::<Vec<_>>();
    assert_eq!(parts("Es kostet 37,50 Euro, nicht 70"), ["Es kostet 37,50 Euro,", " nicht 70"]);
    assert_eq!(parts("On May 3, 2026 it was"), ["On May 3, 2026 it was"]);
}

#[test]
fn verbs_determine_the_tense() {
    for (sentence, expected) in [
        ("Ich habe am 5. Mai den Pass beantragt", Some(Tense::Past)),
        ("Der Antrag wurde eingereicht", Some(Tense::Past)),
        ("abgegeben am 3.5.", Some(Tense::Past)),
        ("I applied in May", Some(Tense::Past)),
        ("Ich werde am 5. Mai umziehen", Some(Tense::Future)),
        ("I need it by 5 May", None),
        ("Wir haben am 5. Mai einen Termin", Some(Tense::Future)),
        ("Ich habe am 5. Mai einen Termin bekommen", Some(Tense::Future)),
        ("Ich habe am 5. Mai einen Termin beantragt", Some(Tense::Past)),
        ("Ich habe am 5. Mai online einen Termin angefragt", Some(Tense::Past)),
        ("Am 5. Mai habe ich einen Termin gebucht und den Antrag abgeschickt", Some(Tense::Past)),
        ("Ich habe einen Termin am 5. Mai beantragt", Some(Tense::Future)),
        ("Der Termin, den ich beantragt habe, ist am 5. Mai", Some(Tense::Future)),
        ("Mein Termin war am 5. Mai", Some(Tense::Past)),
        ("Die Frist ist der 5. Mai", Some(Tense::Future)),
        ("Can I apply on 5 May", Some(Tense::Future)),
        ("vom 3. bis zum 5. Mai", Some(Tense::Future)),
        ("", None),
    ] {
        assert_eq!(tense(sentence), expected, "{sentence}");
    }
}

#[test]
fn a_clause_tells_before_its_sentence() {
    let text = "Der Bescheid kam am 12.11., Widerspruch lege ich bis 12.12. ein";
    let found = ["12.11.", "12.12."].map(|date| Tenses::new(text).at(text.find(date).unwrap()));
    assert_eq!(found, [Some(Tense::Past), Some(Tense::Future)]);
    let text = "Am 29.11., also vor einem Jahr, habe ich ihn beantragt";
    assert_eq!(Tenses::new(text).at(3), Some(Tense::Past));
}
