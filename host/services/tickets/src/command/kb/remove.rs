//! `bulkhead kb remove`: removes a source from the knowledge base.

use bulkhead_cli::output;
use bulkhead_config::HostSpec;
use bulkhead_knowledge::Mode;
use serde_json::json;

use super::{KnowledgeArgs, open};

/// Arguments of `bulkhead kb remove`.
#[derive(Debug, clap::Args)]
pub(in crate::command) struct Remove {
    #[command(flatten)]
    args: KnowledgeArgs,
    /// The source's name, as `bulkhead kb info` lists it.
    source: String,
}

impl Remove {
    pub(super) async fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        let config = self.args.config(spec)?;
        // Fails if there is no base; opening it to write would make one.
        open(&config, Mode::Read).await?;
        let base = open(&config, Mode::Write).await?;
        let removed = base.remove(&self.source).await?;
        if self.args.json {
            let removed = json!({
                "source": removed.name,
                "documents": removed.documents,
                "passages": removed.passages,
            });
            return Ok(output::json(&removed)?);
        }
        output::line(format_args!("{}", removed.name))?;
        output::line(format_args!("{:7} documents removed", removed.documents))?;
        output::line(format_args!("{:7} passages removed", removed.passages))?;
        Ok(())
    }
}
