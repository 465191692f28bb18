//! Evaluation of a base on questions whose answers are known.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::base::KnowledgeBase;
use crate::embedder::Embedder;
use crate::error::Error;
use crate::search::relevance::{FEATURES, Features, Nearness, fit, nearest};
use crate::search::reranker::{Reranker, candidates, rerank};
use crate::search::{Passage, Query, ScoredPassage};

/// Passages that are looked at for each question.
const DEPTH: usize = 10;
/// Passages that relevance is fitted on, of each question.
const FITTED: usize = 5;
/// Share of "no answer" that must be right where its limit is chosen.
pub const PRECISION: f64 = 0.95;

/// A question, and the documents that answer it. Other members of its line are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// What is asked.
    pub question: String,
    /// Ids of documents, whatever their source: any of them will do; empty if none does.
    pub answers: Vec<String>,
}

/// Figures of a question set. A share of nothing is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Questions.
    pub questions: usize,
    /// Those that some document answers.
    pub answerable: usize,
    /// Share of these whose answer is found first.
    pub recall_at_1: Option<f64>,
    /// Share of them whose answer is among the first five.
    pub recall_at_5: Option<f64>,
    /// Share of them whose answer is among the first ten.
    pub recall_at_10: Option<f64>,
    /// Mean of one over the place of the first right document, of the answerable questions.
    pub mean_reciprocal_rank: Option<f64>,
    /// The floor: where no passage has this score, the answer is "no answer".
    pub floor: f32,
    /// Of the "no answer", the share that is right.
    pub no_answer_precision: Option<f64>,
    /// Of the questions without an answer, the share that gets "no answer".
    pub no_answer_recall: Option<f64>,
    /// Of the answerable questions, the share that is answered.
    pub answered: Option<f64>,
    /// Of the answered questions, the share whose first document answers them.
    pub answer_precision: Option<f64>,
    /// Median time of embedding and searching, milliseconds.
    pub median_ms: f64,
}

/// The results of a set of questions.
pub struct Run {
    results: Vec<QuestionResult>,
}

/// The result of a question.
struct QuestionResult {
    question: Question,
    scored: Vec<ScoredPassage>,
    took: Duration,
}

/// Reads questions, a JSON object a line; empty lines are skipped.
///
/// # Errors
///
/// When a line is not a question; the message has its number.
pub fn questions(lines: &str) -> Result<Vec<Question>, Error> {
    let lines = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let fault = |reason: String| Error::Question(index + 1, reason);
            let read: Question = serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
            let asks = read.question.chars().any(char::is_alphanumeric);
            asks.then_some(read).ok_or_else(|| fault("it asks nothing: there is no word in it".to_owned()))
        })
        .collect()
}

impl Run {
    /// Asks all questions; `embedder` is the base's model with its prompt for questions, `None` to search by words. What is
    /// found is ordered by `reranker`, if there is one.
    ///
    /// # Errors
    ///
    /// When a model or the base fails.
    pub async fn ask(
        base: &KnowledgeBase,
        questions: Vec<Question>,
        embedder: Option<&dyn Embedder>,
        reranker: Option<&dyn Reranker>,
    ) -> Result<Self, Error> {
        let mut results = Vec::with_capacity(questions.len());
        for question in questions {
            let since = Instant::now();
            let text = question.question.clone();
            let embedding = match embedder {
                Some(embedder) => embedder.embed(vec![text.clone()]).await.map_err(Error::Embedding)?.pop(),
                None => None,
            };
            let limit = candidates(DEPTH, reranker);
            let query = Query { text, embedding, limit, ..Query::default() };
            let found = base.search_scored(&query).await?;
            let scored = rerank(reranker, &query.text, found, DEPTH, |scored| &scored.passage).await?;
            results.push(QuestionResult { question, scored, took: since.elapsed() });
        }
        Ok(Self { results })
    }

    /// Computes the figures at a floor.
    pub fn evaluate(&self, floor: f32) -> Evaluation {
        let answerable: Vec<&QuestionResult> =
            self.results.iter().filter(|result| result.is_answerable()).collect();
        let ranks: Vec<usize> = answerable.iter().filter_map(|result| result.rank()).collect();
        let recall = |depth| share(ranks.iter().filter(|rank| **rank <= depth).count(), answerable.len());
        let reciprocal = ranks.iter().fold(0.0, |sum, rank| sum + 1.0 / *rank as f64);
        let (answered, refused): (Vec<&QuestionResult>, Vec<&QuestionResult>) =
            self.results.iter().partition(|result| result.best() >= floor);
        let rightly = refused.iter().filter(|result| !result.is_answerable()).count();
        let wrongly = refused.len() - rightly;
        let right = answered.iter().filter(|result| result.rank() == Some(1)).count();
        let mut times: Vec<Duration> = self.results.iter().map(|result| result.took).collect();
        times.sort_unstable();
        Evaluation {
            questions: self.results.len(),
            answerable: answerable.len(),
            recall_at_1: recall(1),
            recall_at_5: recall(5),
            recall_at_10: recall(10),
            mean_reciprocal_rank: (!answerable.is_empty()).then(|| reciprocal / answerable.len() as f64),
            floor,
            no_answer_precision: share(rightly, refused.len()),
            no_answer_recall: share(rightly, self.results.len() - answerable.len()),
            answered: share(answerable.len() - wrongly, answerable.len()),
            answer_precision: share(right, answered.len()),
            median_ms: times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1000.0),
        }
    }

    /// Fits the weights of the sum that separates answerable questions from others, and the least sum of an answer:
    /// below it "no answer" is right in [`PRECISION`] of the cases. That must hold for a normal distribution of the
    /// sums of both kinds too, as the few questions at the edge may be chance.
    pub fn fit_nearness(&self) -> ([f32; 2], f32) {
        let features = |result: &QuestionResult| {
            let [cosine, max_sim] = nearest(result.scored.iter().map(|scored| scored.features));
            Features { cosine, max_sim, ..Features::default() }
        };
        let examples: Vec<_> =
            self.results.iter().map(|result| (features(result), result.is_answerable())).collect();
        let (_, [of_cosine, .., of_max_sim]) = fit(&examples, [true, false, false, true]);
        let nearness = Nearness { weights: [of_cosine, of_max_sim], least: 0.0 };
        let sums = |answerable: bool| {
            let results = self.results.iter().filter(move |result| result.is_answerable() == answerable);
            let sum = |result: &QuestionResult| {
                f64::from(nearness.of(result.scored.iter().map(|scored| scored.features)))
            };
            results.map(sum).collect::<Vec<f64>>()
        };
        let (known, unknown) = (sums(true), sums(false));
        let (answerable, unanswerable) = (Normal::of(&known), Normal::of(&unknown));
        let right = |wrong: f64, right: f64| right >= PRECISION * (right + wrong);
        let is_likely = |floor: &f64| right(answerable.below(*floor), unanswerable.below(*floor));
        let below = |sums: &[f64], floor: f64| sums.iter().filter(|sum| **sum < floor).count() as f64;
        let is_so = |floor: &f64| right(below(&known, *floor), below(&unknown, *floor));
        let step = unanswerable.deviation / 1000.0;
        let floor = |steps: i32| unanswerable.mean + f64::from(steps) * step;
        let floors = (-5000..=5000).map(floor);
        // Far below both, nothing but rounding is left.
        let edge = floors.skip_while(|floor| unanswerable.below(*floor) < 0.5);
        let least = edge.take_while(is_likely).filter(is_so).last();
        (nearness.weights, least.unwrap_or(floor(-5000)) as f32)
    }

    /// Fits bias and weights (cosine, prominence, words, MaxSim) of the relevance on these questions; without
    /// `vectors` those for words alone.
    pub fn fit(&self, vectors: bool) -> (f32, [f32; FEATURES]) {
        let examples = self.results.iter().flat_map(|result| {
            let scored = result.scored.iter().take(FITTED);
            scored.map(|scored| (scored.features, result.question.answered_by(&scored.passage)))
        });
        fit(&examples.collect::<Vec<(Features, bool)>>(), [vectors, vectors, true, vectors])
    }

    /// Returns answerable questions whose answer was not among the first five.
    pub fn missed(&self) -> impl Iterator<Item = &Question> {
        let missed =
            |result: &&QuestionResult| result.is_answerable() && result.rank().is_none_or(|rank| rank > 5);
        self.results.iter().filter(missed).map(|result| &result.question)
    }
}

/// A normal distribution of so many values.
struct Normal {
    count: f64,
    mean: f64,
    deviation: f64,
}

impl Normal {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        Self { count, mean, deviation: (squares / count.max(1.0)).sqrt() }
    }

    /// Returns how many values are to be expected below `limit`, to three digits (Bowling et al. 2009).
    fn below(&self, limit: f64) -> f64 {
        let z = (limit - self.mean) / self.deviation.max(f64::EPSILON);
        self.count / (1.0 + (-0.07056 * z.powi(3) - 1.5976 * z).exp())
    }
}

impl Evaluation {
    /// Renders the figures for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "{} questions, {} with an answer; floor {:.2}; median {:.1} ms",
            self.questions, self.answerable, self.floor, self.median_ms
        );
        for (name, share) in [
            ("recall@1", self.recall_at_1),
            ("recall@5", self.recall_at_5),
            ("recall@10", self.recall_at_10),
            ("mean reciprocal rank", self.mean_reciprocal_rank),
            ("no answer: precision", self.no_answer_precision),
            ("no answer: recall", self.no_answer_recall),
            ("answered, of those with an answer", self.answered),
            ("answers: first document right", self.answer_precision),
        ] {
            let share = share.map_or("-".to_owned(), |share| format!("{share:.4}"));
            let _ = writeln!(text, "{name:34} {share:>8}");
        }
        text
    }
}

impl Question {
    fn answered_by(&self, passage: &Passage) -> bool {
        self.answers.contains(&passage.document)
    }
}

impl QuestionResult {
    fn is_answerable(&self) -> bool {
        !self.question.answers.is_empty()
    }

    /// Returns the place of the first right document, from 1.
    fn rank(&self) -> Option<usize> {
        let right = self.scored.iter().position(|scored| self.question.answered_by(&scored.passage));
        right.map(|place| place + 1)
    }

    /// Returns the highest score, 0 if nothing was found.
    fn best(&self) -> f32 {
        self.scored.iter().map(|scored| scored.passage.score).fold(0.0, f32::max)
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
