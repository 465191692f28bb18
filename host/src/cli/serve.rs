mod embedding;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use clap::{Args, ValueEnum};

use super::{Configuration, exit::CutOff};
use crate::{
    config::{Flag, Loaded, Problems},
    deploy::ConfigSource,
    host::Host,
    http::lifecycle::{Drain, HangUps, Signals},
    telemetry::{self, one_line},
};

/// `bulkhead serve`.
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    configuration: Configuration,
    /// Bring a demonstration site, so that the first request shows something.
    #[arg(long)]
    demo: bool,
    /// Address of the shared listener [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Address of the operators' listener [default: 127.0.0.1:9901].
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<SocketAddr>,
    /// Folder for databases, generated secrets and compiled code.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Form of log lines on standard error.
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// The least important level that is logged.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevel>,
    #[command(flatten)]
    embedding: embedding::Flags,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Human,
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

fn name<T: ValueEnum>(value: T) -> Option<String> {
    value.to_possible_value().map(|value| value.get_name().to_owned())
}

impl Serve {
    fn flags(&self) -> Vec<Flag> {
        let values = [
            ("--demo", "demo", self.demo.then(|| "true".to_owned())),
            ("--listen", "server.listen", self.listen.map(|address| address.to_string())),
            ("--admin-listen", "server.admin_listen", self.admin_listen.map(|address| address.to_string())),
            ("--data-dir", "data_dir", self.data_dir.as_ref().map(|folder| folder.display().to_string())),
            ("--log-format", "log.format", self.log_format.and_then(name)),
            ("--log-level", "log.level", self.log_level.and_then(name)),
        ];
        let values = values.into_iter().filter_map(|(name, path, value)| {
            Some(Flag { name: name.into(), path: path.into(), value: value? })
        });
        values.chain(self.embedding.flags()).collect()
    }

    /// Reads the configuration as at the start: the file anew, the same environment and flags.
    fn source(&self, flags: Vec<Flag>) -> ConfigSource {
        let configuration = self.configuration.clone();
        Arc::new(move || -> Result<Loaded, Problems> { configuration.read(flags.clone()) })
    }

    pub(super) fn run(self) -> anyhow::Result<()> {
        let flags = self.flags();
        let loaded = self.configuration.read(flags.clone())?;
        telemetry::logs::init(loaded.config.log)?;
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let (mut signals, mut hang_ups) = (Signals::install()?, HangUps::install()?);
            let source = self.source(flags);
            let host = tokio::select! {
                host = Host::start_reloading(loaded, Some(source)) => host?,
                signal = signals.next() => anyhow::bail!("{signal} while starting"),
            };
            let signal = loop {
                tokio::select! {
                    signal = signals.next() => break signal,
                    () = hang_ups.next() => reload(&host).await,
                }
            };
            tracing::info!(signal, "draining; a second signal ends at once");
            tokio::select! {
                drain = host.stop() => match drain {
                    Drain::Complete => Ok(()),
                    Drain::CutOff => Err(CutOff.into()),
                },
                signal = signals.next() => anyhow::bail!("{signal} while draining, requests in flight are lost"),
            }
        })
    }
}

/// Reads the configuration anew, as SIGHUP asks; the log says what came of it.
async fn reload(host: &Host) {
    if let Err(error) = host.reload("SIGHUP", "").await {
        tracing::error!(error = one_line(&error), "the configuration has been read and stays as it was");
    }
}
