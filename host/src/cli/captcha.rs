use std::{fs, path::PathBuf};

use anyhow::Context as _;
use clap::Subcommand;

use super::output;
use crate::{config::import_application_yml, telemetry::logs};

/// `bulkhead captcha`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Turn captchaservice's application.yml into a Bulkhead configuration on standard output; what
    /// cannot be carried over, and what to look at, goes to standard error.
    Import {
        /// The application.yml.
        file: PathBuf,
    },
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let Self::Import { file } = self;
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let imported = import_application_yml(&text)?;
        for note in &imported.notes {
            logs::end(&format!("{note}\n"));
        }
        Ok(output::text(imported.toml)?)
    }
}
