use clap::Subcommand;

use super::Configuration;
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
                    println!("warning: {warning}");
                }
                println!("the configuration is good");
            }
            Self::Reference => {
                println!("| key | default | unit | meaning |\n| --- | --- | --- | --- |");
                for key in config::reference() {
                    println!("| `{}` | {} | {} | {} |", key.path, key.default, key.unit, key.doc);
                }
            }
        }
        Ok(())
    }
}
