use super::*;

#[test]
fn addresses_that_are_hidden_from_machines_are_kept_back() {
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
fn streets_that_begin_with_a_preposition_are_kept_back() {
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
