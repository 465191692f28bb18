//! The kind of thing that a question asks for, and whether a sentence has it.

use crate::calendar::WEEKDAYS;
use crate::terms::{umlauted, words};

/// What is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    amount: bool,
    time: bool,
    duration: bool,
    place: bool,
    papers: bool,
}

impl Asked {
    /// What `question` asks for.
    pub fn of(question: &str) -> Self {
        let words: Vec<String> = words(question).collect();
        let has = |starts: &[&str]| has(&words, starts);
        let phrase = |one: &str, other: &str| {
            words
                .windows(2)
                .any(|pair| matches!(pair, [first, second] if first == one && second.starts_with(other)))
        };
        Self {
            amount: has(&["kost", "gebühr", "preis", "teuer", "fee", "cost", "price"])
                || phrase("wie", "viel")
                || phrase("how", "much"),
            time: has(&["wann", "öffnungszeit", "geöffnet", "uhr", "when", "hours", "opening"]),
            duration: has(&["frist", "dauer", "deadline"]) || phrase("wie", "lang") || phrase("how", "long"),
            place: has(&["wo", "wohin", "where", "adresse", "address", "anschrift"])
                && !has(&["wohn", "woche"]),
            papers: has(&["unterlagen", "dokumente", "mitbringen", "nachweis", "documents", "bring"])
                || phrase("was", "brauch"),
        }
    }

    /// Whether `sentence` has something of the kind.
    pub fn is_met_by(self, sentence: &str) -> bool {
        let words: Vec<String> = words(sentence).collect();
        let has = |starts: &[&str]| has(&words, starts);
        let number = sentence.contains(|sign: char| sign.is_numeric());
        let is_free = has(&["kostenlos", "gebührenfrei", "free"]);
        (self.amount && (is_free || number && (sentence.contains('€') || has(&["euro", "eur", "cent"]))))
            || (self.time && number && (has(&["uhr", "clock", "am", "pm"]) || has(&WEEKDAYS)))
            || (self.duration
                && has(&[
                    "tag",
                    "woch",
                    "monat",
                    "jahr",
                    "stunde",
                    "minute",
                    "day",
                    "week",
                    "month",
                    "year",
                    "hour",
                    "sofort",
                    "immediately",
                ]))
            || (self.place
                && has(&[
                    "straße",
                    "strasse",
                    "platz",
                    "zimmer",
                    "raum",
                    "etage",
                    "stock",
                    "bürgerbüro",
                    "amt",
                    "rathaus",
                    "street",
                    "square",
                    "room",
                    "floor",
                    "office",
                    "online",
                ]))
            || (self.papers
                && (has(&[
                    "mitbringen",
                    "vorlegen",
                    "benötig",
                    "brauchen",
                    "erforderlich",
                    "bring",
                    "need",
                    "required",
                ]) || sentence.contains(":\n")))
    }
}

/// Whether one of the `words` begins so.
fn has(words: &[String], starts: &[&str]) -> bool {
    let begins = |word: &str| starts.iter().any(|start| word.starts_with(start));
    words.iter().any(|word| begins(word) || begins(&umlauted(word)))
}
