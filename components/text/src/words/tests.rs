//! Tests of normalised words.

use super::*;

#[test]
fn words_of_capitals_are_in_lower_case() {
    for (text, quiet) in [
        ("FÜHRERSCHEIN VERLOREN", "führerschein verloren"),
        ("MEIN PASS IST WEG, WAS NUN?", "mein pass ist weg, was nun?"),
        ("Mein AUSWEIS ist WEG!", "Mein ausweis ist WEG!"),
        ("WOHNGELD-Antrag für Straße 5", "wohngeld-Antrag für Straße 5"),
    ] {
        assert_eq!(super::usual(text), quiet);
    }
}

#[test]
fn abbreviations_and_usual_texts_stay() {
    for text in [
        "",
        "KFZ",
        "TÜV abgelaufen",
        "Meine IBAN ist neu",
        "BAföG",
        "日本語のテキスト",
        "Führerschein verloren",
        "12345678",
    ] {
        let quiet = super::usual(text);
        assert!(matches!(quiet, Cow::Borrowed(_)), "{quiet}");
        assert_eq!(quiet, text);
    }
}

#[test]
fn two_letters_may_be_a_word() {
    for text in ["Hi", "a-b", "4711 Öl", "火事"] {
        assert!(has_words(text), "{text}");
    }
    for text in ["", "😀🎉👍🏽", "?!", "0171 2345678", "§ 5 a", "12.11.2026 …"] {
        assert!(!has_words(text), "{text}");
    }
}

#[test]
fn umlauts_may_be_written_as_two_letters() {
    for (two, one) in [
        ("gebuehr", "gebühr"),
        ("sperrmuell", "sperrmüll"),
        ("oeffnungszeiten", "öffnungszeiten"),
        ("Aerzte", "Ärzte"),
        ("neue", "neue"),
        ("bauen", "bauen"),
        ("quer", "quer"),
        ("abenteuer", "abenteuer"),
        ("gebühr", "gebühr"),
    ] {
        assert_eq!(umlauted(two), one);
    }
    for word in ["aktuelle", "Goethestr", "zuerst", "Michael", "Poet"] {
        assert_eq!(umlauted(word), word);
    }
    for (text, usual) in [
        ("Meine Muelltonne wurde nicht geleert", "Meine Mülltonne wurde nicht geleert"),
        (
            "FUEHRERSCHEIN VERLOREN, WO BEKOMME ICH EINEN NEUEN?",
            "führerschein verloren, wo bekomme ich einen neuen?",
        ),
        ("Oeffnungszeiten am Aegidientorplatz, bitte", "Öffnungszeiten am Ägidientorplatz, bitte"),
    ] {
        assert_eq!(super::usual(text), usual);
    }
    for text in
        ["Does the fee include a statue?", "Frau Boeing für die Mülltonne", "Die neue Steuer ist teuer"]
    {
        assert_eq!(super::usual(text), text);
    }
}
