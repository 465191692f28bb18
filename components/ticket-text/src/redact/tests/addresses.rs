//! Tests of redacted addresses.

use super::*;

#[test]
fn obfuscated_addresses_are_redacted() {
    for email in [
        "eva.brandt (at) example.org",
        "eva(at)example.org",
        "eva [at] example [dot] org",
        "eva {AT} mail.example (Punkt) org",
        "eva at example dot org",
        "eva dot brandt at mail dot example dot org",
        "eva ät example punkt de",
        "eva.muster @ example.de",
        "eva.muster＠example.de",
        "eva.muster(a)example.de",
        "eva *at* b.de",
        "eva&#64;b.de",
    ] {
        let text = format!("Antwort an {email}, danke");
        assert_eq!(redact(&text).text(), "Antwort an [EMAIL_1], danke");
        assert_eq!(redact(&text).restore("[EMAIL_1]"), email);
    }
}

#[test]
fn streets_with_preposition_are_redacted() {
    for street in [
        "Am Anger 3",
        "Unter den Linden 77",
        "An der Alten Mühle 12a",
        "An der alten Ziegelei 7",
        "Im Winkel 4",
        "Auf dem Berg 7",
        "Zum Alten Gut 5",
        "Zur Schönen Aussicht 11 b",
        "Hinter den Höfen 3-5",
        "Am Rathaus 5",
        "Am Kornfeld 9",
        "An der Sparkasse 2",
    ] {
        for (before, after) in [("Meine Anschrift: ", ", danke"), ("", ", 80331"), ("Sperrmüll, ", ".")] {
            let kept = format!("{before}[ADDRESS_1]{after}");
            assert_eq!(redact(&format!("{before}{street}{after}")).text(), kept, "{street}");
        }
    }
    assert_eq!(redact("Zum Sportplatz 5 und im Birkenweg 7").text(), "Zum [ADDRESS_1] und im [ADDRESS_2]");
    assert_eq!(redact("Ich wohne am Anger 3 in Hof").text(), "Ich wohne [ADDRESS_1] in Hof");
    assert_eq!(redact("Am Anger 3 in 12345 Hof").text(), "[ADDRESS_1] in [ADDRESS_2]");
    assert_eq!(
        redact("Meine Adresse ist Am Anger 3 seit Mai").text(),
        "Meine Adresse ist [ADDRESS_1] seit Mai"
    );
    assert_eq!(redact("Hier wohnen wir an der Mühle 3").text(), "Hier wohnen wir [ADDRESS_1]");
}

#[test]
fn what_else_follows_a_preposition_stays() {
    for text in [
        "Am Montag 3 Personen",
        "Am Wochenende 3 Stunden",
        "Im Mai 2024",
        "Am 3. Mai",
        "Im Sommer 2024 und im Winter 2025",
        "Im Herbst 2024/25",
        "Im Zimmer 12",
        "Im Raum 3",
        "Im Sitzungssaal 2",
        "An der Kasse 2",
        "Am Schalter 4",
        "Auf der Seite 4",
        "Auf den Seiten 3-4",
        "Zum Preis 5",
        "Zum Eigenanteil 5 Euro",
        "Im Rathaus 3,50 Euro",
        "Am Bahnhof 10:30 Uhr",
        "In der Klasse 3b",
        "Unter der Rufnummer 555",
        "Wir warten am Bahnhof 3",
        "Auf der Rechnung 4711 steht ein Betrag",
        "Im Ergebnis 0 Treffer",
        "Am Ende 3 Briefe",
        "Im Restaurant 4 Tische",
        "Im Brief 3 Seiten",
        "Im Winter 23",
        "An der Schule 2 Lehrer",
        "Im Internet 2 Formulare",
        "Treffen (at) 10 Uhr",
        "Treffen (at) 10.30 Uhr",
        "Treffen @ 10.30 Uhr",
        "Punkt (a) z.B. gilt",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}

#[test]
fn names_above_addresses_are_kept_back() {
    for (text, kept) in [
        (
            "Max Mustermann\nBirkenweg 14\n80331 München\n\nDer Antrag",
            "[NAME_1]\n[ADDRESS_1]\n[ADDRESS_2]\n\nDer Antrag",
        ),
        ("Dr. Eva van der Berg\nAm Anger 5\n80331 München", "Dr. [NAME_1]\n[ADDRESS_1]\n[ADDRESS_2]"),
        ("Familie M. Mustermann\nBirkenweg 14", "Familie [NAME_1]\n[ADDRESS_1]"),
        ("Absender: Max Mustermann, Birkenweg 14", "Absender: [NAME_1], [ADDRESS_1]"),
        ("Erika Gabler-Mustermann\nc/o Meier\nBirkenweg 14", "[NAME_1]\nc/o [NAME_2]\n[ADDRESS_1]"),
        ("Landratsamt München\nBirkenweg 14", "Landratsamt München\n[ADDRESS_1]"),
        ("Neue Anschrift\nBirkenweg 14", "Neue Anschrift\n[ADDRESS_1]"),
        ("Volle Tonne\nBirkenweg 14", "Volle Tonne\n[ADDRESS_1]"),
        ("Wilde Müllablagerung, Birkenweg 14", "Wilde Müllablagerung, [ADDRESS_1]"),
        ("Wir wohnen hier:\nBirkenweg 14", "Wir wohnen hier:\n[ADDRESS_1]"),
    ] {
        assert_eq!(redact(text).text(), kept, "{text}");
    }
}

#[test]
fn streets_named_after_days_are_redacted() {
    for street in [
        "Straße des 17. Juni 135",
        "Straße des 17.Juni 135 a",
        "Platz des 18. März 1",
        "Platz der 9. November 5",
        "1. Mai Straße 5",
        "1.-Mai-Straße 5",
        "1.-Mai-Str. 5",
        "Straße der Einheit 5",
        "Platz der Republik 1",
        "Allee der Kosmonauten 33",
        "Straße der Pariser Kommune 8",
    ] {
        let text = format!("Sperrmüll in der {street}, bitte");
        assert_eq!(redact(&text).text(), "Sperrmüll in der [ADDRESS_1], bitte", "{street}");
        assert_eq!(redact(&text).restore("[ADDRESS_1]"), street);
    }
    for text in [
        "Straße gesperrt am 17. Juni 2026",
        "Der Platz der Gruppe 3 ist frei",
        "Die Straße der Stadt kostet 3 Euro",
        "Am 1. Mai Straße gesperrt",
        "Der Weg zum Termin 3 Wochen später",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}

#[test]
fn streets_in_lower_case_are_kept_back() {
    for street in [
        "gartenstraße 7",
        "gartenstrasse 7a",
        "goethestr. 7",
        "goethestr 7",
        "birkenweg 14",
        "rotkreuzplatz 3",
        "lindenallee 3-5",
        "kirchgasse 2",
        "nordring 12",
        "elbufer 4",
        "kurfürstendamm 21",
        "karl-marx-str. 7",
        "berliner straße 7",
        "münchner Str. 7",
        "potsdamer platz 1",
    ] {
        let text = format!("hallo, sperrmüll aus der {street} bitte");
        assert_eq!(redact(&text).text(), "hallo, sperrmüll aus der [ADDRESS_1] bitte", "{street}");
    }
    assert_eq!(redact("Goethestr 7, danke").text(), "[ADDRESS_1], danke");
    assert_eq!(redact("lindenallee 12, 80331 münchen, danke").text(), "[ADDRESS_1], danke");
    for text in [
        "mein fahrrad ist weg 3 tage schon",
        "das liegt auf dem parkplatz 7 herum",
        "ein kitaplatz 2026 fehlt",
        "in der straße 7 mal",
        "die ganze straße 3 wochen gesperrt",
        "please bring 3 copies during 2 weeks",
        "monitoring 24 hours, spring 2026",
        "drei verkäufer 3 mal",
        "über den sommer hinweg 3 briefe",
        "die straße 2026 saniert",
        "bismarckallee 3 euro gebühr",
        "in unserer straße 5 laternen defekt",
        "ein freier platz 3",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}

#[test]
fn british_addresses_are_kept_back() {
    for (text, kept) in [
        ("221B Baker Street, London NW1 6XE", "[ADDRESS_1], [ADDRESS_2]"),
        ("at 12 High Street, NW1 6XE, please", "at [ADDRESS_1], please"),
        ("I live in London SW1A 1AA now", "I live in [ADDRESS_1] now"),
        ("10 Elm Grove\nLeeds\nLS6 2AB\nthanks", "[ADDRESS_1]\n[ADDRESS_2]\nthanks"),
        ("in Newcastle upon Tyne, NE1 4ST.", "in [ADDRESS_1]."),
        ("my postcode is M1 1AE", "my postcode is [ADDRESS_1]"),
    ] {
        assert_eq!(redact(text).text(), kept, "{text}");
    }
    for text in [
        "Das Galaxy S21 5GB ist weg",
        "Raum B1 2EG",
        "Formular A4 2MM breit",
        "Buslinie X1 3 Mal",
        "Klasse B1 2026",
        "We need 2 more street lamps",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}
