//! Independent signs that an answer is the one that is asked for. All must agree before it is published without a clerk.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::answer_types::AnswerTypes;
use crate::extractive::Lead;
use crate::grounding::has_several_amounts;
use crate::passage::Passage;
use crate::quotable::is_ended;
use crate::statement::Grounded;
use crate::terms::words;
use crate::yes_no;

/// Bias and weights of a logistic function of margin and relevance, as `tests/data/knowledge/fit_publishing.py` fits them.
const BIAS: f32 = -0.290;
const OF_MARGIN: f32 = 46.54;
const OF_RELEVANCE: f32 = 0.511;
/// A greater margin makes an answer no more certain.
const GREATEST_MARGIN: f32 = 0.06;
/// Least margin of a published answer: a smaller one is shown as 0, and another page answers as well.
const LEAST_MARGIN: f32 = 0.0005;
/// Bounds of the relevance, so that its odds are finite.
const RELEVANCE: [f32; 2] = [0.001, 0.999];

/// How sure it is that an answer is the one that is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certainty {
    /// Relevance of the best cited document, 0 to 1.
    pub relevance: f32,
    /// How much nearer the nearest quotation is than any that answers another question, at most 0.06;
    /// `None` if the host does not know how near they are.
    pub margin: Option<f32>,
}

impl Certainty {
    /// Creates the certainty of an answer with this relevance and nearest quotation.
    pub fn new(relevance: f32, lead: Option<&Lead>) -> Self {
        Self { relevance, margin: lead.map(|lead| lead.margin.clamp(0.0, GREATEST_MARGIN)) }
    }

    /// Returns the probability that the answer is the right one if all signs agree; not a number if margin or relevance
    /// is not one.
    pub fn probability(&self) -> f32 {
        let Some(margin) = self.margin else { return self.relevance };
        let [least, most] = RELEVANCE;
        let relevance = self.relevance.clamp(least, most);
        let odds = (relevance / (1.0 - relevance)).ln();
        1.0 / (1.0 + (-(BIAS + OF_MARGIN * margin + OF_RELEVANCE * odds)).exp())
    }
}

/// Why an answer may not be the one that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The answer quotes several documents.
    Documents,
    /// The answer is not of the nearest quotation's document, or the most relevant passage answers another question.
    Disagreement,
    /// A quotation that answers another question is as near as the nearest one.
    Tie,
    /// The nearest quotation lacks the amount, time, place or papers that are asked for, or only repeats the question.
    Lacking,
    /// The answer has several amounts or figures of a list, of which the reader must choose.
    Several,
    /// The question asks for yes or no, and the configuration does not allow to publish an answer, or neither a whole
    /// sentence answers nor is such a question the title of the document.
    YesNo,
}

/// Returns what speaks against an answer of `sentences` from `passages` to `question`. `lead` is the nearest quotation, if
/// the host knows how near they are; `publish_yes_no` allows answers to questions of yes or no.
pub fn doubts(
    question: &str,
    sentences: &[Grounded],
    passages: &[Passage],
    lead: Option<&Lead>,
    publish_yes_no: bool,
) -> Vec<Doubt> {
    let document = |passage: usize| passages.get(passage).map(|passage| passage.document.as_str());
    let mut cited: Vec<Option<&str>> = sentences.iter().map(|one| document(one.passage)).collect();
    cited.dedup();
    let page = lead.and_then(|lead| passages.get(lead.passage));
    let is_led = |lead: &Lead| {
        let relevant = passages.iter().rev().max_by(|one, other| one.score.total_cmp(&other.score));
        let is_relevant = page.zip(relevant).is_some_and(|(own, relevant)| own.has_question_of(relevant));
        is_relevant && cited.iter().all(|cited| *cited == document(lead.passage))
    };
    let is_lacking = |lead: &Lead| {
        !AnswerTypes::of(question).is_all_in(&lead.text) || says_nothing_new(&lead.text, question)
    };
    let is_whole = || match lead {
        Some(lead) => {
            yes_no::is_answered_by(&lead.text)
                || page.is_some_and(|page| page.is_frequent_question() && yes_no::is_asked(&page.title))
        }
        None => sentences.iter().any(|one| yes_no::is_answered_by(&one.text)),
    };
    let found = [
        (cited.len() > 1, Doubt::Documents),
        (lead.is_some_and(|lead| !is_led(lead)), Doubt::Disagreement),
        (lead.is_some_and(|lead| lead.margin < LEAST_MARGIN), Doubt::Tie),
        (lead.is_some_and(is_lacking), Doubt::Lacking),
        (has_choices(sentences), Doubt::Several),
        (yes_no::is_asked(question) && !(publish_yes_no && is_whole()), Doubt::YesNo),
    ];
    found.into_iter().filter_map(|(is_so, doubt)| is_so.then_some(doubt)).collect()
}

/// Returns whether `text` has no words but those of `question`, as a row "13 Euro" has none if the question names that sum.
fn says_nothing_new(text: &str, question: &str) -> bool {
    let known: BTreeSet<String> = words(question).collect();
    words(text).all(|word| known.contains(&word))
}

/// Returns whether the sentences and their headings have several amounts, or the sentences several fragments with figures,
/// as rows of a table.
fn has_choices(sentences: &[Grounded]) -> bool {
    let shown = sentences.iter().map(Grounded::shown).collect::<Vec<_>>().join("\n");
    let is_row = |line: &&str| line.contains(char::is_numeric) && !is_ended(line);
    let rows = sentences.iter().flat_map(|one| one.text.lines()).filter(is_row);
    has_several_amounts(&shown) || rows.count() > 1
}
