mod embedding;

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};

use super::Configuration;
use crate::{config::Flag, host::Host, http::lifecycle::Signals, telemetry};

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

    pub(super) fn run(self) -> anyhow::Result<()> {
        let loaded = self.configuration.load(self.flags())?;
        telemetry::logs::init(loaded.config.log)?;
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut signals = Signals::install()?;
            let host = tokio::select! {
                host = Host::start(loaded.config) => host?,
                signal = signals.next() => anyhow::bail!("{signal} while starting"),
            };
            let signal = signals.next().await;
            tracing::info!(signal, "draining; a second signal ends at once");
            tokio::select! {
                () = host.stop() => Ok(()),
                signal = signals.next() => anyhow::bail!("{signal} while draining, requests in flight are lost"),
            }
        })
    }
}
