//! What a base is worth, measured on questions whose answers are known.

#[cfg(test)]
mod tests;

use serde::Deserialize;

use crate::base::KnowledgeBase;
use crate::embedder::Embedder;
use crate::error::Error;
use crate::relevance::{Features, fit};
use crate::search::{Passage, Query, Rated};

/// Passages that are looked at for each question.
pub const DEPTH: usize = 5;
/// Share of "no answer" that must be right where a floor is chosen.
pub const PRECISION: f64 = 0.95;
/// Questions that are embedded at once.
const BATCH: usize = 32;

/// A question, and the documents that answer it. Other members of its line are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// What is asked.
    pub question: String,
    /// Ids of documents: any of them will do; empty if none does.
    pub answers: Vec<String>,
}

/// Figures of a question set.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evaluation {
    /// Questions that some document answers, and that none does.
    pub answerable: usize,
    /// Questions without an answer.
    pub unanswerable: usize,
    /// Share of the answerable ones whose answer is found first.
    pub recall_at_1: f64,
    /// Share of the answerable ones whose answer is among the first five.
    pub recall_at_5: f64,
    /// The floor: where no passage has this score, the answer is "no answer".
    pub floor: f32,
    /// Of the "no answer", the share that is right; 1 if there is none.
    pub no_answer_precision: f64,
    /// Of the questions without an answer, the share that gets "no answer".
    pub no_answer_recall: f64,
    /// Of the answerable questions, the share that is answered.
    pub answered: f64,
}

/// What was found for a set of questions.
pub struct Run {
    found: Vec<(Question, Vec<Rated>)>,
}

/// Reads questions, a JSON object a line; empty lines are skipped.
///
/// # Errors
///
/// When a line is no question; the message has its number.
pub fn questions(lines: &str) -> Result<Vec<Question>, Error> {
    let lines = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|fault| Error::Question(index + 1, fault.to_string()))
        })
        .collect()
}

impl Run {
    /// Asks all questions; `embedder` is the base's model with its prompt for questions, `None` to search by words.
    ///
    /// # Errors
    ///
    /// When the model or the base fails.
    pub async fn ask(
        base: &KnowledgeBase,
        questions: Vec<Question>,
        embedder: Option<&dyn Embedder>,
    ) -> Result<Self, Error> {
        let mut found = Vec::with_capacity(questions.len());
        for batch in questions.chunks(BATCH) {
            let texts: Vec<String> = batch.iter().map(|question| question.question.clone()).collect();
            let vectors = match embedder {
                Some(embedder) => {
                    let vectors = embedder.embed(texts.clone()).await.map_err(Error::Embedding)?;
                    vectors.into_iter().map(Some).collect()
                }
                None => vec![None; batch.len()],
            };
            for ((question, text), vector) in batch.iter().zip(texts).zip(vectors) {
                let query = Query { text, vector, categories: Vec::new(), limit: DEPTH };
                found.push((question.clone(), base.rated(&query).await?));
            }
        }
        Ok(Self { found })
    }

    /// The figures at a floor.
    pub fn evaluate(&self, floor: f32) -> Evaluation {
        let (answerable, unanswerable): (Vec<_>, Vec<_>) =
            self.found.iter().partition(|(question, _)| !question.answers.is_empty());
        let share = |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
        let recall = |depth| {
            let right = answerable.iter().filter(|(question, rated)| {
                rated.iter().take(depth).any(|rated| answers(question, &rated.passage))
            });
            share(right.count(), answerable.len())
        };
        let answered = |found: &[&(Question, Vec<Rated>)]| {
            found.iter().filter(|(_, rated)| best(rated) >= floor).count()
        };
        let (kept, let_through) = (answered(&answerable), answered(&unanswerable));
        let refused = unanswerable.len() - let_through;
        Evaluation {
            answerable: answerable.len(),
            unanswerable: unanswerable.len(),
            recall_at_1: recall(1),
            recall_at_5: recall(DEPTH),
            floor,
            no_answer_precision: share(refused, refused + answerable.len() - kept),
            no_answer_recall: share(refused, unanswerable.len()),
            answered: share(kept, answerable.len()),
        }
    }

    /// The highest floor at which "no answer" is right in [`PRECISION`] of the cases: chosen on development
    /// questions, it is what others are measured at.
    pub fn floor(&self) -> f32 {
        let scores = self.found.iter().map(|(_, rated)| best(rated));
        let right = scores.filter(|floor| self.evaluate(*floor).no_answer_precision >= PRECISION);
        right.fold(0.0, f32::max)
    }

    /// Bias and weights (cosine, BM25, overlap, title) of the relevance that these questions teach; without
    /// `vectors` those for words alone.
    pub fn fit(&self, vectors: bool) -> (f32, [f32; 4]) {
        let examples = self.found.iter().flat_map(|(question, rated)| {
            rated.iter().map(move |rated| (rated.features, answers(question, &rated.passage)))
        });
        fit(&examples.collect::<Vec<(Features, bool)>>(), [vectors, true, true, true])
    }

    /// Answerable questions whose answer was not among the first five.
    pub fn missed(&self) -> impl Iterator<Item = &Question> {
        let missed = self.found.iter().filter(|(question, rated)| {
            !question.answers.is_empty() && !rated.iter().any(|rated| answers(question, &rated.passage))
        });
        missed.map(|(question, _)| question)
    }
}

fn answers(question: &Question, passage: &Passage) -> bool {
    question.answers.contains(&passage.document)
}

/// The highest score, 0 if nothing was found.
fn best(rated: &[Rated]) -> f32 {
    rated.iter().map(|rated| rated.passage.score).fold(0.0, f32::max)
}
