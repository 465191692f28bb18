//! Independent signs that an answer is the one that is asked for. All must agree before it is published without a clerk.

#[cfg(test)]
mod tests;

use crate::answer_types::AnswerTypes;
use crate::extractive::Lead;
use crate::grounding::has_several_amounts;
use crate::passage::Passage;
use crate::quotable::is_ended;
use crate::statement::Grounded;
use crate::yes_no;

/// How much nearer than the best quotation of any other document the best one must be. Chosen on other people's questions.
const MARGIN: f32 = 0.02;

/// Why an answer may not be the one that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The answer quotes several documents.
    Documents,
    /// The nearest quotation, the most relevant passage and the answer are not of one document.
    Disagreement,
    /// Another document is about as near.
    Close,
    /// The nearest quotation lacks the amount, time, place or papers that are asked for.
    Lacking,
    /// The answer has several amounts or figures of a list, of which the reader must choose.
    Several,
    /// The question asks for yes or no, and the configuration does not allow to publish an answer, or no whole sentence
    /// answers.
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
    let is_led = |lead: &Lead| {
        let relevant = passages.iter().rev().max_by(|one, other| one.score.total_cmp(&other.score));
        let relevant = relevant.map(|passage| passage.document.as_str());
        let own = document(lead.passage);
        own == relevant && cited.iter().all(|document| *document == own)
    };
    let is_lacking = |lead: &Lead| !AnswerTypes::of(question).is_all_in(&lead.text);
    let is_whole = || match lead {
        Some(lead) => yes_no::is_answered_by(&lead.text),
        None => sentences.iter().any(|one| yes_no::is_answered_by(&one.text)),
    };
    let found = [
        (cited.len() > 1, Doubt::Documents),
        (lead.is_some_and(|lead| !is_led(lead)), Doubt::Disagreement),
        (lead.is_some_and(|lead| lead.margin.is_nan() || lead.margin < MARGIN), Doubt::Close),
        (lead.is_some_and(is_lacking), Doubt::Lacking),
        (has_choices(sentences), Doubt::Several),
        (yes_no::is_asked(question) && !(publish_yes_no && is_whole()), Doubt::YesNo),
    ];
    found.into_iter().filter_map(|(is_so, doubt)| is_so.then_some(doubt)).collect()
}

/// Returns whether the sentences have several amounts, or several fragments with figures, as rows of a table.
fn has_choices(sentences: &[Grounded]) -> bool {
    let shown = sentences.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n");
    let is_row = |line: &&str| line.contains(char::is_numeric) && !is_ended(line);
    has_several_amounts(&shown) || shown.lines().filter(is_row).count() > 1
}
