//! `bulkhead kb search`

use bulkhead_knowledge::Passage;
use serde_json::json;

use super::{Place, question::Asker};
use crate::{cli::output, distribution::Distribution};

/// Characters of a passage that are shown to people.
const SHOWN: usize = 200;

/// Searches.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Search {
    #[command(flatten)]
    place: Place,
    /// What is asked.
    #[arg(value_parser = asked)]
    question: String,
    /// Most passages.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=50))]
    limit: u8,
    /// Only documents that are for one of these categories, or for all.
    #[arg(long = "category", value_name = "NAME")]
    categories: Vec<String>,
}

impl Search {
    pub(super) async fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        let asker = Asker::open(&self.place.config(distribution)?).await?;
        let found = asker.ask(&self.question, self.categories, usize::from(self.limit)).await?;
        if self.place.json {
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

fn asked(text: &str) -> Result<String, String> {
    let asks = text.chars().any(char::is_alphanumeric);
    asks.then(|| text.to_owned()).ok_or_else(|| "ask something: it has no word".to_owned())
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
