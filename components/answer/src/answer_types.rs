//! Expected answer types: the kinds of facts that a question asks for, and whether a text has them.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use bulkhead_text::words::umlauted;

use crate::calendar::{MONTHS, WEEKDAYS};
use crate::grounding::is_negated;
use crate::quotable::{is_list, is_question, sentences};
use crate::terms::words;

/// A kind of fact that a question can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Amount,
    Time,
    Duration,
    Place,
    Papers,
}

const KINDS: [Kind; 5] = [Kind::Amount, Kind::Time, Kind::Duration, Kind::Place, Kind::Papers];

/// The answer types that a question expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerTypes {
    kinds: Vec<Kind>,
    /// Whether the question asks what does not hold.
    negated: bool,
}

impl AnswerTypes {
    /// Reads the expected answer types of `text`: of its questions if it has any, else of all of it.
    pub fn of(text: &str) -> Self {
        let sentences = sentences(text);
        let questions = sentences.iter().map(|one| one.text.as_str()).filter(|one| is_question(one));
        let questions = questions.collect::<Vec<_>>().join(" ");
        let asking = if questions.is_empty() { text } else { &questions };
        let words = Words::of(asking);
        let kinds = KINDS.into_iter().filter(|kind| kind.is_asked_by(&words)).collect();
        Self { kinds, negated: !questions.is_empty() && is_negated(asking) }
    }

    /// Returns whether the question asks for a price.
    pub fn asks_for_amount(&self) -> bool {
        self.kinds.contains(&Kind::Amount)
    }

    /// Returns whether the question asks for any kind of fact.
    pub fn asks(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// Returns whether `sentence` has a fact of one of the kinds.
    pub fn is_met_by(&self, sentence: &str) -> bool {
        let words = Words::of(sentence);
        self.kinds.iter().any(|kind| kind.is_in(sentence, &words))
    }

    /// Returns whether `answer` has a fact of each kind, and a negation if the question is negated.
    pub fn is_answered_by(&self, answer: &str) -> bool {
        self.is_all_in(answer) && (!self.negated || is_negated(answer))
    }

    /// Returns whether `text` has a fact of each kind.
    pub fn is_all_in(&self, text: &str) -> bool {
        let words = Words::of(text);
        let has = |kind: &Kind| kind.is_in(text, &words) || *kind == Kind::Time && is_any_time(text, &words);
        self.kinds.iter().all(has)
    }
}

impl Kind {
    fn is_asked_by(self, words: &Words) -> bool {
        match self {
            Self::Amount => {
                words.begin(&["kost", "gebühr", "beitrag", "beiträge", "preis", "teuer", "cost", "price"])
                    || words.are(&["fee", "fees"])
                    || words.follow("wie", &["viel", "hoch"])
                    || words.follow("how", &["much"])
            }
            Self::Time => {
                words.begin(&["wann", "öffnungszeit", "geöffnet", "uhr", "when", "opening"])
                    || words.are(&["hours"])
            }
            Self::Duration => {
                words.begin(&["frist", "dauer", "deadline"])
                    || words.follow("wie", &["lang"])
                    || words.follow("how", &["long"])
            }
            Self::Place => {
                words.are(&["wo", "wohin", "where"]) || words.begin(&["adresse", "address", "anschrift"])
            }
            Self::Papers => {
                words.begin(&["unterlagen", "dokumente", "mitbringen", "nachweis", "documents", "bring"])
                    || words.follow("was", &["brauch"])
            }
        }
    }

    fn is_in(self, text: &str, words: &Words) -> bool {
        let number = || text.contains(|sign: char| sign.is_numeric());
        match self {
            Self::Amount => {
                words.begin(&["kostenlos", "gebührenfrei", "free"])
                    || number()
                        && (text.contains('€') || words.are(&["euro", "euros", "eur", "cent", "cents"]))
            }
            Self::Time => number() && (words.begin(&["uhr", "clock", "am", "pm"]) || words.begin(&WEEKDAYS)),
            Self::Duration => words.begin(&[
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
            ]),
            Self::Place => words.have(&[
                "straße", "strasse", "platz", "zimmer", "raum", "etage", "stock", "büro", "amt", "rathaus",
                "stelle", "street", "square", "room", "floor", "office", "online", "hall",
            ]),
            Self::Papers => {
                words.begin(&[
                    "mitbringen",
                    "mitzubringen",
                    "vorlegen",
                    "benötig",
                    "brauchen",
                    "erforderlich",
                    "bring",
                    "need",
                    "required",
                ]) || text.contains(":\n")
                    || text.lines().any(is_list)
            }
        }
    }
}

/// Returns whether a text names any time.
fn is_any_time(text: &str, words: &Words) -> bool {
    text.contains(|sign: char| sign.is_numeric())
        || words.begin(&WEEKDAYS)
        || words.begin(&MONTHS)
        || words.begin(&["jederzeit", "täglich", "geschlossen", "nie", "anytime", "daily", "closed", "never"])
        || Kind::Duration.is_in(text, words)
}

/// The words of a text in lower case, with umlauts restored.
struct Words(Vec<String>);

impl Words {
    fn of(text: &str) -> Self {
        let umlauts = |word: String| match umlauted(&word) {
            Cow::Borrowed(_) => word,
            Cow::Owned(word) => word,
        };
        Self(words(text).map(umlauts).collect())
    }

    /// Returns whether a word is one of `known`.
    fn are(&self, known: &[&str]) -> bool {
        self.0.iter().any(|word| known.contains(&word.as_str()))
    }

    /// Returns whether a word begins with one of `starts`.
    fn begin(&self, starts: &[&str]) -> bool {
        self.0.iter().any(|word| starts.iter().any(|start| word.starts_with(start)))
    }

    /// Returns whether a word contains one of `parts`, as compounds do.
    fn have(&self, parts: &[&str]) -> bool {
        self.0.iter().any(|word| parts.iter().any(|part| word.contains(part)))
    }

    /// Returns whether `first` is followed by a word that begins with one of `starts`.
    fn follow(&self, first: &str, starts: &[&str]) -> bool {
        let follows = |second: &str| starts.iter().any(|start| second.starts_with(start));
        self.0.windows(2).any(|pair| matches!(pair, [one, other] if one == first && follows(other)))
    }
}
