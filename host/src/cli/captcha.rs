use std::{fs, path::PathBuf};

use anyhow::Context as _;
use clap::Subcommand;

use crate::config::import_application_yml;

/// `bulkhead captcha`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Turn captchaservice's application.yml into a Bulkhead configuration on standard output; what
    /// cannot be carried over goes to standard error.
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
        for left in &imported.left_out {
            eprintln!("not carried over: {left}");
        }
        print!("{}", imported.toml);
        Ok(())
    }
}
