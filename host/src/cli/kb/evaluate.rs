//! `bulkhead kb evaluate`

mod figures;
#[cfg(test)]
mod tests;

use std::{fs, path::PathBuf, time::Instant};

use anyhow::Context as _;
use serde::Deserialize;

use self::figures::{Asked, Figures};
use super::{Place, question::Questions};
use crate::cli::output;

/// Documents that a search is judged by.
const DEPTH: usize = 10;

/// Evaluates searching.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Evaluate {
    #[command(flatten)]
    place: Place,
    /// Questions: a line each, `{"question": ..., "answers": [ids of documents that answer it; none: nothing does]}`.
    questions: PathBuf,
    /// Relevance below which a question is not answered, per cent [default: tickets.knowledge.floor_percent].
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    floor: Option<u8>,
    /// Fail when recall@5 is lower, 0 to 1.
    #[arg(long, value_name = "SHARE")]
    fail_under_recall: Option<f64>,
    /// Fail when the precision of not answering is lower, 0 to 1.
    #[arg(long, value_name = "SHARE")]
    fail_under_precision: Option<f64>,
}

/// A question whose answers are known.
#[derive(Debug, Deserialize)]
struct Question {
    question: String,
    answers: Vec<String>,
}

impl Evaluate {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let config = self.place.config()?;
        let text = fs::read_to_string(&self.questions)
            .with_context(|| format!("cannot read {}", self.questions.display()))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = |(number, line): (usize, &str)| {
            serde_json::from_str::<Question>(line)
                .with_context(|| format!("{} line {}", self.questions.display(), number + 1))
        };
        let asked = lines.map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let questions = Questions::open(&config).await?;
        let mut answered = Vec::with_capacity(asked.len());
        for Question { question, answers } in asked {
            let since = Instant::now();
            let found = questions.ask(&question, Vec::new(), DEPTH).await?;
            let took = since.elapsed();
            let found = found.into_iter().map(|passage| (passage.document, passage.score)).collect();
            answered.push(Asked { answers, found, took });
        }
        let floor = self.floor.unwrap_or(config.tickets.knowledge.floor_percent);
        let figures = Figures::new(&answered, f32::from(floor) / 100.0);
        match self.place.json {
            true => output::json(&serde_json::to_value(&figures)?)?,
            false => output::text(figures.text())?,
        }
        let least = [
            ("recall@5", Some(figures.recall_at_5), self.fail_under_recall),
            ("the precision of not answering", figures.no_answer_precision, self.fail_under_precision),
        ];
        for (name, figure, least) in least {
            match (figure, least) {
                (Some(figure), Some(least)) if figure < least => {
                    anyhow::bail!("{name} is {figure:.4}, it must be at least {least}")
                }
                (None, Some(least)) => anyhow::bail!("{name} is not known, it must be at least {least}"),
                _ => {}
            }
        }
        Ok(())
    }
}
