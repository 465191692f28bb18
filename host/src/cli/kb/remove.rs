//! `bulkhead kb remove`

use bulkhead_knowledge::Mode;
use serde_json::json;

use super::{Place, open};
use crate::{cli::output, distribution::Distribution};

/// Removes a source.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Remove {
    #[command(flatten)]
    place: Place,
    /// The source's name, as `bulkhead kb info` lists it.
    source: String,
}

impl Remove {
    pub(super) async fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        let config = self.place.config(distribution)?;
        // Where there is no base, none is made.
        open(&config, Mode::Read).await?;
        let base = open(&config, Mode::Write).await?;
        let removed = base.remove(&self.source).await?;
        if self.place.json {
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
