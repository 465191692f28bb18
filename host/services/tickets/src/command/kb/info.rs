//! `bulkhead kb info`: shows what the knowledge base holds.

use bulkhead_cli::output;
use bulkhead_config::HostSpec;
use bulkhead_knowledge::Mode;
use serde_json::json;

use super::{KnowledgeArgs, open};

/// Arguments of `bulkhead kb info`.
#[derive(Debug, clap::Args)]
pub(in crate::command) struct Info {
    #[command(flatten)]
    args: KnowledgeArgs,
}

impl Info {
    pub(super) async fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        let base = open(&self.args.config(spec)?, Mode::Read).await?;
        let (sources, counts, provenance) = (base.sources().await?, base.count().await?, base.provenance());
        if self.args.json {
            let sources = sources.iter().map(|source| {
                json!({ "name": source.name, "documents": source.documents, "passages": source.passages })
            });
            return Ok(output::json(&json!({
                "sources": sources.collect::<Vec<_>>(),
                "documents": counts.documents,
                "passages": counts.passages,
                "provenance": provenance,
            }))?);
        }
        for (count, thing) in
            [(counts.sources, "source"), (counts.documents, "document"), (counts.passages, "passage")]
        {
            output::line(output::counted(count, thing))?;
        }
        for source in sources {
            let documents = output::counted(source.documents, "document");
            output::line(format_args!("{documents} from {}", source.name))?;
        }
        match provenance {
            Some(provenance) => output::line(format_args!("embedded with {provenance}"))?,
            None => output::line("nothing is embedded yet")?,
        }
        Ok(())
    }
}
