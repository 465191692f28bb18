use clap::Subcommand;

use super::{Configuration, output};
use crate::config;

/// `bulkhead config`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print every problem of the configuration at once, with its line; nothing is started.
    Check(Configuration),
    /// Print every key with its default, as a Markdown table.
    Reference,
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Check(configuration) => {
                let loaded = configuration.load(Vec::new())?;
                for warning in &loaded.warnings {
                    output::line(format_args!("warning: {warning}"))?;
                }
                output::line("the configuration is good")?;
            }
            Self::Reference => {
                output::line("| key | default | unit | meaning |\n| --- | --- | --- | --- |")?;
                for key in config::reference() {
                    let config::KeyDoc { path, default, unit, doc } = key;
                    output::line(format_args!("| `{path}` | {default} | {unit} | {doc} |"))?;
                }
            }
        }
        Ok(())
    }
}
