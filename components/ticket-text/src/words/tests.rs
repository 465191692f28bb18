use super::*;

#[test]
fn words_of_capitals_are_in_lower_case() {
    for (text, quiet) in [
        ("FÜHRERSCHEIN VERLOREN", "führerschein verloren"),
        ("MEIN PASS IST WEG, WAS NUN?", "mein pass ist weg, was nun?"),
        ("Mein AUSWEIS ist WEG!", "Mein ausweis ist WEG!"),
        ("WOHNGELD-Antrag für Straße 5", "wohngeld-Antrag für Straße 5"),
    ] {
        assert_eq!(super::quiet(text), quiet);
    }
}

#[test]
fn abbreviations_and_usual_texts_stay_as_they_are() {
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
        let quiet = super::quiet(text);
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
