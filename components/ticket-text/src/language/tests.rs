#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

#[test]
fn short_texts_are_told_apart() {
    for text in [
        "Wo ist die Tonne?",
        "hallo, pass weg. was tun??",
        "Tonne kaputt",
        "Führerschein verloren",
        "Sperrmüll?",
    ] {
        assert_eq!(detect(text), Some("de"), "{text}");
    }
    for text in [
        "Where is my bin?",
        "lost the dog tag",
        "Passport please",
        "I need a permit for the Kreisverwaltungsreferat",
    ] {
        assert_eq!(detect(text), Some("en"), "{text}");
    }
}

#[test]
fn other_languages_are_named_when_certain() {
    let french = "Bonjour, je voudrais savoir comment je peux obtenir un nouveau passeport pour ma fille avant les vacances d'été.";
    assert_eq!(detect(french), Some("fra"));
    assert_eq!(
        detect("Здравствуйте, как мне зарегистрировать новый адрес после переезда в другой город?"),
        Some("rus")
    );
}

/// Languages that share frequent words with the two are left to their trigrams.
#[test]
fn related_languages_are_not_evident() {
    for text in [
        "Goedemorgen, ik wil graag weten wat ik moet doen als mijn paspoort verlopen is en hoe lang het duurt. Wie kan mij helpen en was die afspraak in de week van maandag of niet?",
        "Hej, jeg vil gerne vide, hvordan jeg kan få et nyt pas til mit barn, og om vi skal have en tid. Der er ingen, der svarer, når jeg ringer til jer, og den dame i receptionen ved det ikke.",
        "Hola, me gustaría saber qué documentos necesito para renovar el pasaporte de mi hija y si has recibido la solicitud que envié hace dos semanas a la oficina.",
        "Buongiorno, vorrei sapere come posso fare per ottenere un nuovo passaporto per mia figlia e se devo venire in ufficio a prendere un appuntamento.",
        "Dzień dobry, chciałbym się dowiedzieć, jakie dokumenty są potrzebne do wymeldowania i czy muszę przyjść osobiście do urzędu.",
        "Merhaba, kızım için yeni bir pasaport almak istiyorum. Hangi belgeler gerekli ve randevu almam gerekiyor mu?",
    ] {
        assert!(FunctionWords::of(text).evident().is_none(), "{text}");
    }
    let german = "Ich habe den Ausweis nicht mehr, wo ist das Amt und was muss ich mitbringen?";
    assert_eq!(FunctionWords::of(german).evident(), Some(Language::German));
    let english = "I have lost my card. What do I need to do and where is the office?";
    assert_eq!(FunctionWords::of(english).evident(), Some(Language::English));
    let both = "Ich habe den Ausweis nicht mehr, wo ist das Amt? I have lost my card, where is the office?";
    assert!(FunctionWords::of(both).evident().is_none());
}

#[test]
fn no_words_have_no_language() {
    assert_eq!(detect(" 123 !?"), None);
}

/// The hand-written tickets of both languages; the share that must be right leaves room for the few of three words.
#[test]
fn hand_written_tickets_are_told_apart() {
    for (file, language) in [
        (include_str!("../../../../tests/data/triage/test-german.jsonl"), "de"),
        (include_str!("../../../../tests/data/triage/test-english.jsonl"), "en"),
    ] {
        let texts: Vec<String> = file
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["text"].as_str().unwrap().to_owned()
            })
            .collect();
        let wrong: Vec<&String> = texts.iter().filter(|text| detect(text) != Some(language)).collect();
        assert!(wrong.len() * 50 <= texts.len(), "{} of {}: {wrong:#?}", wrong.len(), texts.len());
    }
}
