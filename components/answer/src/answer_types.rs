//! Expected answer types: the kinds of facts that a question asks for, and whether a text has them.

#[cfg(test)]
mod tests;

use bulkhead_text::words::umlauted;
use bulkhead_ticket_text::calendar::{is_month, weekdays};

use crate::grounding::is_negated;
use crate::lists::{figures::FREE, kinds, times};
use crate::quotable::{is_list, is_question, sentences};
use crate::terms::words;

/// Kinds of facts that a question can ask for, as the lists name them.
const KINDS: [&str; 5] = [AMOUNT, TIME, DURATION, "place", PAPERS];
const AMOUNT: &str = "amount";
const TIME: &str = "time";
const DURATION: &str = "duration";
const PAPERS: &str = "papers";

/// The answer types that a question expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerTypes {
    kinds: Vec<&'static str>,
    /// Whether the question asks what does not hold.
    negated: bool,
    /// Whether it asks for opening hours.
    opening: bool,
}

impl AnswerTypes {
    /// Reads the expected answer types of `text`: of its questions if it has any, else of all of it.
    pub fn of(text: &str) -> Self {
        let sentences = sentences(text);
        let questions = sentences.iter().map(|one| one.text.as_str()).filter(|one| is_question(one));
        let questions = questions.collect::<Vec<_>>().join(" ");
        let asking = if questions.is_empty() { text } else { &questions };
        let words = Words::of(asking);
        let kinds = KINDS.into_iter().filter(|kind| words.ask_for(kind)).collect();
        let opening = words.begin(times::OPENING_STARTS);
        Self { kinds, negated: !questions.is_empty() && is_negated(asking), opening }
    }

    /// Returns whether the question asks for any kind of fact.
    pub fn asks(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// Returns whether `sentence` has a fact of one of the kinds.
    pub fn is_met_by(&self, sentence: &str) -> bool {
        let words = Words::of(sentence);
        self.kinds.iter().any(|kind| words.name(kind, sentence))
    }

    /// Returns whether `answer` has a fact of each kind, and a negation if the question is negated.
    pub fn is_answered_by(&self, answer: &str) -> bool {
        self.is_all_in(answer) && (!self.negated || is_negated(answer))
    }

    /// Returns whether `text` has a fact of each kind.
    pub fn is_all_in(&self, text: &str) -> bool {
        let words = Words::of(text);
        let any_time = || !self.opening && words.name_any_time(text) || words.begin(times::ANY_STARTS);
        let has = |kind: &&str| words.name(kind, text) || *kind == TIME && any_time();
        self.kinds.iter().all(has)
    }
}

/// Returns the words of a kind.
fn of(kind: &str, lists: &[(&str, &'static [&'static str])]) -> &'static [&'static str] {
    lists.iter().find(|(name, _)| *name == kind).map_or(&[], |(_, words)| *words)
}

/// The words of a text in lower case, with umlauts restored.
struct Words(Vec<String>);

impl Words {
    fn of(text: &str) -> Self {
        Self(words(text).map(|word| umlauted(&word).into_owned()).collect())
    }

    /// Returns whether a question of these words asks for a fact of this kind.
    fn ask_for(&self, kind: &str) -> bool {
        self.begin(of(kind, kinds::ASKED_STARTS))
            || self.are(of(kind, kinds::ASKED_WORDS))
            || of(kind, kinds::ASKED_PAIRS).iter().any(|pair| self.follow(pair))
    }

    /// Returns whether `text`, which has these words, has a fact of this kind.
    fn name(&self, kind: &str, text: &str) -> bool {
        let counted = || match kind {
            AMOUNT => text.contains('€') || self.are(of(kind, kinds::COUNTED_WORDS)),
            TIME => self.begin(of(kind, kinds::COUNTED_STARTS)) || self.name_weekday(),
            _ => false,
        };
        self.begin(of(kind, kinds::HAS_STARTS))
            || self.have(of(kind, kinds::HAS_PARTS))
            || text.contains(char::is_numeric) && counted()
            || kind == AMOUNT && self.begin(FREE)
            || kind == PAPERS && (text.contains(":\n") || text.lines().any(is_list))
    }

    /// Returns whether `text`, which has these words, names any time.
    fn name_any_time(&self, text: &str) -> bool {
        text.contains(char::is_numeric)
            || self.name_weekday()
            || self.0.iter().any(|word| is_month(word))
            || self.begin(times::ANY_STARTS)
            || self.name(DURATION, text)
    }

    fn name_weekday(&self) -> bool {
        weekdays().any(|day| self.begin(&[day]))
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

    /// Returns whether the first word of `pair` is followed by one that begins with the second.
    fn follow(&self, pair: &str) -> bool {
        let follows = |(first, second): (&str, &str)| {
            self.0
                .windows(2)
                .any(|two| matches!(two, [one, next] if one == first && next.starts_with(second)))
        };
        pair.split_once(' ').is_some_and(follows)
    }
}
