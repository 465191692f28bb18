//! `bulkhead run`: serves one component as an app, without a configuration.

mod fit;
mod folder;

use std::{
    collections::BTreeSet,
    env, fs,
    net::SocketAddr,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, bail};
use bulkhead_config::HostSpec;
use bulkhead_http::lifecycle::Signals;
use bulkhead_outgoing::OutgoingOrigin;
use bulkhead_service::ServiceCommand;
use clap::Parser;
use rustix::process::{Pid, RawPid, Signal, getppid, kill_process, set_parent_process_death_signal};
use tokio::process::Child;

use self::folder::RunFolder;
use crate::spec::{IS_RUN, NAME};

/// The name of the app and of its slot.
const APP: &str = "APP";
/// Variables of the environment that reach the host: where certificate authorities are, and how the terminal is written to.
const PASSED_ON: [&str; 4] = ["SSL_CERT_FILE", "SSL_CERT_DIR", "TERM", "NO_COLOR"];
/// Time between two looks at the file.
const LOOK: Duration = Duration::from_millis(500);

/// Serve one component of `wasi:http/proxy` at every path, without a configuration. Its log goes to the terminal.
#[derive(Debug, Parser)]
#[command(name = "run")]
pub(crate) struct Command {
    /// The component.
    file: PathBuf,
    /// Address to serve it at.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = address)]
    listen: SocketAddr,
    /// Origin that it may send requests to, such as <https://api.example.org>; can be given several times.
    #[arg(long, value_name = "URL", value_parser = origin)]
    allow: Vec<String>,
    /// Load the file again whenever it changes.
    #[arg(long)]
    watch: bool,
    /// Format of log lines on standard error.
    #[arg(long, value_name = "FORMAT", default_value = "human", value_parser = ["human", "json"])]
    log_format: String,
    /// The process that watches the file, with which this one ends.
    #[arg(long, value_name = "PID", hide = true)]
    watched_by: Option<RawPid>,
}

impl ServiceCommand for Command {
    fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        let file = fs::canonicalize(&self.file)
            .with_context(|| format!("cannot read {}; name a component", self.file.display()))?;
        if file.to_str().is_none() {
            bail!(
                "the name of {} is not UTF-8; give the file and its folders names that are",
                file.display()
            );
        }
        if self.watch {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let ended = runtime.block_on(watched(self.served(&file)?, &file))?;
            process::exit(ended.code().unwrap_or(1));
        }
        let services = spec.services.iter().map(|service| service.name);
        // A host without an app waits for one, which comes only where the file is watched.
        let needs_app = match self.watched_by {
            Some(parent) => {
                end_with(parent)?;
                None
            }
            None => {
                fit::check(&file, spec)?;
                Some("--needs-components")
            }
        };
        let folder = RunFolder::take()?;
        let mut serve = self.serve(&file, &folder, services)?;
        serve.args(needs_app);
        // Replaces this process, and returns only if that fails.
        Err(serve.exec()).context("cannot serve")
    }
}

impl Command {
    /// Returns this command as the child that a watching process starts, which becomes the host.
    fn served(&self, file: &Path) -> anyhow::Result<process::Command> {
        let mut run = process::Command::new(env::current_exe().context("cannot find this program")?);
        run.arg("run").arg(file);
        run.args(["--listen", &self.listen.to_string(), "--log-format", &self.log_format]);
        run.args(self.allow.iter().flat_map(|url| ["--allow", url.as_str()]));
        run.args(["--watched-by", &process::id().to_string()]);
        Ok(run)
    }

    /// Returns the command that serves the component and nothing else.
    fn serve(
        &self,
        file: &Path,
        folder: &RunFolder,
        services: impl Iterator<Item = &'static str>,
    ) -> anyhow::Result<process::Command> {
        let mut serve = process::Command::new(env::current_exe().context("cannot find this program")?);
        serve.arg("serve").env_clear();
        serve.args(["--listen", &self.listen.to_string(), "--admin-listen", "127.0.0.1:0"]);
        serve.args(["--log-format", &self.log_format, "--data-dir"]).arg(&folder.path);
        serve.envs(PASSED_ON.into_iter().filter_map(|name| Some((name, env::var_os(name)?))));
        for name in services.filter(|name| *name != NAME) {
            serve.env(format!("BULKHEAD_SERVICES__{}__ENABLED", name.to_uppercase()), "false");
        }
        serve.env(IS_RUN, "1");
        let key = |name: &str| format!("BULKHEAD_APPS__{APP}__{name}");
        serve.env(key("COMPONENT"), file).env(key("PATH_PREFIX"), "/");
        // The configuration takes each once.
        for (index, url) in self.allow.iter().collect::<BTreeSet<_>>().into_iter().enumerate() {
            serve.env(key(&format!("OUTGOING_{index}")), url);
        }
        Ok(serve)
    }
}

/// Has the system end this process, and the host that takes its place, together with its parent.
fn end_with(parent: RawPid) -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM)).context("cannot follow the watching process")?;
    // It may have ended before.
    if Pid::as_raw(getppid()) != parent {
        bail!("the watching process has ended");
    }
    Ok(())
}

/// Parses the address to serve at.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "must be an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080".to_owned())
}

/// Parses an origin as the configuration takes it.
fn origin(text: &str) -> Result<String, String> {
    OutgoingOrigin::check(text).map(|()| text.to_owned())
}

/// Serves until a signal ends it, and has the component loaded again when its file changes.
async fn watched(mut serve: process::Command, file: &Path) -> anyhow::Result<process::ExitStatus> {
    let mut signals = Signals::install()?;
    // A group of its own, so that Ctrl-C reaches it once, through this process.
    serve.process_group(0);
    let mut child = tokio::process::Command::from(serve).spawn().context("cannot serve")?;
    let mut seen = modified(file);
    loop {
        tokio::select! {
            ended = child.wait() => return Ok(ended?),
            _ = signals.next() => signal(&child, Signal::TERM),
            () = tokio::time::sleep(LOOK) => {
                let now = modified(file);
                if now.is_some() && now != seen {
                    seen = now;
                    signal(&child, Signal::HUP);
                }
            }
        }
    }
}

/// Returns when the file was last written; `None` while it is being replaced.
fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|known| known.modified()).ok()
}

/// Sends a signal to a child that has not ended.
fn signal(child: &Child, signal: Signal) {
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let Some(id) = id {
        // Fails only if the child has just ended.
        let _ = kill_process(id, signal);
    }
}
