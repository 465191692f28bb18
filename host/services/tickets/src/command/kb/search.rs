//! `bulkhead kb search`: searches the knowledge base.

use bulkhead_cli::output;
use bulkhead_config::HostSpec;
use bulkhead_knowledge::Passage;
use serde_json::json;

use super::{KnowledgeArgs, question::Searcher};

/// Characters of a passage that are shown to people.
const SHOWN: usize = 200;

/// Arguments of `bulkhead kb search`.
#[derive(Debug, clap::Args)]
pub(in crate::command) struct Search {
    #[command(flatten)]
    args: KnowledgeArgs,
    /// The question.
    #[arg(value_parser = parse_question)]
    question: String,
    /// Maximum of passages.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=50))]
    limit: u8,
    /// Search only documents of one of these categories, and documents for all.
    #[arg(long = "category", value_name = "NAME")]
    categories: Vec<String>,
}

impl Search {
    pub(super) async fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        let searcher = Searcher::open(&self.args.config(spec)?).await?;
        let found = searcher.search(&self.question, self.categories, usize::from(self.limit)).await?;
        if self.args.json {
            return Ok(output::json(&found.iter().map(as_json).collect())?);
        }
        let several =
            found.iter().any(|passage| Some(&passage.source) != found.first().map(|first| &first.source));
        for passage in &found {
            let address = passage.url.as_deref().unwrap_or(&passage.document);
            let source = if several { format!(" (from {})", passage.source) } else { String::new() };
            output::line(format_args!("{:.3}  {}  {address}{source}", passage.score, passage.title))?;
            let text: String = passage.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let shown: String = text.chars().take(SHOWN).collect();
            output::line(format_args!("       {shown}{}", if shown.len() < text.len() { "…" } else { "" }))?;
        }
        Ok(())
    }
}

/// Reads a question, which must have a word.
fn parse_question(text: &str) -> Result<String, String> {
    let has_word = text.chars().any(char::is_alphanumeric);
    has_word.then(|| text.to_owned()).ok_or_else(|| "the question has no word; ask something".to_owned())
}

fn as_json(passage: &Passage) -> serde_json::Value {
    let Passage { id, source, document, title, url, text, language, categories, score } = passage;
    json!({
        "id": id,
        "source": source,
        "document": document,
        "title": title,
        "url": url,
        "text": text,
        "language": language,
        "categories": categories,
        "score": score,
    })
}
