//! `bulkhead kb evaluate`: measures the search on questions whose answers are known.

use std::{collections::BTreeSet, fs, path::PathBuf};

use anyhow::Context as _;
use bulkhead_cli::{output, share};
use bulkhead_config::HostSpec;
use bulkhead_knowledge::evaluation::{Run, questions};

use super::{KnowledgeArgs, question::Searcher};
use crate::config::TicketSettings;

/// How many missing documents an error names at most.
const MOST_SHOWN: usize = 5;

/// Arguments of `bulkhead kb evaluate`.
#[derive(Debug, clap::Args)]
pub(in crate::command) struct Evaluate {
    #[command(flatten)]
    args: KnowledgeArgs,
    /// Questions, a JSON object a line: `{"question": ..., "answers": [ids of the documents that answer it]}`. Without
    /// ids, no document answers it.
    questions: PathBuf,
    /// Relevance below which a question is not answered, percent [default: tickets.knowledge.floor_percent].
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    floor: Option<u8>,
    /// Fail if recall@5 is lower, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    fail_under_recall: Option<f64>,
    /// Fail if the precision of not answering is lower, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    fail_under_precision: Option<f64>,
}

impl Evaluate {
    pub(super) async fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        let config = self.args.config(spec)?;
        let name = self.questions.display();
        let text = fs::read_to_string(&self.questions).with_context(|| format!("cannot read {name}"))?;
        let asked = questions(&text).with_context(|| name.to_string())?;
        let searcher = Searcher::open(&config).await?;
        let known = searcher.base.documents().await?;
        let unknown: BTreeSet<&str> = asked
            .iter()
            .flat_map(|question| &question.answers)
            .filter(|id| !known.contains(*id))
            .map(String::as_str)
            .collect();
        if !unknown.is_empty() {
            let shown: Vec<&str> = unknown.iter().take(MOST_SHOWN).copied().collect();
            let more = if unknown.len() > shown.len() { ", ..." } else { "" };
            output::stderr_line(format_args!(
                "the base has no documents with these ids, so no search finds them: {}{more}",
                shown.join(", ")
            ));
        }
        let run = Run::ask(&searcher.base, asked, Some(&searcher.embedder), searcher.reranker()).await?;
        let tickets: &TicketSettings = config.table()?;
        let floor = self.floor.unwrap_or(tickets.knowledge.floor_percent);
        let figures = run.evaluate(f32::from(floor) / 100.0);
        match self.args.json {
            true => output::json(&serde_json::to_value(&figures)?)?,
            false => output::text(figures.text())?,
        }
        let least = [
            ("recall@5", figures.recall_at_5, self.fail_under_recall),
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
