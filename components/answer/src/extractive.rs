//! Extractive answers: selects the sentences of the passages that are relevant to the question.
//!
//! A sentence scores by the words of the question that no selected sentence covers yet, with rare words weighted
//! higher than frequent ones, and higher if it has the expected answer type: an amount, a time, a place.

mod question;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::rc::Rc;

use bulkhead_text::language::Language;

use self::question::Question;
use crate::grounding::{is_exception, is_variant};
use crate::passage::Passage;
use crate::sentences::{Sentence, sentences};
use crate::statement::{Bounds, Statement};
use crate::terms::{Stems, words};

/// Minimum score of a sentence, as a share of the best sentence's score.
const LEAST_WORTH: f32 = 0.3;
/// Weight of a word that is already covered, against a new one.
const AGAIN: f32 = 0.25;
/// Weight of the expected answer type, against one frequent word.
const ASKED: f32 = 1.0;
/// Weight of a word in the document's title for a sentence with the expected answer type, against a word of its own.
const TITLED: f32 = 0.3;
/// Weight of a sentence fragment, against a whole sentence.
const BROKEN: f32 = 0.25;
/// Share of common words from which two sentences count as duplicates.
const SAME: f32 = 0.8;
/// Number of leading sentences quoted when no sentence has a word of the question.
const LEAD: usize = 2;

/// Anaphoric words that refer to the previous sentence.
const POINTING: &[&str] = &[
    "dies",
    "diese",
    "dieser",
    "dieses",
    "dafür",
    "dabei",
    "dazu",
    "damit",
    "danach",
    "außerdem",
    "er",
    "sie",
    "es",
    "dort",
    "hierfür",
    "hierzu",
    "this",
    "these",
    "they",
    "it",
    "there",
    "then",
    "he",
    "she",
    "also",
];

/// Words that are anaphoric only when no noun follows.
const BARE: &[&str] = &["das", "dies", "this", "that"];
const BEHIND_BARE: &[&str] = &["nicht", "auch", "geht", "reicht", "so", "is", "does", "not"];
/// Number of leading words in which an anaphoric word counts.
const FIRST: usize = 4;

/// A candidate sentence.
struct Candidate {
    passage: usize,
    /// Its index among the passage's sentences.
    place: usize,
    sentence: Sentence,
    terms: BTreeSet<String>,
    /// The terms of the headings above it.
    headings: BTreeSet<String>,
    /// The terms of its document's title.
    title: Rc<BTreeSet<String>>,
}

/// Selects statements that answer `question` from `passages`, in the order of the passages; empty if the passages
/// have no sentences.
pub fn write(question: &str, passages: &[Passage], language: Language, bounds: Bounds) -> Vec<Statement> {
    let stems = Stems::new(language);
    let candidates = candidates(passages, &stems);
    let mut chosen = choose(question, passages, &candidates, &stems, bounds);
    match *chosen.as_slice() {
        [] => chosen = lead(&candidates, bounds),
        [only] => chosen.extend(continuation(&candidates, only, bounds)),
        _ => {}
    }
    // Passages in the order of first use, sentences in the order of their passage.
    let mut order: Vec<usize> = Vec::new();
    for candidate in chosen.iter().filter_map(|index| candidates.get(*index)) {
        if !order.contains(&candidate.passage) {
            order.push(candidate.passage);
        }
    }
    let mut chosen: Vec<&Candidate> = chosen.iter().filter_map(|index| candidates.get(*index)).collect();
    chosen.sort_by_key(|one| (order.iter().position(|passage| *passage == one.passage), one.place));
    chosen
        .into_iter()
        .map(|one| Statement { text: one.sentence.text.clone(), passages: vec![one.passage] })
        .collect()
}

fn candidates(passages: &[Passage], stems: &Stems) -> Vec<Candidate> {
    let of_passage = |(passage, content): (usize, &Passage)| {
        let title = Rc::new(stems.terms(&content.title));
        let all = sentences(&content.text);
        let terms: Vec<BTreeSet<String>> = all.iter().map(|one| stems.terms_and_verbs(&one.text)).collect();
        let under = |one: &Sentence| terms.get(one.under.clone()).unwrap_or_default();
        let headings: Vec<BTreeSet<String>> =
            all.iter().map(|one| under(one).iter().flatten().cloned().collect()).collect();
        let found = all.into_iter().zip(terms).zip(headings).enumerate();
        let candidate = |(place, ((sentence, terms), headings))| Candidate {
            passage,
            place,
            sentence,
            terms,
            headings,
            title: Rc::clone(&title),
        };
        found.map(candidate).collect::<Vec<_>>()
    };
    passages.iter().enumerate().flat_map(of_passage).collect()
}

/// Returns indices of candidates, best first.
fn choose(
    question: &str,
    passages: &[Passage],
    candidates: &[Candidate],
    stems: &Stems,
    bounds: Bounds,
) -> Vec<usize> {
    let question = Question::new(question, stems, candidates);
    let mut chosen: Vec<usize> = Vec::new();
    let mut too_long: Vec<usize> = Vec::new();
    // Coverage of each word by the selected candidates.
    let mut covered = vec![0.0; question.weights().len()];
    // Whether a sentence with the expected answer type has a word of the question.
    let answered = (0..candidates.len()).any(|index| question.is_met_by(index) && question.has_word(index));
    let follows = |index: usize, chosen: &[usize]| {
        let next = |one: &usize| one.abs_diff(index) == 1 && question.has_word(*one);
        chosen.iter().any(next)
    };
    let mut first = None;
    while chosen.len() < bounds.sentences {
        let open = candidates.iter().enumerate().filter(|(index, one)| {
            let seen = chosen.contains(index) || too_long.contains(index);
            !seen
                && !one.sentence.states_nothing()
                && !repeats(one, chosen.iter().filter_map(|index| candidates.get(*index)))
        });
        let open =
            open.filter(|(index, _)| !answered || question.has_word(*index) || follows(*index, &chosen));
        let worth = open.map(|(index, one)| {
            let score = passages.get(one.passage).map_or(0.0, |passage| passage.score);
            (index, score * worth(&question, index, one, &covered))
        });
        let best = worth.max_by(|(one, a), (other, b)| a.total_cmp(b).then(other.cmp(one)));
        let Some((index, worth)) = best.filter(|(_, worth)| *worth > 0.0) else { break };
        if worth < LEAST_WORTH * *first.get_or_insert(worth) {
            break;
        }
        let added = with_antecedent(candidates, index, &chosen);
        let characters = length(candidates, chosen.iter().chain(&added));
        if characters > bounds.characters || chosen.len() + added.len() > bounds.sentences {
            too_long.push(index);
            continue;
        }
        let variants = if question.asks_for_amount() { variants(candidates, index) } else { Vec::new() };
        for index in added.into_iter().chain(variants) {
            let characters = length(candidates, chosen.iter().chain([&index]));
            if chosen.contains(&index) || chosen.len() == bounds.sentences || characters > bounds.characters {
                continue;
            }
            covered.iter_mut().zip(question.scores(index)).for_each(|(all, one)| *all = all.max(*one));
            chosen.push(index);
        }
    }
    chosen
}

/// Returns the score of the candidate at `index`, given the `covered` share of each word.
fn worth(question: &Question, index: usize, candidate: &Candidate, covered: &[f32]) -> f32 {
    let scores = question.weights().iter().zip(question.scores(index)).zip(covered);
    let words: f32 = scores
        .map(|((weight, now), covered)| {
            let new = (now - covered).max(0.0);
            weight * (new + AGAIN * (now - new))
        })
        .sum();
    let met = question.is_met_by(index);
    let titled = if met { TITLED * question.titled(index) } else { 0.0 };
    if words + titled == 0.0 {
        return 0.0;
    }
    let answers = if met { ASKED + titled } else { 0.0 };
    let whole = if candidate.sentence.whole { 1.0 } else { BROKEN };
    whole * (words + answers)
}

/// Returns whether `candidate` duplicates one of `others`.
fn repeats<'a>(candidate: &Candidate, mut others: impl Iterator<Item = &'a Candidate>) -> bool {
    others.any(|other| {
        let common = candidate.terms.intersection(&other.terms).count() as f32;
        let all = candidate.terms.union(&other.terms).count().max(1) as f32;
        common / all >= SAME
    })
}

/// Returns a sentence with its antecedent, if it is anaphoric, and with the exception that follows it.
fn with_antecedent(candidates: &[Candidate], index: usize, chosen: &[usize]) -> Vec<usize> {
    let mut added = vec![index];
    let Some(candidate) = candidates.get(index) else { return added };
    let before = index.checked_sub(1).filter(|before| {
        let same = candidates.get(*before).is_some_and(|one| {
            one.passage == candidate.passage && one.sentence.whole && !one.sentence.text.starts_with('#')
        });
        same && !chosen.contains(before)
    });
    if let Some(before) = before
        && refers_back(&candidate.sentence.text)
    {
        added.insert(0, before);
    }
    let after = candidates.get(index + 1).filter(|after| after.passage == candidate.passage);
    let excepts = after.is_some_and(|after| is_exception(&after.sentence.text));
    added.extend((excepts && !chosen.contains(&(index + 1))).then_some(index + 1));
    added
}

/// Returns whether `sentence` refers to the previous one: "Er kostet ...", "Reicht auch das nicht, ...".
fn refers_back(sentence: &str) -> bool {
    let words: Vec<String> = words(sentence).take(FIRST).collect();
    let bare = words.windows(2).any(
        |pair| matches!(pair, [one, next] if BARE.contains(&one.as_str()) && BEHIND_BARE.contains(&next.as_str())),
    );
    bare || words.first().is_some_and(|first| POINTING.contains(&first.as_str()))
}

/// Returns the neighbours of the candidate at `index` that name the price for other groups.
fn variants(candidates: &[Candidate], index: usize) -> Vec<usize> {
    let are = |one: usize, other: usize| {
        let (Some(one), Some(other)) = (candidates.get(one), candidates.get(other)) else { return false };
        let near = one.passage == other.passage && one.sentence.under == other.sentence.under;
        near && is_variant(&one.sentence.text, &other.sentence.text)
    };
    let before = (0..index).rev().take_while(|place| are(place + 1, *place));
    let after = (index + 1..candidates.len()).take_while(|place| are(place - 1, *place));
    before.chain(after).collect()
}

/// Returns the continuation of an answer's `only` sentence: how, where or until when.
fn continuation(candidates: &[Candidate], only: usize, bounds: Bounds) -> Option<usize> {
    let (next, passage) = (only + 1, candidates.get(only)?.passage);
    let continues = candidates.get(next).is_some_and(|one| {
        one.passage == passage
            && one.sentence.whole
            && !one.sentence.heading
            && !one.sentence.states_nothing()
    });
    let fits = bounds.sentences > 1 && length(candidates, [only, next].iter()) <= bounds.characters;
    (continues && fits).then_some(next)
}

/// Returns the first whole sentences of the best passage, which matched by meaning and not by words.
fn lead(candidates: &[Candidate], bounds: Bounds) -> Vec<usize> {
    let Some(best) = candidates.first().map(|one| one.passage) else { return Vec::new() };
    let of_best = || {
        let own = candidates.iter().enumerate();
        own.filter(|(_, one)| one.passage == best && !one.sentence.states_nothing())
    };
    let whole: Vec<usize> = of_best().filter(|(_, one)| one.sentence.whole).map(|(index, _)| index).collect();
    let from = if whole.is_empty() { of_best().map(|(index, _)| index).collect() } else { whole };
    let mut taken: Vec<usize> = Vec::new();
    for index in from.into_iter().take(LEAD.min(bounds.sentences)) {
        if length(candidates, taken.iter().chain([&index])) > bounds.characters {
            break;
        }
        taken.push(index);
    }
    taken
}

fn length<'a>(candidates: &[Candidate], chosen: impl Iterator<Item = &'a usize>) -> usize {
    let texts = chosen.filter_map(|index| candidates.get(*index));
    texts.map(|one| one.sentence.text.chars().count() + 1).sum()
}
