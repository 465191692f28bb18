//! The search: rankings by words and by vectors, fused into one order.

pub(crate) mod late_interaction;
pub(crate) mod relevance;
pub(crate) mod reranker;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::embedder::Embedding;
use crate::embedder::provenance::Provenance;
use crate::error::Error;
use crate::index::{Index, Neighbours, cosine};
use crate::store::{FoundPassage, Snapshot};
use crate::text::items::{self, ScoredItem};
use crate::text::words;
use late_interaction::QuestionTokens;
use relevance::{Evidence, Features, Parameters};

/// How many passages each way of searching proposes.
const CANDIDATES: usize = 50;
/// Most passages that are given.
const MAX_LIMIT: usize = CANDIDATES;
/// How many passages the database proposes for the order by words.
const PROPOSED: usize = 200;
/// Most terms that are searched for, the rarest ones.
const MAX_TERMS: usize = 128;
/// Passages that may hold the terms searched for, beyond those of the rarest one: a database scores each of them, at
/// 1 µs apiece in SQLite. More common words count in the order, but propose nothing.
const MAX_MATCHES: u32 = 1000;
/// Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): how little the first rank outweighs the next ones.
/// The smaller, the surer the first of one ranking is among the first of all. Chosen, as the next, on the
/// development questions.
const RANK_OFFSET: f32 = 3.0;
/// Weight of the rankings by nearness within one language; those by words and by nearness have 1.
const LANGUAGE_WEIGHT: f32 = 0.5;
/// Weight of the ranking by MaxSim.
const MAX_SIM_WEIGHT: f32 = 2.0;
/// What the nearness of the title and that of the best item count against the passage's, where there is no MaxSim. Chosen,
/// as the next, on other people's questions.
const TITLE_WEIGHT: f32 = 0.5;
const ITEM_WEIGHT: f32 = 0.5;
/// What the most shared words count against a cosine: they decide between passages that are about as near.
const WORDS_WEIGHT: f32 = 0.03;
/// How many passages are compared with the question word by word, however few are wanted.
const COMPARED: usize = 20;

/// A question to the base.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// What is asked.
    pub text: String,
    /// Its embedding by the base's model with the prompt for questions; `None` to search by words alone.
    pub embedding: Option<Embedding>,
    /// The model that made the embedding: the base refuses another model than its own; `None` for no check.
    pub provenance: Option<Provenance>,
    /// Categories of which a passage's document has one, unless it has no category; empty for no filter.
    pub categories: Vec<String>,
    /// Most passages, at most 50.
    pub limit: usize,
}

/// A passage that may answer a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Its own id, the same as long as its text is.
    pub id: String,
    /// The name of the source that its document came from.
    pub source: String,
    /// Its document's id in that source.
    pub document: String,
    /// Its document's title.
    pub title: String,
    /// Where people read the document.
    pub url: Option<String>,
    /// Plain text.
    pub text: String,
    /// ISO 639-1 code.
    pub language: Option<String>,
    /// Categories that the document is for; empty for all.
    pub categories: Vec<String>,
    /// Calibrated probability that the passage answers the question, 0..1. Without a vector, and for models that
    /// nothing was fitted for, it comes from the words alone. 0 if nothing that was found is near the question.
    pub score: f32,
}

/// A passage with its items.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageItems {
    /// The passage.
    pub passage: Passage,
    /// Its items in order; empty where the question has no vector.
    pub items: Vec<ScoredItem>,
}

/// A passage with its features.
#[derive(Debug, Clone)]
pub(crate) struct ScoredPassage {
    pub passage: Passage,
    pub features: Features,
    pub item_vectors: Vec<u8>,
}

/// Returns the best passages of the state that `snapshot` sees and `index` holds, best first, one a document.
pub(crate) async fn search(
    snapshot: &mut Snapshot,
    index: &Arc<Index>,
    query: &Query,
) -> Result<Vec<ScoredPassage>, Error> {
    ranked(snapshot, index, query, true).await
}

/// Returns the best passages with their items, those with the best item first, several of a document if they are
/// among the best. `sentences` are vectors of the question's sentences: an item counts by its best match with one of
/// them and with the question as a whole.
pub(crate) async fn find(
    snapshot: &mut Snapshot,
    index: &Arc<Index>,
    query: &Query,
    sentences: &[Vec<f32>],
) -> Result<Vec<PassageItems>, Error> {
    let ranked = ranked(snapshot, index, query, false).await?;
    let whole = query.embedding.iter().map(|embedding| &embedding.vector);
    let questions: Vec<Vec<f32>> = match ranked.is_empty() {
        true => Vec::new(),
        false => whole.chain(sentences).map(|vector| index.direction(vector)).collect::<Result<_, _>>()?,
    };
    let model = index.header.provenance.as_ref().map(|provenance| provenance.model.as_str());
    let nearness = Parameters::of(model).items;
    let score = move || {
        let with_items = ranked.into_iter().map(|ScoredPassage { passage, item_vectors, .. }| {
            let items = items::score(&item_vectors, &questions);
            PassageItems { passage, items }
        });
        let mut found: Vec<PassageItems> = with_items.collect();
        let best = |found: &PassageItems| found.items.iter().map(|item| item.score).fold(-1.0, f32::max);
        // A stable sort: without items the order is the passages' own.
        found.sort_by(|one, other| best(other).total_cmp(&best(one)));
        let nearest = found.iter().flat_map(|found| &found.items).map(|item| item.score).reduce(f32::max);
        let relevance = found.iter().map(|found| found.passage.score).fold(0.0, f32::max);
        if nearest.is_some_and(|item| nearness.is_far(item, relevance)) {
            found.iter_mut().for_each(|found| found.passage.score = 0.0);
        }
        found
    };
    tokio::task::spawn_blocking(score).await.map_err(|fault| Error::Task(fault.to_string()))
}

/// Returns the best passages, best first; one a document, or all of a document that are among the best.
async fn ranked(
    snapshot: &mut Snapshot,
    index: &Arc<Index>,
    query: &Query,
    one_each: bool,
) -> Result<Vec<ScoredPassage>, Error> {
    let limit = query.limit.min(MAX_LIMIT);
    if limit == 0 || index.len() == 0 {
        return Ok(Vec::new());
    }
    if query.provenance.is_some() && query.provenance != index.header.provenance {
        return Err(Error::Reembedded);
    }
    let evidence =
        Evidence::new(words::question(&query.text, index.languages.iter().map(String::as_str)), index);
    let embedding = query.embedding.as_ref();
    let direction = embedding.map(|embedding| index.direction(&embedding.vector)).transpose()?;
    let nearest = nearest(index, direction.clone(), &query.categories);
    let terms = evidence.terms(index, MAX_TERMS, MAX_MATCHES);
    let proposed = async {
        if terms.is_empty() {
            Ok(Vec::new())
        } else {
            snapshot.matches(&terms, &query.categories, PROPOSED).await
        }
    };
    let (nearest, proposed) = tokio::join!(nearest, proposed);
    let (neighbours, worded) = (nearest?, evidence.rank(proposed?, CANDIDATES));
    let question_tokens = embedding.and_then(|embedding| QuestionTokens::new(embedding.tokens.as_ref()?));
    let depth = match (&direction, &question_tokens) {
        (None, _) => limit,
        (Some(_), Some(_)) => limit.max(COMPARED),
        (Some(_), None) => CANDIDATES,
    };
    let fused = fuse(&worded, &neighbours.rankings);
    let mut fused = if one_each { one_a_document(index, fused) } else { fused };
    fused.truncate(depth);
    let numbers: Vec<i64> = fused.iter().map(|(number, _)| *number).collect();
    let mut found: HashMap<i64, FoundPassage> =
        snapshot.found(&numbers).await?.into_iter().map(|found| (found.number, found)).collect();
    let max_sim = max_sim(question_tokens, &numbers, &mut found).await?;
    add_ranking(&mut fused, &max_sim, MAX_SIM_WEIGHT);
    if let Some(direction) = direction.as_ref().filter(|_| max_sim.is_empty()) {
        order_by_nearness(&mut fused, &found, index, direction, &evidence);
    }
    let model =
        direction.as_ref().and(index.header.provenance.as_ref()).map(|provenance| provenance.model.as_str());
    let parameters = Parameters::of(model);
    let scored = fused.iter().filter_map(|(number, _)| {
        let mut found = found.remove(number)?;
        let item_vectors = std::mem::take(&mut found.vectors.items);
        let mut features = Features { words: evidence.words(&found.terms), ..Features::default() };
        if let Some(direction) = &direction {
            features.cosine = cosine(&found.vectors.text, direction);
            features.prominence = index.prominence(*number, direction, neighbours.distribution);
            let alike = max_sim.iter().find(|(other, _)| other == number);
            features.max_sim = alike.map_or(0.0, |(_, max_sim)| *max_sim);
        }
        let categories = index.document(*number).map(|document| index.categories(document).to_vec());
        let score = parameters.probability(features);
        let passage = passage(found, categories.unwrap_or_default(), score);
        Some(ScoredPassage { passage, features, item_vectors })
    });
    let mut scored: Vec<ScoredPassage> = scored.collect();
    // Nothing in the base is about the question, whatever words they share and whatever is nearest.
    if parameters.nearness.of(scored.iter().map(|scored| scored.features)) < parameters.nearness.least {
        scored.iter_mut().for_each(|scored| scored.passage.score = 0.0);
    }
    scored.truncate(limit);
    Ok(scored)
}

/// Searches by vectors off the async threads: a large base takes milliseconds.
async fn nearest(
    index: &Arc<Index>,
    direction: Option<Vec<f32>>,
    categories: &[String],
) -> Result<Neighbours, Error> {
    let Some(direction) = direction else { return Ok(Neighbours::default()) };
    let (index, categories) = (Arc::clone(index), categories.to_vec());
    let scan = move || index.nearest(&direction, &categories, CANDIDATES);
    tokio::task::spawn_blocking(scan).await.map_err(|fault| Error::Task(fault.to_string()))
}

/// A passage's number, and its score over all rankings.
type Fused = (i64, f32);

/// Returns what a place in a ranking counts.
fn vote(rank: usize) -> f32 {
    1.0 / (RANK_OFFSET + 1.0 + rank as f32)
}

/// Fuses rankings, best first, equals by number.
fn fuse(worded: &[i64], nearest: &[Vec<i64>]) -> Vec<Fused> {
    let mut scores: HashMap<i64, f32> = HashMap::new();
    let weights = [1.0, 1.0].into_iter().chain(std::iter::repeat(LANGUAGE_WEIGHT));
    for (ranking, weight) in [worded].into_iter().chain(nearest.iter().map(Vec::as_slice)).zip(weights) {
        for (rank, number) in ranking.iter().enumerate() {
            *scores.entry(*number).or_default() += weight * vote(rank);
        }
    }
    let mut fused: Vec<_> = scores.into_iter().collect();
    best_first(&mut fused);
    fused
}

fn best_first(fused_scores: &mut [Fused]) {
    fused_scores.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
}

fn one_a_document(index: &Index, fused: Vec<Fused>) -> Vec<Fused> {
    let mut seen = HashSet::new();
    let first = |(number, _): &Fused| index.document(*number).is_some_and(|document| seen.insert(document));
    fused.into_iter().filter(first).collect()
}

/// Scores the passages against the question word by word; empty without words of the question. Takes their vectors
/// out of `found`.
async fn max_sim(
    question_tokens: Option<QuestionTokens>,
    numbers: &[i64],
    found: &mut HashMap<i64, FoundPassage>,
) -> Result<Vec<Fused>, Error> {
    let Some(question_tokens) = question_tokens else { return Ok(Vec::new()) };
    let words = |number: &i64| Some((*number, std::mem::take(&mut found.get_mut(number)?.vectors.words)));
    let passages: Vec<(i64, Vec<u8>)> = numbers.iter().take(COMPARED).filter_map(words).collect();
    let compare =
        move || passages.iter().map(|(number, words)| (*number, question_tokens.max_sim(words))).collect();
    tokio::task::spawn_blocking(compare).await.map_err(|fault| Error::Task(fault.to_string()))
}

/// Orders the passages by their nearness and that of their titles and best items, each against what is usual in the
/// passage's language. Shared words decide between those that are about as near.
fn order_by_nearness(
    fused: &mut [Fused],
    found: &HashMap<i64, FoundPassage>,
    index: &Index,
    direction: &[f32],
    evidence: &Evidence,
) {
    let words = |found: &FoundPassage| evidence.bm25(&found.terms);
    let most = found.values().map(words).fold(f32::MIN_POSITIVE, f32::max);
    let question = [direction.to_vec()];
    for (number, score) in fused.iter_mut() {
        let number = *number;
        let Some(found) = found.get(&number) else { continue };
        let vectors = &found.vectors;
        let items = items::score(&vectors.items, &question);
        let item = items.iter().map(|item| item.score).fold(0.0, f32::max);
        let title = items::title_nearness(&vectors.items, direction);
        let usual = (1.0 + TITLE_WEIGHT + ITEM_WEIGHT) * index.usual_nearness(number, direction);
        let nearness = cosine(&vectors.text, direction) + TITLE_WEIGHT * title + ITEM_WEIGHT * item - usual;
        *score = nearness + WORDS_WEIGHT * words(found) / most;
    }
    best_first(fused);
}

/// Adds a ranking by `scores` to what is fused.
fn add_ranking(fused: &mut [Fused], scores: &[Fused], weight: f32) {
    let mut ranking = scores.to_vec();
    best_first(&mut ranking);
    for (number, score) in fused.iter_mut() {
        let rank = ranking.iter().position(|(other, _)| other == number);
        *score += rank.map_or(0.0, |rank| weight * vote(rank));
    }
    best_first(fused);
}

fn passage(found: FoundPassage, categories: Vec<String>, score: f32) -> Passage {
    Passage {
        id: found.id,
        source: found.source,
        document: found.document,
        title: found.title,
        url: found.url,
        text: found.text,
        language: found.language,
        categories,
        score,
    }
}
