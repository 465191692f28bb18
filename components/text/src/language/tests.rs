//! Tests of language detection.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod others;

use super::*;

fn german_or_english(text: &str) -> Language {
    answered_in(text, detect(text))
}

const SHORT_GERMAN: [&str; 44] = [
    "Wo ist die Tonne?",
    "hallo, pass weg. was tun??",
    "Tonne kaputt",
    "Führerschein verloren",
    "Sperrmüll?",
    "Reisepass beantragen",
    "Perso abgelaufen",
    "Termin Standesamt",
    "Was kostet ein Reisepass?",
    "Was kostet das?",
    "Hund anmelden",
    "Hundesteuer abmelden bitte",
    "Öffnungszeiten Rathaus",
    "Strassenlaterne kaputt",
    "Schlagloch Hauptstraße",
    "Gelbe Tonne nicht geleert",
    "neuer ausweis",
    "Fuehrerschein umtauschen",
    "Briefwahl beantragen?",
    "wann hat das amt offen",
    "Bußgeldbescheid falsch",
    "Wohnsitz ummelden",
    "Geburtsurkunde bestellen",
    "Parkausweis für Bewohner",
    "Kennzeichen gestohlen",
    "Brauche Meldebescheinigung",
    "Wos kost des?",
    "Mei Ausweis is weg",
    "I hob koan Pass nimmer",
    "Moin, Perso weg",
    "wie lang dauert dat denn",
    "Grüß Gott, wo bin i richtig?",
    "fürherschein verlorn",
    "Ausweiss abgelafen was nun",
    "reisepas verlängern",
    "Tone nich gelert",
    "Anmeldug Wohnung",
    "Knöllchen zu Unrecht",
    "Lärm vom Nachbarn",
    "Kitaplatz gesucht",
    "Wohngeld Antrag",
    "Heirat anmelden",
    "Gewerbe abmelden",
    "Mülltonne defekt",
];

const SHORT_ENGLISH: [&str; 44] = [
    "Where is my bin?",
    "lost the dog tag",
    "Passport please",
    "I need a permit for the Kreisverwaltungsreferat",
    "How much is a passport?",
    "passport expired",
    "Lost my wallet",
    "driving licence renewal",
    "Parking ticket",
    "bin not emptied",
    "Broken street light",
    "opening hours?",
    "Need an appointment",
    "Register my dog",
    "Change of address",
    "birth certificate",
    "What does it cost?",
    "pothole on Main Street",
    "Wrong parking fine",
    "resident parking permit",
    "number plate stolen",
    "how to register a car",
    "Where's the office?",
    "cant find my id card",
    "pasport renewal",
    "i lost me passport",
    "Hiya, bin's missing",
    "gonna move next week",
    "wheres my new licence",
    "lisence stolen",
    "apointment please",
    "pls help",
    "Marriage certificate please",
    "dog tax question",
    "postal vote",
    "noise complaint",
    "rubbish not collected",
    "bulky waste pickup",
    "Can I vote?",
    "Is the office open today?",
    "school registration",
    "business registration fee",
    "moving to Germany",
    "aye, how much is the fee",
];

fn wrong<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    language: &str,
) -> Vec<(&'t str, Option<&'static str>)> {
    let detected = texts.into_iter().map(|text| (text, detect(text)));
    detected.filter(|(_, detected)| *detected != Some(language)).collect()
}

#[test]
fn frequent_words_are_found_in_order() {
    use crate::lists::language::{FREQUENT, FREQUENT_WORDS};
    assert!(FREQUENT_WORDS.is_sorted_by(|one, next| one.0 < next.0));
    let languages = |word: &str| {
        let bits = evidence::frequent(word).unwrap_or_default();
        let own = FREQUENT.iter().enumerate().filter(move |(place, _)| bits & (1 << place) != 0);
        own.map(|(_, code)| *code).collect::<Vec<_>>()
    };
    assert_eq!(languages("und"), ["de"]);
    assert!(["da", "de"].iter().all(|code| languages("der").contains(code)));
    assert!(languages("Und").is_empty() && languages("").is_empty());
}

#[test]
fn short_texts_are_detected() {
    assert_eq!(wrong(SHORT_GERMAN, "de"), []);
    assert_eq!(wrong(SHORT_ENGLISH, "en"), []);
}

#[test]
fn borrowed_words_do_not_decide() {
    for (text, language) in [
        ("Hvad koster et Reisepass og hvor laenge gaelder det?", "da"),
        ("Ile kosztuje Reisepass dla dzieci?", "pl"),
        ("¿Cuánto cuesta el Führerschein y dónde hago la Anmeldung?", "es"),
        ("Bürgeramt'ta Anmeldung için hangi belgeler gerekli?", "tr"),
        ("Vorrei fare la Anmeldung al Bürgeramt, quali documenti servono?", "it"),
        ("Je n'ai pas reçu mon Führerschein, que dois-je faire?", "fr"),
        ("We moved here last week, what do we need for the Anmeldung at the Bürgeramt?", "en"),
        (
            "Ich möchte meine driving licence umschreiben lassen, die ist aus den United States of America.",
            "de",
        ),
    ] {
        assert_eq!(detect(text), Some(language), "{text}");
    }
}

#[test]
fn what_is_not_certain_is_not_claimed() {
    for text in [" 123 !?", "", "asdf qwer", "Xylophon", "OK", "Kowalski Petrovic", "🙂"] {
        assert_eq!(detect(text), None, "{text}");
    }
    assert_eq!(german_or_english("asdf qwer"), Language::German);
    assert_eq!(german_or_english("Bonjour, je voudrais un nouveau passeport."), Language::German);
    assert_eq!(german_or_english("I would like a new passport."), Language::English);
}

#[test]
fn what_is_open_is_answered_in_german() {
    for text in ["x", "Hallo", "bin day", "asdf", "Kosten?", "Name ändern", "Bürgeramt open?"] {
        assert_eq!(german_or_english(text), Language::German, "{text}");
    }
    for text in ["Can I register at the Bürgeramt?", "Where is the Bürgeramt in Köln?", "lost passport"] {
        assert_eq!(german_or_english(text), Language::English, "{text}");
    }
    assert_eq!(detect("Name ändern"), Some("de"));
}

/// Both languages can be answered.
#[test]
fn mixed_text_takes_the_main_language() {
    let german =
        "Ich habe den Ausweis nicht mehr, wo ist das Amt und was muss ich mitbringen? Thank you very much.";
    assert_eq!(detect(german), Some("de"));
    let english = "I have lost my card. What do I need to do and where is the office? Danke und Grüße";
    assert_eq!(detect(english), Some("en"));
}

#[test]
fn shared_words_do_not_decide() {
    for text in ["Hund tot", "Hund los", "Mag die Adresse ändern", "Katze tot auf der Lindenstr."] {
        assert_eq!(detect(text), Some("de"), "{text}");
    }
    for text in [
        "I was told to come on 5 December.",
        "I came in time.",
        "Dog on the door, come",
        "It's far, I'm late",
    ] {
        assert_eq!(detect(text), Some("en"), "{text}");
    }
}

#[test]
fn street_names_and_addresses_are_neutral() {
    for text in [
        "Rubbish everywhere on Lindenstraße",
        "Broken light, Königstr. 5",
        "Pothole on the corner of Karl-Marx-Straße and Lindenallee",
        "My bin, see https://www.beispielstadt.example/de/muellabfuhr/tonne-nicht-geleert",
        "Lost my passport, write to fuehrerschein@meldeamt-strasse.example",
    ] {
        assert_eq!(detect(text), Some("en"), "{text}");
        assert_eq!(german_or_english(text), Language::English, "{text}");
    }
    for text in [
        "https://beispielstadt.example/de/termin",
        "Lindenstraße 5",
        "www.muell.example",
        "amt@ausweis.example",
    ] {
        assert_eq!(detect(text), None, "{text}");
        assert_eq!(german_or_english(text), Language::German, "{text}");
    }
    assert_eq!(detect("Straße kaputt"), Some("de"));
}

#[test]
fn arabic_script_languages_differ_by_letters() {
    for (text, language) in [
        ("مرحبا، أريد تجديد جواز سفري", "ar"),
        ("أين المكتب؟", "ar"),
        ("فقدت بطاقة الهوية", "ar"),
        ("می‌خواهم گذرنامه بگیرم", "fa"),
        ("پاسپورت من گم شده است", "fa"),
        ("پاسپورٹ کہاں ملے گا؟", "ur"),
        ("زه نوی پاسپورټ غواړم", "ps"),
    ] {
        assert_eq!(detect(text), Some(language), "{text}");
    }
}

#[test]
fn codes_have_two_letters() {
    for language in Lang::all() {
        assert_eq!(code(*language).len(), 2, "{language}");
    }
}

fn lines<'t>(file: &'t str, key: &str) -> Vec<(String, String)> {
    let read = |line: &'t str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let text = |value: &serde_json::Value, key: &str| value[key].as_str().unwrap().to_owned();
    file.lines().map(read).map(|line| (text(&line, key), text(&line, "language"))).collect()
}

/// Checks all tickets and questions of the project in both languages. Those of three words may be undetected.
#[test]
fn project_texts_are_detected() {
    for (file, key) in [
        (include_str!("../../../../tests/data/triage/test-german.jsonl"), "text"),
        (include_str!("../../../../tests/data/triage/test-english.jsonl"), "text"),
        (include_str!("../../../../tests/data/triage/training.jsonl"), "text"),
        (include_str!("../../../../tests/data/triage/development.jsonl"), "text"),
        (include_str!("../../../../tests/data/knowledge/questions-test.jsonl"), "question"),
        (include_str!("../../../../tests/data/knowledge/questions-dev.jsonl"), "question"),
    ] {
        let texts = lines(file, key);
        let detected = |text: &str, language: &str| detect(text).map(|detected| detected == language);
        let (mut wrong, mut open) = (Vec::new(), Vec::new());
        for (text, language) in &texts {
            match detected(text, language) {
                Some(true) => {}
                Some(false) => wrong.push(text),
                None => open.push(text),
            }
        }
        assert!(wrong.len() * 50 <= texts.len(), "{} of {}: {wrong:#?}", wrong.len(), texts.len());
        assert!(open.len() * 16 <= texts.len(), "{} of {}: {open:#?}", open.len(), texts.len());
        let answered = |text: &str| german_or_english(text).code();
        let wrong: Vec<_> = texts.iter().filter(|(text, language)| answered(text) != *language).collect();
        assert!(wrong.len() * 50 <= texts.len(), "{} of {}: {wrong:#?}", wrong.len(), texts.len());
    }
}
