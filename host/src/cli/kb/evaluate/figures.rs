//! What searching is worth, as figures.

use std::{fmt::Write as _, time::Duration};

use serde::Serialize;

/// A question, what answers it, and what was found.
#[derive(Debug, Default)]
pub struct Asked {
    /// Documents that answer it; none: nothing does.
    pub answers: Vec<String>,
    /// Documents that were found and how relevant each is, the best first.
    pub found: Vec<(String, f32)>,
    /// Time for embedding and searching.
    pub took: Duration,
}

/// Figures over many questions. A share of nothing is none.
#[derive(Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Questions.
    pub questions: usize,
    /// Those that a document answers.
    pub answerable: usize,
    /// Share of these with a right document in first place.
    pub recall_at_1: f64,
    /// Share with one among the first five.
    pub recall_at_5: f64,
    /// Share with one among the first ten.
    pub recall_at_10: f64,
    /// Mean of one over the place of the first right document.
    pub mean_reciprocal_rank: f64,
    /// Relevance below which a question is not answered.
    pub floor: f32,
    /// Share of the questions that are not answered to which there is no answer.
    pub no_answer_precision: Option<f64>,
    /// Share of the questions without an answer that are not answered.
    pub no_answer_recall: Option<f64>,
    /// Share of the answered questions whose first document answers them.
    pub answer_precision: Option<f64>,
    /// Median time of a question, milliseconds.
    pub median_ms: f64,
}

impl Figures {
    /// Figures of `asked`; questions are not answered whose best document is less relevant than `floor`.
    pub fn new(asked: &[Asked], floor: f32) -> Self {
        let answerable: Vec<&Asked> = asked.iter().filter(|one| !one.answers.is_empty()).collect();
        let ranks: Vec<Option<usize>> = answerable.iter().map(|one| one.rank()).collect();
        let within = |depth: usize| ranks.iter().flatten().filter(|rank| **rank <= depth).count();
        let all = answerable.len().max(1) as f64;
        let (declined, answered): (Vec<&Asked>, Vec<&Asked>) =
            asked.iter().partition(|one| one.best() < floor);
        let rightly = declined.iter().filter(|one| one.answers.is_empty()).count();
        let right = answered.iter().filter(|one| one.rank() == Some(1)).count();
        let mut times: Vec<Duration> = asked.iter().map(|one| one.took).collect();
        times.sort_unstable();
        Self {
            questions: asked.len(),
            answerable: answerable.len(),
            recall_at_1: within(1) as f64 / all,
            recall_at_5: within(5) as f64 / all,
            recall_at_10: within(10) as f64 / all,
            mean_reciprocal_rank: ranks.iter().flatten().map(|rank| 1.0 / *rank as f64).sum::<f64>() / all,
            floor,
            no_answer_precision: share(rightly, declined.len()),
            no_answer_recall: share(rightly, asked.len() - answerable.len()),
            answer_precision: share(right, answered.len()),
            median_ms: times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1000.0),
        }
    }

    /// The figures for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let shares = [
            ("recall@1", Some(self.recall_at_1)),
            ("recall@5", Some(self.recall_at_5)),
            ("recall@10", Some(self.recall_at_10)),
            ("mean reciprocal rank", Some(self.mean_reciprocal_rank)),
            ("no answer: precision", self.no_answer_precision),
            ("no answer: recall", self.no_answer_recall),
            ("answers: first document right", self.answer_precision),
        ];
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "{} questions, {} with an answer; floor {:.2}; median {:.1} ms",
            self.questions, self.answerable, self.floor, self.median_ms
        );
        for (name, share) in shares {
            let share = share.map_or("-".to_owned(), |share| format!("{share:.4}"));
            let _ = writeln!(text, "{name:30} {share:>8}");
        }
        text
    }
}

impl Asked {
    /// Place of the first right document, from 1.
    fn rank(&self) -> Option<usize> {
        self.found.iter().position(|(document, _)| self.answers.contains(document)).map(|place| place + 1)
    }

    /// Relevance of the most relevant document.
    fn best(&self) -> f32 {
        self.found.iter().map(|(_, score)| *score).fold(0.0, f32::max)
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
