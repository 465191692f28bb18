//! Tests of model sentences that paraphrase passages: altered ones are not published, those in the passage's words are.

use super::*;

const PASSPORT: &str = "Ein Reisepass kostet 70,00 Euro und gilt zehn Jahre, wenn Sie 24 Jahre oder älter sind. Wer \
                        jünger als 24 ist, zahlt 37,50 Euro, und der Pass gilt sechs Jahre; das gilt auch für Kinder und \
                        Babys. Die Herstellung dauert vier bis fünf Wochen. Fliegen Sie früher und ist Ihr Reisepass \
                        abgelaufen, wählen Sie den Expresspass: Er kostet 32,00 Euro zusätzlich und liegt nach drei \
                        Werktagen bereit. Reicht auch das nicht, stellt das Bürgeramt für 26,00 Euro sofort einen \
                        vorläufigen Reisepass aus. Zum Termin kommen Sie persönlich mit dem alten Pass oder \
                        Personalausweis und einem digitalen Passfoto. Bei Minderjährigen müssen beide Eltern zustimmen.";
const DOGS: &str = "Die Hundesteuer beträgt 108 Euro im Jahr für den ersten und 156 Euro für den zweiten Hund, für \
                    gefährliche Hunde 720 Euro. Melden Sie Ihren Hund innerhalb von zwei Wochen beim Steueramt an. Wer \
                    Bürgergeld oder Grundsicherung bezieht, erhält auf Antrag eine Ermäßigung um die Hälfte; \
                    Blindenführhunde sind befreit. Ist die Hundemarke verloren, kostet eine neue Steuermarke 6 Euro.";
const CARD: &str = "Der Personalausweis kostet ab 24 Jahren 46,00 Euro, darunter 27,60 Euro, und ist nach etwa drei \
                    Wochen fertig. Eine neue PIN setzt das Bürgeramt kostenlos.";
const PARKING: &str = "Einen Bewohnerparkausweis beantragen Sie online mit einem Foto des Fahrzeugscheins. Er kostet 120 \
                       Euro im Jahr und gilt nur in der eigenen Zone, nicht in der ganzen Stadt.";
const DOG_TAX: &str = "The dog tax is 108 euros per year for the first dog and 156 euros for the second; dangerous breeds \
                       cost 720 euros. Register your dog at the tax office within two weeks. If the bill lists more dogs \
                       than you have, object within one month by a short letter with the tax number.";
const PASSPORTS: &str = "A passport costs 70.00 euros and is valid for ten years; if you are under 24 it costs 37.50 euros \
                         and is valid for six years.";
const HARBOUR: &str = "Mooring costs 12 EUR a night. Longer ships pay 20 EUR. Pay at the harbour office.";
const LEASE: &str = "Der Vermieter kündigt dem Mieter schriftlich. Mitzubringen sind die Ausweise und die Bestätigung des Vermieters. Anträge nehmen wir bis zum 31. Januar an, danach nicht.";
const MAIL: &str = "Wir schicken Ihnen den Bescheid. Kostet eine Kopie 9 Euro? Nein, eine Kopie ist kostenlos. Sinkt das \
                    Einkommen um 15 Prozent, wird der Beitrag auf Antrag neu berechnet.";
const LANDLORD: &str = "The landlord notifies the tenant in writing.";

/// Returns `None` if the sentence is not grounded, else whether it is close.
fn is_close(sentence: &str, passage: &str, language: Language) -> Option<bool> {
    let passages = [Passage { text: passage.to_owned(), ..Passage::default() }];
    grounded(&[statement(sentence, &[0])], &passages, language).first().map(|one| one.close)
}

fn assert_not_published(passage: &str, language: Language, sentences: &[&str]) {
    for sentence in sentences {
        assert_ne!(is_close(sentence, passage, language), Some(true), "{sentence}");
    }
}

fn assert_published(passage: &str, language: Language, sentences: &[&str]) {
    for sentence in sentences {
        assert_eq!(is_close(sentence, passage, language), Some(true), "{sentence}");
    }
}

#[test]
fn fee_of_other_group_is_withheld() {
    assert_not_published(
        DOGS,
        Language::German,
        &[
            "Die Hundesteuer beträgt 156 Euro für den ersten und 108 Euro für den zweiten Hund.",
            "Die Hundesteuer beträgt 156 Euro im Jahr für den ersten und 108 Euro für den zweiten Hund.",
            "Die Hundesteuer beträgt 720 Euro im Jahr für den ersten Hund.",
            "Die Hundesteuer beträgt für gefährliche Hunde 108 Euro.",
            "Für gefährliche Hunde beträgt die Hundesteuer 108 Euro im Jahr.",
            "Für den zweiten Hund beträgt die Steuer 108 Euro.",
            "Die Hundesteuer beträgt 108 Euro für den zweiten Hund.",
            "Wer Bürgergeld bezieht, ist befreit.",
            "Wer Bürgergeld oder Grundsicherung bezieht, ist befreit.",
            "Wer Bürgergeld oder Grundsicherung bezieht, erhält auf Antrag eine Ermäßigung um das Doppelte.",
            "Die Hundesteuer kostet 6 Euro.",
        ],
    );
    assert_not_published(
        PASSPORT,
        Language::German,
        &[
            "Ein vorläufiger Reisepass kostet 70 Euro und gilt zehn Jahre.",
            "Ein Expresspass kostet 70 Euro.",
            "Ein Expresspass kostet 70 Euro und gilt zehn Jahre, wenn Sie 24 Jahre oder älter sind.",
            "Ein Reisepass kostet 32 Euro zusätzlich.",
            "Der Reisepass liegt nach drei Werktagen bereit.",
            "Der vorläufige Reisepass liegt nach drei Werktagen bereit.",
            "Das Bürgeramt stellt sofort einen Reisepass für 26 Euro aus.",
        ],
    );
    assert_not_published(
        PARKING,
        Language::German,
        &[
            "Der Fahrzeugschein eines Fotos kostet 120 Euro im Jahr.",
            "Das Foto kostet 120 Euro im Jahr.",
            "Der Fahrzeugschein kostet 120 Euro im Jahr.",
        ],
    );
    assert_not_published(
        PASSPORTS,
        Language::English,
        &[
            "A passport costs 70.00 euros and is valid for six years; if you are under 24 it costs 37.50 euros and is \
             valid for ten years.",
            "A passport costs 70.00 euros and is valid for six years.",
            "A passport costs 37.50 euros.",
            "If you are under 24 it costs 37.50 euros and is valid for ten years.",
        ],
    );
    assert_not_published(
        HARBOUR,
        Language::English,
        &[
            "Mooring costs 20 EUR a night.",
            "Longer ships pay 12 EUR.",
            "Mooring a ship costs 12 EUR a night.",
        ],
    );
    assert_not_published(
        DOG_TAX,
        Language::English,
        &["The dog tax is 156 euros per year for the first dog.", "Dangerous breeds cost 156 euros."],
    );
}

#[test]
fn changed_figure_unit_or_word_is_withheld() {
    assert_not_published(
        PASSPORT,
        Language::German,
        &[
            "Ein Reisepass kostet 24 Euro und gilt 70 Jahre, wenn Sie zehn Jahre oder älter sind.",
            "Ein Reisepass kostet 70 Euro und gilt zehn Jahre, wenn Sie 24 Jahre oder jünger sind.",
            "Ein Reisepass kostet 70 Euro und gilt sechs Jahre, wenn Sie 24 Jahre oder älter sind.",
            "Ein Reisepass gilt sechs Jahre.",
            "Die Herstellung dauert drei bis vier Wochen.",
            "Die Herstellung dauert fünf bis vier Wochen.",
            "Die Herstellung dauert vier bis fünf Werktage.",
            "Bei Minderjährigen müssen drei Eltern zustimmen.",
            "Bei Minderjährigen dürfen beide Eltern zustimmen.",
        ],
    );
    assert_not_published(CARD, Language::German, &["Der Personalausweis kostet ab 46 Jahren 24 Euro."]);
    assert_not_published(
        LEASE,
        Language::German,
        &[
            "Der Mieter kündigt dem Vermieter schriftlich.",
            "Mieter kündigt Vermieter schriftlich.",
            "Mitzubringen sind die Bestätigung und die Ausweise des Vermieters.",
            "Anträge nehmen wir nach dem 31. Januar an.",
            "Anträge nehmen wir bis zum 31. Januar nicht an.",
        ],
    );
    assert_not_published(
        MAIL,
        Language::German,
        &[
            "Sie schicken uns den Bescheid.",
            "Eine Kopie kostet 9 Euro.",
            "Sinkt das Einkommen auf 15 Prozent, wird der Beitrag auf Antrag neu berechnet.",
            "Der Beitrag wird auf Antrag neu berechnet.",
        ],
    );
    assert_not_published(LANDLORD, Language::English, &["The tenant notifies the landlord in writing."]);
}

#[test]
fn omitted_condition_is_noticed() {
    assert_not_published(
        PASSPORT,
        Language::German,
        &["Der Reisepass kostet 70 Euro.", "Ein Reisepass gilt zehn Jahre.", "Der Pass gilt sechs Jahre."],
    );
    assert_not_published(CARD, Language::German, &["Der Personalausweis kostet 46 Euro."]);
    assert_not_published(DOGS, Language::German, &["Eine neue Steuermarke kostet 6 Euro."]);
    assert_not_published(
        PARKING,
        Language::German,
        &["Er kostet 120 Euro im Jahr und gilt nur in der eigenen Zone."],
    );
    assert_not_published(
        DOG_TAX,
        Language::English,
        &["Object within one month by a short letter with the tax number."],
    );
}

#[test]
fn whole_sentence_in_its_words_is_published() {
    assert_published(
        PASSPORT,
        Language::German,
        &[
            "Der Reisepass kostet 70 € und gilt 10 Jahre, wenn Sie 24 Jahre oder älter sind.",
            "Die Herstellung dauert 4 bis 5 Wochen.",
        ],
    );
    assert_published(
        PASSPORTS,
        Language::English,
        &[
            "A passport costs 70 € and is valid for 10 years; if you are under 24, it costs 37.50 euros and is valid for \
             six years.",
        ],
    );
    assert_published(
        HARBOUR,
        Language::English,
        &[
            "Mooring costs 12 EUR for a night.",
            "You pay at the harbour office.",
            "Mooring costs 12 euros a night.",
        ],
    );
    assert_published(
        DOG_TAX,
        Language::English,
        &["You register your dog at the tax office within 2 weeks."],
    );
}

/// It may well be right, and is left to a clerk.
#[test]
fn reordered_or_partial_sentence_is_a_draft() {
    for (passage, sentence) in [
        (
            PASSPORT,
            "Der Reisepass kostet 70 Euro und ist zehn Jahre gültig, wenn Sie 24 Jahre oder älter sind.",
        ),
        (PASSPORT, "Wer jünger als 24 ist, zahlt 37,50 Euro, und der Pass gilt 6 Jahre."),
        (PASSPORT, "Der Expresspass kostet 32 Euro zusätzlich und liegt nach drei Werktagen bereit."),
        (PASSPORT, "Beide Eltern müssen bei Minderjährigen zustimmen."),
        (DOGS, "Die Hundesteuer beträgt 108 Euro im Jahr für den ersten Hund."),
        (DOGS, "Für gefährliche Hunde beträgt die Hundesteuer 720 Euro."),
        (DOGS, "Ihren Hund melden Sie binnen 2 Wochen beim Steueramt an."),
        (CARD, "Der Personalausweis ist nach ca. 3 Wochen fertig."),
        (LEASE, "Dem Mieter kündigt der Vermieter schriftlich."),
    ] {
        assert_eq!(is_close(sentence, passage, Language::German), Some(false), "{sentence}");
    }
}

/// A pronoun may have another referent in the answer.
#[test]
fn anaphoric_sentence_is_not_close() {
    for (sentence, pointing) in [
        ("Er kostet 120 Euro.", true),
        ("Sie kostet 15 Euro.", true),
        ("Dafür brauchen Sie ein Foto.", true),
        ("It takes two weeks.", true),
        ("Sie brauchen ein Foto.", false),
        ("Sie sind befreit.", false),
        ("Der Pass kostet 70 Euro.", false),
    ] {
        assert_eq!(close::starts_with_anaphor(sentence), pointing, "{sentence}");
    }
}

/// Otherwise an extractive answer would never be published.
#[test]
fn a_passage_s_own_sentences_are_close() {
    for passage in [PASSPORT, DOGS, CARD, PARKING, DOG_TAX, LEASE] {
        for sentence in crate::quotable::sentences(passage) {
            let pointing = close::starts_with_anaphor(&sentence.text);
            assert_eq!(
                is_close(&sentence.text, passage, Language::German),
                Some(!pointing),
                "{}",
                sentence.text
            );
        }
    }
}
