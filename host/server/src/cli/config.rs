//! `bulkhead config`: checks the configuration, and reloads that of a running host.

use bulkhead_cli::{Configuration, client::Remote, output};
use bulkhead_config::{Config, KeyDoc, reference};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::distribution::Distribution;

/// `bulkhead config`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print every problem of the configuration, each with its line. Nothing is started.
    Check(Configuration),
    /// Print every key with its default, as a Markdown table.
    Reference,
    /// Show which configuration a running host has, since when, and which keys need a restart.
    Show {
        #[command(flatten)]
        remote: Remote,
    },
    /// Have a running host reload its configuration. Either every key that can change at run time takes effect, or none
    /// does.
    Reload {
        /// Dry run: print what would change, and change nothing.
        #[arg(long)]
        trial: bool,
        #[command(flatten)]
        change: ReloadArgs,
    },
    /// Return to the configuration before the last reload. The file stays as it is.
    Undo {
        #[command(flatten)]
        change: ReloadArgs,
    },
}

#[derive(Debug, Args)]
pub(super) struct ReloadArgs {
    /// Why, for the audit log.
    #[arg(long, default_value = "")]
    reason: String,
    #[command(flatten)]
    remote: Remote,
}

impl ReloadArgs {
    fn make(&self, what: &str, outcome: Outcome) -> anyhow::Result<()> {
        let body = if outcome == Outcome::DryRun { json!({}) } else { json!({ "reason": self.reason }) };
        let answer = self.remote.post(&format!("/v1/config/{what}"), &body)?;
        let printed = if self.remote.json { output::json(&answer) } else { print_reload(&answer, outcome) };
        Ok(printed?)
    }
}

/// Tells a reload from a dry run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Applied,
    DryRun,
}

impl Command {
    pub(super) fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        match self {
            Self::Check(configuration) => {
                let loaded = configuration.load(&distribution.spec(), Vec::new())?;
                // Before anything is printed, because files that stop a host from starting are errors.
                let of_files = check_files(distribution, &loaded.config)?;
                for warning in loaded.warnings.iter().map(ToString::to_string).chain(of_files) {
                    output::line(format_args!("warning: {warning}"))?;
                }
                output::line("the configuration is good")?;
            }
            Self::Show { remote } => {
                let answer = remote.get("/v1/config")?;
                if remote.json { output::json(&answer)? } else { print_state(&answer)? }
            }
            Self::Reload { trial: true, change } => change.make("trial", Outcome::DryRun)?,
            Self::Reload { trial: false, change } => change.make("reload", Outcome::Applied)?,
            Self::Undo { change } => change.make("undo", Outcome::Applied)?,
            Self::Reference => {
                output::line("| key | default | unit | meaning |\n| --- | --- | --- | --- |")?;
                for key in reference(&distribution.spec()) {
                    let KeyDoc { path, default, unit, doc } = key;
                    output::line(format_args!("| `{path}` | {default} | {unit} | {doc} |"))?;
                }
            }
        }
        Ok(())
    }
}

/// Checks files as `serve` would read them, and returns warnings.
pub(super) fn check_files(distribution: &Distribution, config: &Config) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    for service in distribution.services {
        if config.services.get(service.spec().name).enabled {
            warnings.extend(service.check_files(config, distribution.services)?);
        }
    }
    Ok(warnings)
}

/// Prints which configuration a host has.
fn print_state(answer: &Value) -> Result<(), output::OutputError> {
    let text = |name: &str| output::cell(answer.get(name));
    output::line(format_args!("revision          {}", text("revision")))?;
    output::line(format_args!("since             {} by {}: {}", text("at"), text("actor"), text("reason")))?;
    output::line(format_args!("reloaded          {} times", text("generation")))?;
    if let Some(previous) = answer.get("previous").and_then(Value::as_str) {
        output::line(format_args!("previous revision {previous}"))?;
    }
    for key in each(answer, "restart") {
        output::line(format_args!("needs a restart   {}", output::cell(Some(key))))?;
    }
    if let Some(refused) = answer.get("refused").filter(|refused| !refused.is_null()) {
        let text = |name: &str| output::cell(refused.get(name));
        let why = text("reason").replace('\n', "\n                  ");
        output::line(format_args!("refused           {} by {}: {why}", text("at"), text("actor")))?;
    }
    Ok(())
}

/// Prints what a reload, an undo or a dry run changes.
fn print_reload(answer: &Value, outcome: Outcome) -> Result<(), output::OutputError> {
    let (live, answers) = match outcome {
        Outcome::Applied => ("took effect      ", "answers"),
        Outcome::DryRun => ("would take effect", "would answer"),
    };
    for key in each(answer, "live") {
        output::line(format_args!("{live} {}", output::cell(Some(key))))?;
    }
    for key in each(answer, "restart") {
        output::line(format_args!("needs a restart   {}", output::cell(Some(key))))?;
    }
    for version in each(answer, "versions") {
        let text = |name: &str| output::cell(version.get(name));
        output::line(format_args!("slot {} {answers} with version {}", text("slot"), text("version")))?;
    }
    for warning in each(answer, "warnings") {
        output::line(format_args!("warning: {}", output::cell(Some(warning))))?;
    }
    if ["live", "restart", "versions"].iter().all(|name| each(answer, name).is_empty()) {
        output::line("nothing has changed")?;
    }
    Ok(())
}

/// Returns the elements of a list in an answer.
fn each<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
