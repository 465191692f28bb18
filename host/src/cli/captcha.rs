//! `bulkhead captcha`: sites, and the way from captchaservice.

mod import;
mod site;

use std::path::PathBuf;

use clap::Subcommand;

/// `bulkhead captcha`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add, list and remove sites and rotate their secrets, in the configuration file and on the running host.
    #[command(subcommand)]
    Site(site::Command),
    /// Turn captchaservice's configuration into a Bulkhead configuration on standard output; what cannot be carried over,
    /// and what to look at, goes to standard error. The result is checked like `bulkhead config check` does.
    Import {
        /// The application.yml or application.properties.
        file: PathBuf,
    },
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Site(command) => command.run(),
            Self::Import { file } => import::run(&file),
        }
    }
}
