//! `bulkhead captcha`: manages sites, and imports the configuration of captchaservice.

mod import;
mod site;

use std::path::PathBuf;

use bulkhead_config::HostSpec;
use bulkhead_service::ServiceCommand;
use clap::Parser;

/// Manage captcha sites, or move to Bulkhead from captchaservice.
#[derive(Debug, Parser)]
#[command(
    name = "captcha",
    after_help = "Exit codes: 0 done; 1 failed; 2 wrong arguments; 3 no host can start from the configuration, or the \
                  running one refuses it; 5 not allowed; 6 the host has stopped answering; 7 the shared state cannot \
                  be reached."
)]
pub(super) enum Command {
    /// Add, list and remove sites and rotate their secrets, in the configuration file and on the running host.
    #[command(subcommand)]
    Site(site::Command),
    /// Convert captchaservice's configuration into a Bulkhead configuration on standard output. Keys that cannot be
    /// converted, and values to review, go to standard error. The result is checked as by `bulkhead config check`.
    Import {
        /// The file application.yml or application.properties.
        file: PathBuf,
    },
}

impl ServiceCommand for Command {
    fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        match self {
            Self::Site(command) => command.run(spec),
            Self::Import { file } => import::run(spec, &file),
        }
    }
}
