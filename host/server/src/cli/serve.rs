//! `bulkhead serve`: runs the host until a signal ends it.

mod unit;

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    path::PathBuf,
    sync::Arc,
};

use bulkhead_cli::{
    Configuration,
    exit::{CommandFailure, Exit, RequestsLost},
};
use bulkhead_config::{Flag, HostSpec, Loaded, Problems};
use bulkhead_http::lifecycle::{Drain, HangUps, Signals};
use bulkhead_rollout::ConfigSource;
use bulkhead_telemetry::{logs, one_line};
use clap::{Args, ValueEnum};

use self::unit::ServiceUnit;
use crate::{
    distribution::Distribution,
    host::{Host, install},
};

/// Arguments of `bulkhead serve`.
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    configuration: Configuration,
    /// Add a demonstration to each service, and a start page, so that the first request shows something.
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
    /// Format of log lines on standard error.
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// The least important level that is logged.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevel>,
    /// Host name or address of the shared listener, instead of --listen.
    #[arg(long, value_name = "HOST", value_parser = resolve, conflicts_with = "listen")]
    host: Option<IpAddr>,
    /// Port of the shared listener, instead of --listen.
    #[arg(long, short_alias = 'p', value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// Certificate chain of the public listeners (PEM file). A renewed file is loaded without a restart.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM file).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// End with the reason if a slot has no component that may answer once the host has started.
    #[arg(long, hide = true)]
    needs_components: bool,
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

fn resolve(host: &str) -> Result<IpAddr, String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = (bare, 0).to_socket_addrs().map_err(|error| error.to_string())?.next();
    found.map(|address| address.ip()).ok_or_else(|| "has no address".to_owned())
}

impl Serve {
    fn flags(&self) -> Vec<Flag> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let values = [
            ("--demo", "demo", self.demo.then(|| "true".to_owned())),
            ("--listen", "server.listen", self.listen.map(|address| address.to_string())),
            ("--admin-listen", "server.admin_listen", self.admin_listen.map(|address| address.to_string())),
            ("--data-dir", "data_dir", path(&self.data_dir)),
            ("--log-format", "log.format", self.log_format.and_then(name)),
            ("--log-level", "log.level", self.log_level.and_then(name)),
            ("--host", "server.listen.host", self.host.map(|host| host.to_string())),
            ("--port", "server.listen.port", self.port.map(|port| port.to_string())),
            ("--tls-cert", "server.tls.cert", path(&self.tls_cert)),
            ("--tls-key", "server.tls.key", path(&self.tls_key)),
        ];
        let values = values.into_iter().filter_map(|(name, path, value)| {
            Some(Flag { name: name.into(), path: path.into(), value: value? })
        });
        values.collect()
    }

    /// Returns what reads the configuration again for a reload: the file, and the environment and flags of the start.
    fn source(&self, spec: HostSpec, flags: Vec<Flag>) -> ConfigSource {
        let configuration = self.configuration.clone();
        Arc::new(move || -> Result<Loaded, Problems> { configuration.read(&spec, flags.clone()) })
    }

    /// Serves a binary's services until a signal ends it. `of_services` has the keys that flags of services set.
    pub(super) fn run(self, distribution: &Distribution, of_services: Vec<Flag>) -> anyhow::Result<()> {
        let flags: Vec<Flag> = self.flags().into_iter().chain(of_services).collect();
        let spec = distribution.spec();
        let mut loaded = self.configuration.read(&spec, flags.clone())?;
        logs::init(loaded.config.log)?;
        if install::complete_interrupted(distribution.services, &loaded.config) {
            loaded = self.configuration.read(&spec, flags.clone())?;
        }
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let (mut signals, mut hang_ups) = (Signals::install()?, HangUps::install()?);
            let unit = ServiceUnit::of_process();
            let source = self.source(spec, flags);
            let host = tokio::select! {
                host = Host::start_reloading(distribution, loaded, Some(source)) => host?,
                signal = signals.next() => anyhow::bail!("{signal} while starting"),
            };
            let signal = tokio::select! {
                signal = until_signal(&mut signals, &mut hang_ups, &host, &unit) => signal,
                never = unit.watch(&host) => match never {},
                text = until_refused(&host), if self.needs_components => {
                    unit.stopping();
                    host.stop().await;
                    return Err(CommandFailure { exit: Exit::Refused, text }.into());
                }
            };
            unit.stopping();
            tracing::info!(signal, "draining; a second signal stops the host at once");
            tokio::select! {
                drain = host.stop() => match drain {
                    Drain::Complete => Ok(()),
                    Drain::CutOff => Err(RequestsLost.into()),
                },
                signal = signals.next() => anyhow::bail!("{signal} while draining, requests in flight are lost"),
            }
        })
    }
}

/// Reloads the configuration at every SIGHUP once the host has started, until a signal ends the process, and returns that
/// signal's name. A reload that runs then is given up: it may compile for minutes, and the next start reads the configuration.
async fn until_signal(
    signals: &mut Signals,
    hang_ups: &mut HangUps,
    host: &Host,
    unit: &ServiceUnit,
) -> &'static str {
    tokio::select! {
        signal = signals.next() => return signal,
        () = host.started() => unit.ready(host),
    }
    loop {
        tokio::select! {
            signal = signals.next() => return signal,
            () = hang_ups.next() => {}
        }
        unit.reloading();
        tokio::select! {
            signal = signals.next() => {
                tracing::warn!("the reload is given up, because the host stops");
                return signal;
            }
            () = reload(host) => unit.ready(host),
        }
    }
}

/// Returns which slots have no component that may answer once the host has started. Never returns where each has one.
async fn until_refused(host: &Host) -> String {
    host.started().await;
    let empty = host.empty_slots();
    if empty.is_empty() { std::future::pending().await } else { empty.join("\n") }
}

/// Reloads the configuration after SIGHUP, and logs the result.
async fn reload(host: &Host) {
    if let Err(error) = host.reload("SIGHUP", "").await {
        tracing::error!(
            error = one_line(&error),
            "the reload has failed, and the configuration stays as it was"
        );
    }
}
