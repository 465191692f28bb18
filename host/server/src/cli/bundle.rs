//! `bulkhead bundle`: carries components, models and the configuration to a site without a network, in one signed file.

mod archive;
mod configuration;
mod export;
mod import;
mod manifest;

use std::path::PathBuf;

use bulkhead_cli::{Configuration, exit::UsageError, output};
use bulkhead_config::{Config, Flag};
use clap::{Args, Subcommand};

use crate::{distribution::Distribution, host::install};

/// What follows the name of a file in the name of its signature.
const SIGNATURE: &str = ".minisig";

/// `bulkhead bundle`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write the components that answer with their signatures, the pulled models, and the configuration without its secrets.
    /// Sign the bundle with `minisign -Sm FILE`.
    Export {
        #[command(flatten)]
        site: Site,
        /// The bundle to write.
        #[arg(long = "output", value_name = "FILE")]
        bundle: PathBuf,
    },
    /// Check a signed bundle as a whole, and then put its parts into the data folder. The next start of a host with the
    /// imported configuration serves them.
    Import {
        #[command(flatten)]
        site: Site,
        /// The bundle; its signature is beside it in FILE.minisig.
        file: PathBuf,
        /// A minisign public key that may have signed it [default: the signatures.keys of all slots].
        #[arg(long = "key", value_name = "KEY")]
        keys: Vec<String>,
    },
}

/// Names the configuration and the data folder of a site.
#[derive(Debug, Args)]
pub(super) struct Site {
    #[command(flatten)]
    configuration: Configuration,
    /// The data folder of the host.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

impl Site {
    fn config(&self, distribution: &Distribution) -> anyhow::Result<Config> {
        let flag = self.data_dir.as_ref().map(|folder| Flag {
            name: "--data-dir".into(),
            path: "data_dir".into(),
            value: folder.display().to_string(),
        });
        Ok(self.configuration.load(&distribution.spec(), flag.into_iter().collect())?.config)
    }
}

impl Command {
    pub(super) fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        match self {
            Self::Export { site, bundle } => {
                let config = site.config(distribution)?;
                let folders = install::folders(distribution.services, &config)?;
                let file = site.configuration.config.as_deref();
                let manifest = export::export(distribution, &config, &folders, file, &bundle)?;
                let (files, components) = (manifest.files.len(), manifest.components.len());
                output::line(format_args!(
                    "{} has {} and {}",
                    bundle.display(),
                    output::counted(components, "component"),
                    output::counted(files, "file")
                ))?;
                for key in &manifest.secrets {
                    output::line(format_args!("without the secret  {key}"))?;
                }
                Ok(output::line(format_args!("sign it with `minisign -Sm {}`", bundle.display()))?)
            }
            Self::Import { site, file, keys } => {
                let config = site.config(distribution)?;
                let of_slots = config.slots.all().flat_map(|slot| slot.signatures.keys.iter().cloned());
                let keys: Vec<String> = if keys.is_empty() { of_slots.collect() } else { keys };
                let signature = import::signature(&file)?;
                if keys.is_empty() {
                    return Err(
                        UsageError("name the key of the bundle's signer with --key".to_owned()).into()
                    );
                }
                let folders = install::folders(distribution.services, &config)?;
                let imported =
                    import::import(&config, &distribution.spec(), folders, &file, &signature, &keys)?;
                let components = output::counted(imported.manifest.components.len(), "component");
                let file = imported.configuration.display();
                output::line(format_args!("{components} and the configuration are in {file}"))?;
                for key in &imported.manifest.secrets {
                    output::line(format_args!("set the secret      {key}"))?;
                }
                for problem in &imported.unsettled {
                    output::line(format_args!("for the start       {problem}"))?;
                }
                Ok(output::line(format_args!("start the host with `bulkhead serve --config {file}`"))?)
            }
        }
    }
}
