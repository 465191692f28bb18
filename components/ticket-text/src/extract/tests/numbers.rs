//! Tests of ticket, file and telephone numbers.

use super::*;

#[test]
fn numbers_follow_their_announcing_words() {
    one("Aktenzeichen 503.884211.7, bitte", "file_number", "503.884211.7");
    one("Az. FE-2026-004711", "file_number", "FE-2026-004711");
    one("my reference number is 2026/1184", "file_number", "2026/1184");
    one("Ticket#20261184", "ticket_number", "20261184");
    one("[#4711] Antwort", "ticket_number", "4711");
    one("Ticket-Nr. 20261184", "ticket_number", "20261184");
    one("Vorgangs-Nr.: 88231", "file_number", "88231");
    for text in ["Aktenzeichen fehlt", "das Ticket kostet 3", "Referenz", "Der Satz 12345"] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn file_numbers_with_blanks_are_whole() {
    for (text, number) in [
        ("Az.: 123 Js 456/26", "123 Js 456/26"),
        ("Az. 123Js 456/26.", "123Js 456/26"),
        ("Aktenzeichen: 5 K 123/26", "5 K 123/26"),
        ("Aktenzeichen 5 K 1234.26, bitte", "5 K 1234.26"),
        ("Geschäftszeichen 1 BvR 2649/21 liegt vor", "1 BvR 2649/21"),
        ("Az. XII ZB 123/20", "XII ZB 123/20"),
        ("Az.: L 4 AS 123/20 ER", "L 4 AS 123/20 ER"),
        ("Az.: L 4 AS 123/20 Er war da", "L 4 AS 123/20"),
        ("Akz. 123 Js 456/26", "123 Js 456/26"),
        ("Geschäftsnummer: 5 C 12/26", "5 C 12/26"),
        ("Aktenzeichen WG 4477812", "WG 4477812"),
        ("Aktenzeichen ist WG 4477812 und weiter", "WG 4477812"),
        ("Vorgang BG 2345678/01", "BG 2345678/01"),
        ("Aktenzeichen 503 884 211", "503 884 211"),
        ("Wohngeld Nr. WG-4477812", "WG-4477812"),
        ("Wohngeld Nr. WG 4477812", "WG 4477812"),
        ("mein Wohngeldantrag Nr. 4477812 vom Mai", "4477812"),
        ("Bescheidnummer: 2026-4711", "2026-4711"),
        ("Wohngeld-Nr.: WG-4477812", "WG-4477812"),
        ("Bescheid Nr. 2026-4711", "2026-4711"),
        ("meine Wohngeldnummer ist WG-4477812", "WG-4477812"),
        // The following words are not part of it.
        ("Aktenzeichen 123 und bitte 456", "123"),
        ("Aktenzeichen 123 Bitte 456", "123"),
        ("Aktenzeichen 123 456 Euro", "123"),
        ("Aktenzeichen 4711 Herr Vogel 12/26", "4711"),
        ("Az. 4711 K 12", "4711"),
        ("Vorgang 4711 Mai 2026", "4711"),
        ("Az. FE-2026-004711 A", "FE-2026-004711"),
    ] {
        one(text, "file_number", number);
    }
    for text in [
        "REFERAT 1234 und Referat A 1234",
        "Wohngeld 300 Euro",
        "Wohngeld WG fehlt",
        "Wohngeld Nr. fehlt, 4711 auch",
        "Antrag vom Mai 2026",
        "Vorgang WG 12",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn otherwise_announced_number_is_no_phone() {
    for text in [
        "Rechnung 0123456789012",
        "die Stromrechnung: 0123456789",
        "Gebührenbescheid 0123456789",
        "Vertrag 0123456789",
        "Bestellung 0123456789",
        "Buchungszeichen 0123456789",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
    one("Rechnung fehlt, Tel. 089 123456", "phone", "089123456");
    one("wegen der Rechnung bitte anrufen: 089 123456", "phone", "089123456");
    one("Rechnungsstelle: 089 123456", "phone", "089123456");
}
