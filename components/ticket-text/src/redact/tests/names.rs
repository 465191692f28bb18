//! Tests of redacted names.

use super::*;

#[test]
fn particles_belong_to_names() {
    for (text, kept) in [
        ("Frau Prof. Dr. Anna-Lena Graf von Schönburg wartet", "Frau Prof. Dr. [NAME_1] wartet"),
        ("bei Prof. Dr. Anna-Lena Graf von Schönburg", "bei Prof. Dr. [NAME_1]"),
        ("bei Dr.-Ing. Huber und Prof. Dr. med. Lang", "bei Dr.-Ing. [NAME_1] und Prof. Dr. med. [NAME_2]"),
        ("Name: P. Vogel, danke", "Name: [NAME_1], danke"),
        ("Herr Meier von Haus 3", "Herr [NAME_1] von Haus 3"),
        ("Termin bei Dr. Huber am 3.5.", "Termin bei Dr. [NAME_1] am 3.5."),
        ("Liebe Petra von Schönburg,\ndanke", "Liebe [NAME_1],\ndanke"),
        ("Herr Jan van der Berg ist da", "Herr [NAME_1] ist da"),
        ("Herr Otto Freiherr von und zu Stein wartet", "Herr [NAME_1] wartet"),
        ("Frau Eva zur Mühlen wartet", "Frau [NAME_1] wartet"),
        ("Herr Karl zum Felde wartet", "Herr [NAME_1] wartet"),
        ("Mr Miguel de la Cruz waits", "Mr [NAME_1] waits"),
        ("Ich bin Anna Lena Gräfin von Hohenlohe zu Stein, hallo", "Ich bin [NAME_1], hallo"),
        ("Anna Lena Graf von Schönburg\nBirkenweg 14\n80331 München", "[NAME_1]\n[ADDRESS_1]\n[ADDRESS_2]"),
        // The continuation of the sentence stays.
        ("Herr Meier vom Wohnungsamt sagt", "Herr [NAME_1] vom Wohnungsamt sagt"),
        ("Frau Petra Vogel von der Wohngeldstelle", "Frau [NAME_1] von der Wohngeldstelle"),
        ("Frau Vogel zum Termin am 3.5.", "Frau [NAME_1] zum Termin am 3.5."),
        ("Frau Vogel zur Klärung", "Frau [NAME_1] zur Klärung"),
        ("Herr Meier von Ihrer Stelle", "Herr [NAME_1] von Ihrer Stelle"),
        ("Mein Name ist Petra Vogel von der Kita", "Mein Name ist [NAME_1] von der Kita"),
        ("Frau Vogel und der Antrag", "Frau [NAME_1] und der Antrag"),
    ] {
        assert_eq!(redact(text).text(), kept, "{text}");
    }
}

#[test]
fn names_after_inline_greetings_are_redacted() {
    for (text, kept) in [
        ("Ist sie da? Liebe Grüße, Euer Fritz Walter", "Ist sie da? Liebe Grüße, Euer [NAME_1]"),
        ("Viele Grüße Ihre Petra Vogel", "Viele Grüße Ihre [NAME_1]"),
        ("Danke schon mal und viele Grüße Ihre Petra Vogel", "Danke schon mal und viele Grüße Ihre [NAME_1]"),
        (
            "Wo ist sie? Viele Grüße Ihre Petra Vogel aus Bonn",
            "Wo ist sie? Viele Grüße Ihre [NAME_1] aus Bonn",
        ),
        ("ich warte mit freundlichen Grüßen Petra Vogel", "ich warte mit freundlichen Grüßen [NAME_1]"),
        (
            "Mit freundlichen Grüßen Petra Vogel, Tel. 0171 2345678",
            "Mit freundlichen Grüßen [NAME_1], Tel. [PHONE_1]",
        ),
        ("Where is it? Kind regards, Eva Brandt (tenant)", "Where is it? Kind regards, [NAME_1] (tenant)"),
        ("Freundliche Grüße F. Walter", "Freundliche Grüße [NAME_1]"),
        ("Es eilt, beste Grüße Fritz Walter 0171 2345678", "Es eilt, beste Grüße [NAME_1] [PHONE_1]"),
        ("Wo ist sie? LG Dein Max Muster", "Wo ist sie? LG Dein [NAME_1]"),
    ] {
        assert_eq!(redact(text).text(), kept, "{text}");
    }
    for text in [
        "Viele Grüße aus Bonn",
        "Mit freundlichen Grüßen Ihr Team Wohngeld",
        "Bitte richten Sie Grüße an die Kollegin aus.",
        "Das Urteil des LG München, das des VG Berlin",
        "Ich sende beste Grüße und warte auf den Bescheid",
        "Vielen Dank für Ihre Antwort",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}

#[test]
fn names_in_running_text_are_redacted() {
    for (text, kept) in [
        ("Meine Tante Rosa Kirsch ist umgezogen.", "Meine Tante [NAME_1] ist umgezogen."),
        ("Mein Mitmieter, Jonas Feld, zieht aus.", "Mein Mitmieter, [NAME_1], zieht aus."),
        ("Kontoinhaberin ist Lea Kern.", "Kontoinhaberin ist [NAME_1]."),
        ("die Unterlagen meines Vaters Otto Kern", "die Unterlagen meines Vaters [NAME_1]"),
        ("Unser Vormieter hieß Pohl.", "Unser Vormieter hieß [NAME_1]."),
        ("die Hausverwalterin Pohl war da", "die Hausverwalterin [NAME_1] war da"),
        ("ein Mann namens Pohl", "ein Mann namens [NAME_1]"),
        ("Es geht um das Konto von Amira Haddad: leer", "Es geht um das Konto von [NAME_1]: leer"),
        ("Gestern hat Milan Horák die Tür geöffnet.", "Gestern hat [NAME_1] die Tür geöffnet."),
        ("Ist Nguyễn Thị Lan noch gemeldet?", "Ist [NAME_1] noch gemeldet?"),
        ("die Rechnung für Omar el Fassi und Ida K. Lund", "die Rechnung für [NAME_1] und [NAME_2]"),
        ("Es hat Олена Коваль unterschrieben.", "Es hat [NAME_1] unterschrieben."),
        (
            "Rufen Sie meine Nichte an (Ronja, 0171 2345678).",
            "Rufen Sie meine Nichte an ([NAME_1], [PHONE_1]).",
        ),
        (
            "My neighbour Ciara called me, and Finn O'Dea saw it.",
            "My neighbour [NAME_1] called me, and [NAME_2] saw it.",
        ),
        ("meine oma frieda lenz braucht hilfe", "meine oma [NAME_1] braucht hilfe"),
        ("ich bin die tochter von trude ahlers", "ich bin die tochter von [NAME_1]"),
        ("kind regards aylin demir", "kind regards [NAME_1]"),
        ("my neighbour rosalind said so", "my neighbour [NAME_1] said so"),
        ("mrs. o'dea lives there", "mrs. [NAME_1] lives there"),
        ("mr. scott left and mrs love stayed", "mr. [NAME_1] left and mrs [NAME_2] stayed"),
        ("kind regards tilo found", "kind regards [NAME_1]"),
        ("Fam. Ahlers-Lenz war da", "Fam. [NAME_1] war da"),
        ("Unterschrift: Ł. Horák", "Unterschrift: [NAME_1]"),
        ("Es hat Can Aydin unterschrieben.", "Es hat [NAME_1] unterschrieben."),
        ("Meine Töchter Thea und Ida sind krank.", "Meine Töchter [NAME_1] und [NAME_2] sind krank."),
        ("My sons Tilo and Fynn Pohl moved.", "My sons [NAME_1] and [NAME_2] moved."),
        ("Mein Sohn (Tilo) ist krank.", "Mein Sohn ([NAME_1]) ist krank."),
        ("wo ist der pass? lg rosa", "wo ist der pass? lg [NAME_1]"),
    ] {
        assert_eq!(redact(text).text(), kept, "{text}");
    }
    for text in [
        "Die Stadt Musterhausen hat den Antrag Wohngeld abgelehnt.",
        "Der Halter ist Student und mein Vermieter will Geld.",
        "Kaputte Laterne vor der Grundschule, Neue Straße gesperrt.",
        "Am Sendlinger Park liegt Laub von Bäumen.",
        "Das heißt Sperrmüll, zwei Meter Höhe und drei Wochen Wartezeit.",
        "My mother died and my neighbour turns eighty.",
        "meine oma hatte den ausweis, mein sohn nicht",
        "meine mutter starb gestern, mein vater ging weg",
        "my neighbour keeps shouting and my son needs a passport",
        "my landlord never answers, my mother lives there too",
        "der herr geht's an",
        "mein haus gehört oma. küche und bad sind nass",
        "Die Anlage Typ B und das Formular Anmeldung fehlen.",
        "Die Mängel:\n* Die Laterne flackert.\n• Der Gehweg bricht.\na) Das Tor klemmt.",
        "> Die Laterne flackert.",
        "Mein Vermieter und Hausverwalter (siehe Anlage) schweigt.",
        "Im Auftrag der Behörde\nging ein Brief ein.",
        "Auf dem Schild steht “Die Laterne flackert”.",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}
