//! Tests of extracted values: account numbers, addresses and licence plates.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod dates;
mod numbers;

use time::Month;

use super::*;

fn today() -> Date {
    Date::from_calendar_date(2026, Month::November, 28).unwrap()
}

fn found(text: &str) -> Vec<(&'static str, String)> {
    find(text, today()).into_iter().map(|found| (found.kind.name(), found.value)).collect()
}

fn one(text: &str, kind: &str, value: &str) {
    let found = found(text);
    let found: Vec<_> = found.iter().map(|(kind, value)| (*kind, value.as_str())).collect();
    assert_eq!(found, [(kind, value)], "{text}");
}

#[test]
fn account_numbers_need_their_checksum() {
    one("IBAN: DE89 3704 0044 0532 0130 00.", "iban", "DE89370400440532013000");
    one("Konto at611904300234573201, danke", "iban", "AT611904300234573201");
    one("DE89-3704-0044-0532-0130-00", "iban", "DE89370400440532013000");
    one("DE89.3704.0044.0532.0130.00", "iban", "DE89370400440532013000");
    for text in [
        "DE89 3704 0044 0532 0130 01",
        "XX89370400440532013000",
        "DE8937040044053201300",
        "DE89370400440532013000000",
    ] {
        assert!(!found(text).iter().any(|(kind, _)| *kind == "iban"), "{text}: {:?}", found(text));
    }
}

#[test]
fn addresses_are_found_where_people_put_them() {
    one(
        "Schreiben Sie an <Petra.Vogel+amt@Post.Beispiel-Stadt.de>.",
        "email",
        "petra.vogel+amt@post.beispiel-stadt.de",
    );
    one("mail an Jürgen.Müller@Beispiel.de", "email", "jürgen.müller@beispiel.de");
    one("mail an mu\u{308}ller@beispiel.de", "email", "mu\u{308}ller@beispiel.de");
    for text in ["a@b", "@home.de", "wir treffen uns @ 5.00 Uhr", "x@y..de", "x@-y.de", "x@y.1"] {
        assert!(found(text).iter().all(|(kind, _)| *kind != "email"), "{text}");
    }
}

#[test]
fn telephone_numbers_lose_their_decoration() {
    one("Tel. 0176 / 555-123 45", "phone", "017655512345");
    one("+49 (0)89 123456", "phone", "+4989123456");
    one("(089) 12 34 56 anrufen", "phone", "089123456");
    one("Telefonnummer: 089 123456", "phone", "089123456");
    one("Tel.-Nr. 089 123456", "phone", "089123456");
    one("Meine Nummer ist 0171 2345678", "phone", "01712345678");
    one("my number is 0171 2345678", "phone", "01712345678");
    for text in [
        "2026-0917123",
        "ich zahle 0,50",
        "00",
        "1234567",
        "Kontonummer 0532013000",
        "Konto: 0532013000",
        "Kunden-Nr.: 0532013000",
        "meine Steuernummer lautet 021/815/08150",
        "account number 0532013000",
        "geboren 00.00.0000",
        "01.13.2026 um 12 Uhr",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn plates_are_found_in_all_spellings() {
    for (text, plate) in [
        ("mein Auto M-AB 1234 wurde", "M-AB 1234"),
        ("FÜ-K318E", "FÜ-K 318E"),
        ("mein Auto M AB 1234 wurde", "M-AB 1234"),
        ("Wagen TÖL AB-12", "TÖL-AB 12"),
        ("Wagen m-ab 1234 steht da", "M-AB 1234"),
        ("M-AB-1234", "M-AB 1234"),
        ("M - AB 1234", "M-AB 1234"),
        ("M-AB 123 H", "M-AB 123H"),
        ("B-A 1", "B-A 1"),
        ("das Kennzeichen B TR 4410 ist weg", "B-TR 4410"),
        ("Kennzeichen: b tr 4410", "B-TR 4410"),
        ("mit dem Kennzeichen HHXY123", "HH-XY 123"),
        ("Kennzeichen ist MTKAB12", "MTK-AB 12"),
    ] {
        one(text, "licence_plate", plate);
    }
}

#[test]
fn similar_text_is_not_a_plate() {
    for text in [
        "WG-118-2026",
        "A-AB 0123",
        "Vorlage-AB 12",
        "KA-XY 77-12",
        "das Kabel USB-C 3",
        "XX-YY 1234",
        "im Format DIN-A 4 und DIN A 4, DIN EN 1234",
        "Haus A-B 12, Typ C-D 45",
        "ES IN 3 WOCHEN, SO AB 2026",
        "ab-in 12",
        "RE-NR 4711",
        "Teil A B 12",
        "ISO 9001, MP3, EM2024",
        "Kennzeichen seit 2026 und Kennzeichen am 12. weg",
        "Kennzeichen MAB1234 kann zweierlei sein",
    ] {
        assert!(found(text).iter().all(|(kind, _)| *kind != "licence_plate"), "{text}: {:?}", found(text));
    }
}

#[test]
fn text_range_is_one_value() {
    let text = "Az. 2026-08-15 vom 15.08.2026, IBAN DE89370400440532013000, Tel. 089 123456";
    let kinds: Vec<_> = found(text).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["date", "date", "iban", "phone"]);
    for value in find(text, today()) {
        assert!(text.get(value.range.clone()).is_some());
    }
}
