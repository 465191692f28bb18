//! Passages that the knowledge base returns, and which of them to read.

use std::ops::Range;

use bulkhead_text::language;

use crate::quotable::is_question;

/// A sentence, a list item or a row of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Item {
    /// Where it is in its passage's text, in bytes.
    pub range: Range<usize>,
    /// Its nearness to the question: a cosine.
    pub score: f32,
}

/// A part of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Passage {
    /// The document it is part of.
    pub document: String,
    /// The document's title.
    pub title: String,
    /// Where the document can be read.
    pub url: Option<String>,
    /// Its text.
    pub text: String,
    /// ISO 639 code, if the knowledge base knows it.
    pub language: Option<String>,
    /// Calibrated relevance to the question, 0 to 1.
    pub score: f32,
    /// Its items in order; empty if the knowledge base was searched by words alone.
    pub items: Vec<Item>,
}

impl Passage {
    /// Returns whether it belongs to the same page as `other`, and `other` to its page: to its document, or to one with
    /// the same address. Two different frequent questions at one address are pages of their own.
    pub fn is_of_page_of(&self, other: &Self) -> bool {
        let has_address = self.url.as_ref().is_some_and(|url| !url.is_empty());
        let is_other_question =
            || self.is_frequent_question() && other.is_frequent_question() && !self.has_question_of(other);
        self.document == other.document || has_address && self.url == other.url && !is_other_question()
    }

    /// Returns whether its document answers one question, which is its title.
    pub fn is_frequent_question(&self) -> bool {
        is_question(self.title.trim())
    }

    /// Returns whether it answers the same as `other`: it is of its document, or of one with the same question as its
    /// title.
    pub fn has_question_of(&self, other: &Self) -> bool {
        let folded = |title: &str| title.trim().to_lowercase();
        self.document == other.document
            || self.is_frequent_question() && folded(&self.title) == folded(&other.title)
    }

    /// Returns the ISO 639 code of its language: from the knowledge base, else detected.
    pub fn language(&self) -> Option<&str> {
        let known = self.language.as_deref().and_then(|code| code.split(['-', '_']).next());
        known.filter(|code| !code.is_empty()).or_else(|| language::detect(&self.text))
    }
}

/// A passage without items is dropped if the best one is this many times as relevant: its statements on other subjects
/// could pass for answers.
const FAR_BEHIND: f32 = 10.0;

/// Returns the passages to answer from, best first: those of documents that reach `floor`, and of these the ones in
/// `language`, if any. A passage is as relevant as the best one of its document. The second value says whether they
/// are in that language.
pub fn worth_reading(mut passages: Vec<Passage>, floor: f32, language: &str) -> (Vec<Passage>, bool) {
    let relevance = |one: &Passage| {
        let same = passages.iter().filter(|other| other.document == one.document);
        same.map(|other| other.score).fold(one.score, f32::max)
    };
    let scores: Vec<f32> = passages.iter().map(relevance).collect();
    passages.iter_mut().zip(scores).for_each(|(passage, score)| passage.score = score);
    passages.retain(|passage| passage.score >= floor && !passage.text.trim().is_empty());
    let by_items = passages.iter().any(|passage| !passage.items.is_empty());
    if !by_items {
        passages.sort_by(|one, other| other.score.total_cmp(&one.score));
    }
    let (own, other): (Vec<_>, Vec<_>) =
        passages.into_iter().partition(|passage| passage.language().is_none_or(|code| code == language));
    let (mut read, is_own) = if own.is_empty() { (other, false) } else { (own, true) };
    let best = read.first().map_or(0.0, |best| best.score);
    read.retain(|passage| by_items || passage.score * FAR_BEHIND >= best);
    (read, is_own)
}

/// Returns the passages of the first `limit` documents; with `one_each` only the first of each document.
pub fn of_documents(passages: Vec<Passage>, limit: usize, one_each: bool) -> Vec<Passage> {
    let mut documents: Vec<String> = Vec::new();
    let is_read = |passage: &Passage| {
        if documents.contains(&passage.document) {
            return !one_each;
        }
        let is_open = documents.len() < limit;
        documents.extend(is_open.then(|| passage.document.clone()));
        is_open
    };
    passages.into_iter().filter(is_read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(title: &str, language: &str, score: f32) -> Passage {
        Passage {
            document: title.to_owned(),
            title: title.to_owned(),
            language: (!language.is_empty()).then(|| language.to_owned()),
            text: "Ein Reisepass kostet 70 Euro und ist zehn Jahre gültig.".to_owned(),
            score,
            ..Passage::default()
        }
    }

    fn titles(passages: &[Passage]) -> Vec<&str> {
        passages.iter().map(|passage| passage.title.as_str()).collect()
    }

    #[test]
    fn passages_below_the_floor_are_dropped() {
        let found = vec![passage("a", "de", 0.4), passage("b", "de", 0.5), passage("c", "de", 0.9)];
        let (read, own) = worth_reading(found, 0.5, "de");
        assert_eq!((titles(&read), own), (vec!["c", "b"], true));
    }

    #[test]
    fn passages_far_behind_are_dropped() {
        let found = vec![passage("far", "de", 0.08), passage("near", "de", 0.2), passage("best", "de", 0.9)];
        assert_eq!(titles(&worth_reading(found, 0.0, "de").0), ["best", "near"]);
        assert_eq!(titles(&worth_reading(vec![passage("far", "de", 0.08)], 0.0, "de").0), ["far"]);
    }

    #[test]
    fn items_keep_their_order_and_pages() {
        let item = Item { range: 0..3, score: 0.9 };
        let own = |document: &str, score| Passage {
            document: document.to_owned(),
            items: vec![item.clone()],
            ..passage(document, "de", score)
        };
        let found = vec![own("far", 0.08), own("best", 0.9), own("far", 0.3), own("low", 0.01)];
        let (read, _) = worth_reading(found, 0.1, "de");
        assert_eq!(titles(&read), ["far", "best", "far"]);
        assert_eq!(read.first().map(|one| one.score), Some(0.3));
        assert_eq!(titles(&of_documents(read.clone(), 2, true)), ["far", "best"]);
        assert_eq!(titles(&of_documents(read, 1, false)), ["far", "far"]);
    }

    #[test]
    fn the_ticket_s_language_goes_before_relevance() {
        let found = vec![passage("en", "en", 0.9), passage("de", "de-DE", 0.6), passage("unsaid", "", 0.5)];
        let (read, own) = worth_reading(found.clone(), 0.5, "de");
        assert_eq!((titles(&read), own), (vec!["de", "unsaid"], true));
        let (read, own) = worth_reading(found, 0.8, "de");
        assert_eq!((titles(&read), own), (vec!["en"], false));
    }

    #[test]
    fn pages_belong_together_both_ways() {
        let at = |title: &str, url: &str| Passage { url: Some(url.to_owned()), ..passage(title, "de", 0.5) };
        let again = Passage { document: "copy".to_owned(), ..at("What?", "/faq") };
        let pages = [at("What?", "/faq"), at("When?", "/faq"), again, at("FAQ", "/faq"), at("Fees", "")];
        let all = [pages.as_slice(), &[at("No address", "")]].concat();
        let together = |one: &Passage| all.iter().map(|other| one.is_of_page_of(other)).collect::<Vec<_>>();
        let found: Vec<Vec<bool>> = all.iter().map(together).collect();
        let (yes, no) = (true, false);
        assert_eq!(
            found,
            [
                [yes, no, yes, yes, no, no],
                [no, yes, no, yes, no, no],
                [yes, no, yes, yes, no, no],
                [yes, yes, yes, yes, no, no],
                [no, no, no, no, yes, no],
                [no, no, no, no, no, yes],
            ]
        );
    }

    #[test]
    fn a_passage_without_words_says_nothing() {
        let empty = Passage { text: " \n".to_owned(), score: 1.0, ..Passage::default() };
        assert!(worth_reading(vec![empty], 0.0, "de").0.is_empty());
    }
}
