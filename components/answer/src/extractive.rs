//! Extractive answers: quotes the sentences, list items and rows of the passages that are nearest to the question, with
//! what they need to be read.
//!
//! The host gives the nearness of each; words that it shares with the question, and the expected answer type, decide
//! between those that are about as near. Where the host gives none, words alone decide.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use bulkhead_text::language::Language;

use crate::answer_types::AnswerTypes;
use crate::grounding::is_exception;
use crate::lists::reference;
use crate::passage::{Item, Passage};
use crate::quotable::{Sentence, is_ended, is_question, sentences};
use crate::statement::{Bounds, Statement};
use crate::terms::{Stems, match_score, words};

/// Maximum number of quotations.
const MOST: usize = 4;
/// Maximum number of characters of an answer of several quotations.
const LONGEST: usize = 500;
/// How much less near than the best one a quotation of the same page may be.
const MARGIN: f32 = 0.02;
/// How much less near a quotation of another page may be.
const PAGE_MARGIN: f32 = 0.01;
/// Least score without nearness, as a share of the best one's score.
const LEAST: f32 = 0.5;
/// What the words of the question count against nearness, if a quotation has all of them.
const WORDS: f32 = 0.03;
/// What the expected answer type counts against nearness, or against a third of the words.
const ASKED: f32 = 0.01;
/// Weight of a word in a heading for a sentence below it, against a word of its own.
const UNDER: f32 = 0.6;

/// Number of leading words in which an anaphoric word counts.
const FIRST: usize = 4;

/// A candidate quotation.
struct Candidate {
    passage: usize,
    /// Its index among the passage's candidates.
    place: usize,
    /// Its text on one line; a list keeps its lines.
    text: String,
    /// Whether it is a complete sentence.
    whole: bool,
    /// Whether it states nothing: a question or a heading.
    bare: bool,
    terms: BTreeSet<String>,
    /// The terms of the nearest headings above it.
    headings: BTreeSet<String>,
    /// Its nearness to the question, if the host knows it.
    nearness: Option<f32>,
    score: f32,
}

/// The quotation that is nearest to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Lead {
    /// Index of its passage.
    pub passage: usize,
    /// Its text on one line.
    pub text: String,
    /// How much less near the best quotation that answers another question is; infinite if there is no other.
    pub margin: f32,
}

/// Returns the quotation of `passages` that is nearest to `question`; `None` if the host does not know how near they are.
pub fn lead(question: &str, passages: &[Passage], language: Language) -> Option<Lead> {
    let candidates = rated(question, passages, &AnswerTypes::of(question), language);
    let stating = || candidates.iter().filter(|one| !one.bare && one.nearness.is_some());
    // The first of several equal ones.
    let best = stating().rev().max_by(|one, other| one.score.total_cmp(&other.score))?;
    let page = passages.get(best.passage)?;
    let is_other =
        |one: &&Candidate| passages.get(one.passage).is_some_and(|passage| !passage.has_question_of(page));
    let next = stating().filter(is_other).map(|one| one.score).fold(f32::NEG_INFINITY, f32::max);
    Some(Lead { passage: best.passage, text: best.text.clone(), margin: best.score - next })
}

/// Selects statements that answer `question` from `passages`, in the order of the passages; empty if the passages
/// have no sentences.
pub fn write(question: &str, passages: &[Passage], language: Language, bounds: Bounds) -> Vec<Statement> {
    let candidates = rated(question, passages, &AnswerTypes::of(question), language);
    let chosen = choose(&candidates, passages, bounds);
    // Passages in the order of first use, sentences in the order of their passage.
    let mut chosen: Vec<&Candidate> = chosen.iter().filter_map(|index| candidates.get(*index)).collect();
    let mut order: Vec<usize> = Vec::new();
    for candidate in &chosen {
        if !order.contains(&candidate.passage) {
            order.push(candidate.passage);
        }
    }
    chosen.sort_by_key(|one| (order.iter().position(|passage| *passage == one.passage), one.place));
    chosen.into_iter().map(|one| Statement { text: one.text.clone(), passages: vec![one.passage] }).collect()
}

/// Returns the candidates of all `passages` with their scores.
fn rated(question: &str, passages: &[Passage], asked: &AnswerTypes, language: Language) -> Vec<Candidate> {
    let stems = Stems::new(language);
    let of_passage = |(index, passage)| candidates(index, passage, &stems);
    let mut candidates: Vec<Candidate> = passages.iter().enumerate().flat_map(of_passage).collect();
    rate(&mut candidates, passages, &stems.terms_and_verbs(question), asked);
    candidates
}

/// Returns the items of a passage, or its sentences if the host knows no items.
fn candidates(passage: usize, content: &Passage, stems: &Stems) -> Vec<Candidate> {
    let all = sentences(&content.text);
    let candidate = |place, text: String, under: Range<usize>| {
        let above = all.get(under).unwrap_or_default().iter();
        Candidate {
            passage,
            place,
            whole: is_ended(&text),
            bare: is_question(&text),
            headings: above.flat_map(|one| stems.terms_and_verbs(&one.text)).collect(),
            terms: stems.terms_and_verbs(&text),
            text,
            nearness: None,
            score: 0.0,
        }
    };
    if content.items.is_empty() {
        let sentence = |(place, one): (usize, &Sentence)| Candidate {
            whole: one.whole,
            bare: one.states_nothing(),
            ..candidate(place, one.text.clone(), one.under.clone())
        };
        return all.iter().enumerate().map(sentence).collect();
    }
    let item = |(place, item): (usize, &Item)| {
        let text = content.text.get(item.range.clone())?;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let within = all.iter().find(|one| one.range.contains(&item.range.start));
        let under = within.map_or(0..0, |one| one.under.clone());
        Some(Candidate { nearness: Some(item.score), ..candidate(place, text, under) })
    };
    content.items.iter().enumerate().filter_map(item).collect()
}

/// Scores the candidates. A term weighs more the fewer candidates have it.
fn rate(candidates: &mut [Candidate], passages: &[Passage], terms: &BTreeSet<String>, asked: &AnswerTypes) {
    let match_of = |term: &String, one: &Candidate| {
        match_score(term, &one.terms).max(UNDER * match_score(term, &one.headings))
    };
    let mut shares = vec![0.0_f32; candidates.len()];
    let mut whole = 0.0;
    for term in terms {
        let scores: Vec<f32> = candidates.iter().map(|one| match_of(term, one)).collect();
        let frequency = scores.iter().filter(|score| **score > 0.0).count();
        let weight = (1.0 + scores.len() as f32 / (1.0 + frequency as f32)).ln();
        shares.iter_mut().zip(scores).for_each(|(share, score)| *share += weight * score);
        whole += weight;
    }
    for (one, share) in candidates.iter_mut().zip(shares) {
        let share = if whole > 0.0 { share / whole } else { 0.0 };
        let met = if asked.is_met_by(&one.text) { ASKED } else { 0.0 };
        let worded = WORDS * share + met;
        let relevance = passages.get(one.passage).map_or(0.0, |passage| passage.score);
        one.score = one.nearness.map_or(relevance * worded, |nearness| nearness + worded);
    }
}

/// Returns indices of candidates, best first.
fn choose(candidates: &[Candidate], passages: &[Passage], bounds: Bounds) -> Vec<usize> {
    let mut ranked: Vec<(usize, &Candidate)> =
        candidates.iter().enumerate().filter(|(_, one)| !one.bare).collect();
    // A stable sort: the first of several equal ones.
    ranked.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
    let Some(best) = ranked.first().map(|(_, best)| *best) else { return Vec::new() };
    let with_best = |one: &Candidate| passages.get(one.passage).zip(passages.get(best.passage));
    let is_of_best_page = |one: &Candidate| with_best(one).is_some_and(|(own, best)| own.is_of_page_of(best));
    // Another answer to the same question: one is enough.
    let is_copy = |one: &Candidate| {
        with_best(one).is_some_and(|(own, best)| own.document != best.document && own.has_question_of(best))
    };
    let least = |one: &Candidate| match best.nearness {
        Some(_) if is_of_best_page(one) => best.score - MARGIN,
        Some(_) => best.score - PAGE_MARGIN,
        None => best.score * LEAST,
    };
    let most = bounds.sentences.min(MOST);
    let mut chosen: Vec<usize> = Vec::new();
    for (index, one) in ranked {
        // Of candidates without a word of the question the first one has to do.
        if one.score < least(one) || one.score <= 0.0 && !chosen.is_empty() || is_copy(one) {
            continue;
        }
        let longest = if chosen.is_empty() { bounds.characters } else { bounds.characters.min(LONGEST) };
        let fits = |chosen: &[usize], added: &[usize]| {
            let texts = chosen.iter().chain(added).filter_map(|index| candidates.get(*index));
            let characters: usize = texts.map(|one| one.text.chars().count() + 1).sum();
            chosen.len() + added.len() <= most && characters <= longest + 1
        };
        let is_said = |chosen: &[usize]| {
            let mut said = chosen.iter().filter_map(|index| candidates.get(*index));
            said.any(|said| said.text == one.text)
        };
        if is_said(&chosen) {
            continue;
        }
        let needed = with_needed(candidates, index, &chosen);
        let added = if fits(&chosen, &needed) { needed } else { vec![index] };
        if !fits(&chosen, &added) {
            continue;
        }
        chosen.extend(added);
    }
    chosen
}

/// Returns the candidate at `index` with its antecedent, if it is anaphoric, with the list that it announces, and with
/// the exception that follows it.
fn with_needed(candidates: &[Candidate], index: usize, chosen: &[usize]) -> Vec<usize> {
    let mut added = vec![index];
    let Some(candidate) = candidates.get(index) else { return added };
    let is_open = |place: &usize| {
        !chosen.contains(place) && candidates.get(*place).is_some_and(|one| one.passage == candidate.passage)
    };
    let before = index.checked_sub(1).filter(is_open);
    let is_whole =
        |before: &usize| candidates.get(*before).is_some_and(|one| one.whole && !one.text.starts_with('#'));
    if let Some(before) = before.filter(is_whole)
        && refers_back(&candidate.text)
    {
        added.insert(0, before);
    }
    if candidate.text.ends_with(':') {
        added.extend((index + 1..index + MOST).filter(is_open));
    } else {
        let excepts = |after: &usize| candidates.get(*after).is_some_and(|one| is_exception(&one.text));
        added.extend(Some(index + 1).filter(is_open).filter(excepts));
    }
    added
}

/// Returns whether `sentence` refers to the previous one: "Er kostet ...", "Reicht auch das nicht, ...".
fn refers_back(sentence: &str) -> bool {
    let words: Vec<String> = words(sentence).take(FIRST).collect();
    let bare = words.windows(2).any(
        |pair| matches!(pair, [one, next] if reference::BARE.contains(&one.as_str()) && reference::BEHIND_BARE.contains(&next.as_str())),
    );
    bare || words.first().is_some_and(|first| reference::POINTING.contains(&first.as_str()))
}
