//! Tests of redaction: values in letters, tokens and restored texts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod addresses;
mod names;

use fastrand::Rng;

use super::*;

const LETTER: &str = "Sehr geehrte Frau Dr. Huber,\n\nmein Name ist Petra Vogel, geboren am 12.03.1951. Ich wohne im Birkenweg 14 a, \
                      80331 München. Am 20.11.2026 habe ich unter Aktenzeichen 503.884211.7 Wohngeld beantragt, Ticket#20261184. \
                      Mein Auto M-AB 1234 steht dort. Konto DE89 3704 0044 0532 0130 00, sonst DE89 3704 0044 0532 0130 01.\n\n\
                      Mit freundlichen Grüßen\nPetra Vogel\nTel. 0171 2345678, p.vogel@post.example";

#[test]
fn letter_is_redacted_but_keeps_request() {
    let redacted = redact(LETTER);
    assert_eq!(
        redacted.text(),
        "Sehr geehrte Frau Dr. [NAME_1],\n\nmein Name ist [NAME_2], geboren am [BIRTHDATE_1]. Ich wohne im [ADDRESS_1], \
         [ADDRESS_2]. Am 20.11.2026 habe ich unter Aktenzeichen [FILE_1] Wohngeld beantragt, Ticket#[TICKET_1]. \
         Mein Auto [PLATE_1] steht dort. Konto [IBAN_1], sonst [IBAN_2].\n\n\
         Mit freundlichen Grüßen\n[NAME_2]\nTel. [PHONE_1], [EMAIL_1]"
    );
    assert_eq!(redacted.restore(redacted.text()), LETTER);
}

#[test]
fn reply_restores_values() {
    let redacted = redact("Hello, my name is Eva Brandt, write to eva@example.org");
    assert_eq!(
        redacted.restore("[NAME_1] wants mail at [EMAIL_1], not [EMAIL_2] or [NAME_1"),
        "Eva Brandt wants mail at eva@example.org, not [EMAIL_2] or [NAME_1"
    );
}

#[test]
fn tokens_of_other_text_have_values() {
    let redacted = redact("Hello, my name is Eva Brandt");
    let tokens: Vec<_> = redacted.tokens("[NAME_1], [IBAN_3] and [1]").collect();
    assert_eq!(tokens, [("[NAME_1]", Some("Eva Brandt")), ("[IBAN_3]", None)]);
}

#[test]
fn names_are_taken_where_they_are_sure() {
    for (text, expected) in [
        ("Hallo Herr Meier, danke", "Hallo Herr [NAME_1], danke"),
        ("Liebe Petra,\nwo ist die Tonne?", "Liebe [NAME_1],\nwo ist die Tonne?"),
        ("Dear Mr Smith, where is my bin?", "Dear Mr [NAME_1], where is my bin?"),
        ("Die Tonne ist weg. Danke und Gruß, Thomas Lang", "Die Tonne ist weg. Danke und Gruß, [NAME_1]"),
        ("Where is it?\nKind regards\n\nEva van der Berg", "Where is it?\nKind regards\n\n[NAME_1]"),
        ("Guten Tag Siegfried!\nIhr Antrag", "Guten Tag [NAME_1]!\nIhr Antrag"),
        ("Name: Vogel\nDie Akte Vogel fehlt", "Name: [NAME_1]\nDie Akte [NAME_1] fehlt"),
        ("Where is it?\nRegards\ni. A. Eva Brandt\nClerk", "Where is it?\nRegards\ni. A. [NAME_1]\nClerk"),
        ("Wo ist er?\nLG Ihr Max Muster", "Wo ist er?\nLG Ihr [NAME_1]"),
        ("Es grüßt Sie herzlich Ihre Gerda Schmidt, danke", "Es grüßt Sie herzlich Ihre [NAME_1], danke"),
        ("Hi, I'm John Smith, and I am late", "Hi, I'm [NAME_1], and I am late"),
        ("ich bin Petra Vogel und warte", "ich bin [NAME_1] und warte"),
        ("Der Halter heißt Ahmed Yilmaz.", "Der Halter heißt [NAME_1]."),
        ("ich, Max Muster, warte. Herr Muster wartet", "ich, [NAME_1], warte. Herr [NAME_2] wartet"),
        ("MAX MUSTER ist mein Name", "[NAME_1] ist mein Name"),
        ("Frau Vogel fragt: AKTE VOGEL?", "Frau [NAME_1] fragt: AKTE [NAME_2]?"),
        ("LG\nJosé Ñandú-García", "LG\n[NAME_1]"),
        ("LG\nŽeljka", "LG\n[NAME_1]"),
        ("Liebe Ḥanna,\nwo ist die Tonne?", "Liebe [NAME_1],\nwo ist die Tonne?"),
        ("Name: Șerban\n", "Name: [NAME_1]\n"),
        ("Hr. Phạm war da.", "Hr. [NAME_1] war da."),
        ("Frau Dr. med. dent. Vogel", "Frau Dr. med. dent. [NAME_1]"),
        ("Sehr geehrter Herr von und zu Vogel,", "Sehr geehrter Herr [NAME_1],"),
        ("Der Bescheid ist falsch.\ngez. Vogel", "Der Bescheid ist falsch.\ngez. [NAME_1]"),
        ("Der Bescheid ist falsch.\nIm Auftrag\nP. Vogel", "Der Bescheid ist falsch.\nIm Auftrag\n[NAME_1]"),
        ("Name, Vorname: Vogel, Petra\nDie Akte Vogel", "Name, Vorname: [NAME_1]\nDie Akte [NAME_2]"),
    ] {
        assert_eq!(redact(text).text(), expected);
    }
    for text in [
        "Sehr geehrte Damen und Herren,\nwo ist die Tonne?",
        "Hallo liebes Team, der Ausweis ist weg",
        "Dear Sir or Madam,\nplease help",
        "Vielen Dank im Voraus!",
        "Ich bin Deutscher Staatsbürger und I'm late",
        "Das heißt Sperrmüll kostet nichts",
        "Die Stadt grüßt ihre Bürger",
        "Wann hat der Wertstoffhof am 3. Mai 2026 offen? Es waren 10000 Euro.",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}

#[test]
fn letter_s_names_are_redacted_in_part() {
    let part = "der Antrag von Erika Mustermann ist offen, Frau Huber. Frau MUSTERMANN wartet";
    let letter = format!("{part}\nMit freundlichen Grüßen\nErika Mustermann\nLindenstraße 5");
    let redacted = redact_part(part, &letter);
    assert_eq!(redacted.text(), "der Antrag von [NAME_1] ist offen, Frau [NAME_2]. Frau [NAME_3] wartet");
    assert_eq!(redacted.restore(redacted.text()), part);
    assert_eq!(
        redact_part("Am Zaun von Eva Brandt", "Eva Brandt\nBirkenweg 14").text(),
        "Am Zaun von [NAME_1]"
    );
    assert_eq!(redact_part("Wo ist er?", "Wo ist er?\nLG\nEva Brandt").originals().count(), 0);
}

#[test]
fn what_links_hand_over_is_kept_back() {
    for (text, kept) in [
        (
            "https://portal.stadt.example/antrag?token=abc123&mail=max%40muster.example geht nicht",
            "https://portal.stadt.example/antrag?[EMAIL_1] geht nicht",
        ),
        ("Siehe www.stadt.example/a#id=b4.", "Siehe www.stadt.example/a#[NUMBER_1]."),
        ("an max%40muster.example", "an [EMAIL_1]"),
        ("https://stadt.example/amt#Kontakt", "https://stadt.example/amt#Kontakt"),
    ] {
        assert_eq!(redact(text).text(), kept);
    }
}

#[test]
fn boxes_and_english_houses_are_kept_back() {
    assert_eq!(redact("Postfach 10 22, danke").text(), "[ADDRESS_1], danke");
    assert_eq!(redact("at 221B Baker Street").text(), "at [ADDRESS_1]");
}

#[test]
fn token_like_text_becomes_a_token() {
    let text = "[EMAIL_1] and [email_7], but mine is eva@example.org";
    let redacted = redact(text);
    assert_eq!(redacted.text(), "[LITERAL_1] and [LITERAL_2], but mine is [EMAIL_1]");
    assert_eq!(redacted.restore(redacted.text()), text);
    assert_eq!(
        redacted.restore("send it to [LITERAL_1]"),
        "send it to [EMAIL_1]",
        "restored once, not twice"
    );
}

#[test]
fn formless_numbers_are_redacted() {
    for text in ["Pass 123456789", "Kunde 12 34 56 78", "Karte 4111 1111 1111 1111", "xeva@localhost"] {
        assert!(redact(text).text().contains("_1]"), "{text}");
    }
    assert_eq!(redact("am 03.05.2026 um 10 Uhr").text(), "am 03.05.2026 um 10 Uhr");
}

#[test]
fn document_and_insurance_numbers_are_redacted() {
    for (text, kept) in [
        ("Mein Pass C01X00T47 ist weg", "Mein Pass [NUMBER_1] ist weg"),
        ("Ausweis L01X00T471 verloren", "Ausweis [NUMBER_1] verloren"),
        ("L01X00T471D", "[NUMBER_1]"),
        ("es ist c01x00t47", "es ist [NUMBER_1]"),
        ("Nummer C01 X00 T47 weg", "Nummer [NUMBER_1] weg"),
        ("Reisepass: L01X 00T4 71", "Reisepass: [NUMBER_1]"),
        ("alter Ausweis 1220001297D", "alter Ausweis [NUMBER_1]"),
        ("Führerschein B072RRE2I55 weg", "Führerschein [NUMBER_1] weg"),
        ("IDD<<L01X00T471<<<<<<<<<<<<<<<", "[NUMBER_1]"),
        ("Steuer-ID 12 345 678 901", "Steuer-ID [NUMBER_1]"),
        ("Steuer-ID 12345678901", "Steuer-ID [NUMBER_1]"),
        ("Rente 12 123456 A 123 bitte", "Rente [NUMBER_1] bitte"),
        ("Rente 65 17.08.39 J 008 bitte", "Rente [NUMBER_1] bitte"),
        ("Kunde 12345678 03.05.2026 12 34 56 78", "Kunde [NUMBER_1] 03.05.2026 [NUMBER_2]"),
        ("Rente 12123456A123 bitte", "Rente [NUMBER_1] bitte"),
        ("AOK A123456789 bitte", "AOK [NUMBER_1] bitte"),
        ("AOK A 123 456 789 bitte", "AOK [NUMBER_1] bitte"),
        ("Kundennummer 12345, danke", "Kundennummer [NUMBER_1], danke"),
        ("Kunden-Nr.: K-47110", "Kunden-Nr.: [NUMBER_1]"),
        ("Kassenzeichen 7731-0042. Danke", "Kassenzeichen [FILE_1]. Danke"),
        ("my customer number is 4711 22", "my customer number is [NUMBER_1]"),
    ] {
        assert_eq!(redact(text).text(), kept, "{text}");
        assert_eq!(redact(text).restore(kept), text);
    }
}

#[test]
fn secrets_and_codes_are_redacted() {
    for (text, kept) in [
        ("Mein Passwort lautet Birne_9.", "Mein Passwort lautet [NUMBER_1]."),
        ("Login rosa, Kennwort: k9!abc, danke", "Login rosa, Kennwort: [NUMBER_1], danke"),
        ("my PIN is 4711", "my PIN is [NUMBER_1]"),
        ("API key: sk-birne9apfel", "API key: [NUMBER_1]"),
        ("BIC ABCDDEFFXXX", "BIC [NUMBER_1]"),
        ("Fahrgestell ZZZAB12C3D4567890 gestohlen", "Fahrgestell [NUMBER_1] gestohlen"),
        ("mein Router 3c:22:fb:0d:11:9a", "mein Router [NUMBER_1]"),
        ("mein Router 3C22.FB0D.119A", "mein Router [NUMBER_1]"),
        ("Das Passwort, das ich habe, ist Birne9.", "Das Passwort, das ich habe, ist [NUMBER_1]."),
        ("Mein Kennwort ist „Birnbaum“.", "Mein Kennwort ist „[NUMBER_1]“."),
        ("Login rosa\nPasswort: birne-apfel\nDanke", "Login rosa\nPasswort: [NUMBER_1]\nDanke"),
        ("my password: pearappleplum", "my password: [NUMBER_1]"),
        ("Kennwort für das Portal lautet: Birne_9", "Kennwort für das Portal lautet: [NUMBER_1]"),
        ("IBAN XX61 1904 3002 3457 3201 und mehr", "IBAN [IBAN_1] und mehr"),
        ("xx29 bank 6016 1331 9268 19 is mine", "[IBAN_1] is mine"),
        ("xx14 2004 1010 0505 0001 3m02 606", "[IBAN_1]"),
        ("mein Konto @rosa.birne1971", "mein [EMAIL_1]"),
        ("my NI number is QQ 12 34 56 C", "my NI number is [NUMBER_1]"),
        ("Kennzeichen ABC-DE 1234", "Kennzeichen [PLATE_1]"),
        (
            "siehe https://ablage.example/f/aB3dE5gH7jK9/bild",
            "siehe https://ablage.example/f/[NUMBER_1]/bild",
        ),
        ("Mühlgrund 5, 36251 Bad Hersfeld", "[ADDRESS_1], [ADDRESS_2]"),
        ("at 7 park road", "at [ADDRESS_1]"),
        ("chez moi, 12 rue de la Gare", "chez moi, [ADDRESS_1]"),
    ] {
        assert_eq!(redact(text).text(), kept, "{text}");
    }
    for text in [
        "Das Passwort habe ich vergessen, der Schlüssel passt nicht.",
        "ISBN 978-3-12-345678-0 und Version 2.14.3056 fehlen.",
        "Ersatzteil Nr. 0815 4711 33 ist bestellt.",
        "Der Fehlercode 0x80070035 erscheint.",
        "Mein Passwort: ich habe es vergessen.",
        "Auf dem Marktplatz 4,50 Euro, am Wochenmarkt 3 Euro.",
        "siehe https://stadt.example/leistungen/wohngeld-antrag-2026",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}

#[test]
fn plates_are_kept_back_in_all_spellings() {
    for plate in [
        "M-AB 1234",
        "M AB 1234",
        "m-ab 1234",
        "M-AB1234",
        "M-AB 1234E",
        "M-AB 123 H",
        "MAB1234",
        "M-AB-1234",
        "TÖL-AB 12",
    ] {
        assert_eq!(redact(&format!("mein Auto {plate} ist weg")).text(), "mein Auto [PLATE_1] ist weg");
    }
    assert_eq!(redact("Kennzeichen mab1234 ist weg").text(), "Kennzeichen [PLATE_1] ist weg");
    assert_eq!(redact("DE89-3704-0044-0532-0130-01").text(), "[IBAN_1]");
}

#[test]
fn innocent_sentences_stay_as_they_are() {
    for text in [
        "Der Reisepass für Kinder unter 12 Jahren kostet 37,50 Euro und gilt 6 Jahre.",
        "Ausweis abgelaufen seit 2024, Termin im Mai 2026 um 10:30 Uhr?",
        "Führerscheinklassen B96 und C1E: was muss ich mitbringen?",
        "Die A 8 und die B 2 sind gesperrt, die U 3 fährt nicht.",
        "Das Formular DIN A 4 und die DIN EN 1234 liegen bei, ISO9001 auch.",
        "§ 3 Abs. 2 SGB II und Artikel 12 DSGVO gelten.",
        "Mein USB-C 3 Kabel und die FFP2 Maske gehören in den Restmüll.",
        "Am 03.05.2026 war der Wertstoffhof in Haus A-B 12 zu.",
        "Passt der Termin um 10 Uhr? Das Passwort habe ich vergessen.",
        "ICH WARTE SEIT 12 WOCHEN AUF DEN BESCHEID, ES IST NICHT ZU FASSEN!",
        "Die Personalabteilung hat 2026 keine Nummer genannt.",
        "Der Termin am 12.10.2026 B 204 passt, der am 13.10.2026 nicht.",
        "Version 3.4.25 der App stürzt ab, HTML5 und MP3 gehen nicht.",
        "Kommt die Müllabfuhr in KW12 oder KW 13? Die Gebühr ist 1.234,50 Euro.",
        "Eine Rechnung über 120 Euro ging an die Stadtkasse München.",
        "Grundschule Nord, Klasse 3b, 25 Kinder, EM2024 Trikots",
        "Wo ist der Antrag auf Wohngeld 2026? Das Kennzeichen soll mit.",
    ] {
        assert_eq!(redact(text).text(), text);
    }
}

#[test]
fn nothing_of_it_is_printed() {
    assert!(!format!("{:?}", redact("eva@example.org")).contains("eva"));
}

/// Building blocks of random texts: values, halves of values, tokens, and separators.
const PIECES: [&str; 54] = [
    "eva (at) example.org",
    " at ",
    " dot ",
    "Am Anger 3",
    "C01X00T47",
    "Pass ",
    "M AB 1234",
    "MAB1234",
    "Kundennummer ",
    "A123456789",
    "[EMAIL_1]",
    "[NAME_2]",
    "[EMAIL_",
    "1]",
    "[",
    "]",
    "_1]",
    "[LITERAL_1]",
    "eva@example.org",
    "@",
    "a@b.de",
    "0171 2345678",
    "089",
    "12345678",
    "DE89 3704 0044 0532 0130 00",
    "DE89",
    "12.03.1951",
    "geboren am ",
    "* ",
    "Frau ",
    "Herr Dr. ",
    "Petra",
    "Vogel",
    "Petra Vogel",
    "Lang",
    "langsam",
    "Birkenweg 14",
    "Birkenweg ",
    "14",
    "80331 München",
    "M-AB 1234",
    "Ticket#20261184",
    "Az. ",
    "503.884211.7",
    "\nMit freundlichen Grüßen\n",
    "\n",
    " ",
    " ",
    ", ",
    ".",
    "ß",
    "İ",
    "\u{301}",
    "Name: ",
];

/// Returns the redacted text without its tokens.
fn kept(redacted: &Redacted) -> String {
    TOKEN.as_ref().unwrap().replace_all(redacted.text(), "\0").into_owned()
}

fn is_whole(text: &str, at: usize, value: &str) -> bool {
    let letter = |next: Option<char>| next.is_some_and(char::is_alphanumeric);
    !letter(text[..at].chars().next_back()) && !letter(text[at + value.len()..].chars().next())
}

#[test]
fn random_text_is_redacted_and_restored() {
    let mut random = Rng::with_seed(20_261_128);
    for _ in 0..4_000 {
        let count = random.usize(..24);
        let text: String = (0..count).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
        let redacted = redact(&text);
        assert_eq!(redacted.restore(redacted.text()), text, "{text:?}");
        let kept = kept(&redacted);
        for (token, value) in redacted.originals() {
            let stays = kept
                .match_indices(value)
                .any(|(at, _)| !token.starts_with("[NAME_") || is_whole(&kept, at, value));
            assert!(!stays, "{value:?} of {text:?} stays in {:?}", redacted.text());
        }
        let tokens = TOKEN.as_ref().unwrap().find_iter(redacted.text());
        for token in tokens {
            assert!(redacted.originals.contains_key(token.as_str()), "{text:?} forges {}", token.as_str());
        }
    }
}

/// The work on a text of values only is bounded.
#[test]
fn many_values_are_taken_out() {
    let text: String = (0..1500).map(|number| format!("a{number}@example.org ")).collect();
    let redacted = redact(&text);
    assert_eq!(redacted.originals().count(), 1500);
    assert_eq!(redacted.restore(redacted.text()), text);
}

#[test]
fn every_form_compiles() {
    use crate::lists::{addresses, british, documents, emails, letterhead, lowercase, names, numbers};
    let lists = [
        addresses::FORMS,
        british::FORMS,
        lowercase::FORMS,
        emails::FORMS,
        emails::RARE,
        letterhead::FORMS,
        names::FORMS,
        numbers::ACCOUNTS,
        numbers::ANY,
        numbers::QUERIES,
        numbers::PLATE_FORMS,
        documents::NAMED,
        documents::TOKENS,
        documents::ANNOUNCED,
        documents::SECRET_FORMS,
        documents::BANK_FORMS,
        documents::PATHS,
    ];
    for form in lists.into_iter().chain(documents::FORMS.iter().map(|(_, forms)| *forms)).flatten() {
        assert!(Regex::new(form).is_ok(), "{form}");
    }
}
