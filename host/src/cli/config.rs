//! `bulkhead config`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{Configuration, client::Remote, output};
use crate::{
    config::{self, Config},
    distribution::Distribution,
};

/// `bulkhead config`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print every problem of the configuration at once, with its line; nothing is started.
    Check(Configuration),
    /// Print every key with its default, as a Markdown table.
    Reference,
    /// Show which configuration a running host has, since when, and what waits for a restart.
    Show {
        #[command(flatten)]
        remote: Remote,
    },
    /// Have a running host read its configuration anew: what can change while it runs changes, or nothing does.
    Reload {
        /// Say what would change, and change nothing.
        #[arg(long)]
        trial: bool,
        #[command(flatten)]
        change: Change,
    },
    /// Have the configuration before the last reload count again, whatever its file says now.
    Undo {
        #[command(flatten)]
        change: Change,
    },
}

#[derive(Debug, Args)]
pub(super) struct Change {
    /// Why, for the audit log.
    #[arg(long, default_value = "")]
    reason: String,
    #[command(flatten)]
    remote: Remote,
}

impl Change {
    fn make(&self, what: &str, tense: Tense) -> anyhow::Result<()> {
        let body = if tense == Tense::Would { json!({}) } else { json!({ "reason": self.reason }) };
        let answer = self.remote.post(&format!("/v1/config/{what}"), &body)?;
        let printed = if self.remote.json { output::json(&answer) } else { reloaded(&answer, tense) };
        Ok(printed?)
    }
}

/// Whether something has happened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tense {
    Does,
    Would,
}

impl Command {
    pub(super) fn run(self, distribution: &Distribution) -> anyhow::Result<()> {
        match self {
            Self::Check(configuration) => {
                let loaded = configuration.load(distribution, Vec::new())?;
                // Before anything is said: what the host would not start from is no good configuration.
                let of_files = check_files(distribution, &loaded.config)?;
                for warning in loaded.warnings.iter().map(ToString::to_string).chain(of_files) {
                    output::line(format_args!("warning: {warning}"))?;
                }
                output::line("the configuration is good")?;
            }
            Self::Show { remote } => {
                let answer = remote.get("/v1/config")?;
                if remote.json { output::json(&answer)? } else { shown(&answer)? }
            }
            Self::Reload { trial: true, change } => change.make("trial", Tense::Would)?,
            Self::Reload { trial: false, change } => change.make("reload", Tense::Does)?,
            Self::Undo { change } => change.make("undo", Tense::Does)?,
            Self::Reference => {
                output::line("| key | default | unit | meaning |\n| --- | --- | --- | --- |")?;
                for key in config::reference(&distribution.spec()) {
                    let config::KeyDoc { path, default, unit, doc } = key;
                    output::line(format_args!("| `{path}` | {default} | {unit} | {doc} |"))?;
                }
            }
        }
        Ok(())
    }
}

/// Checks files as `serve` would read them, and returns warnings.
fn check_files(distribution: &Distribution, config: &Config) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    for service in distribution.services {
        if config.services.get(service.spec().name).enabled {
            warnings.extend(service.check_files(config)?);
        }
    }
    Ok(warnings)
}

fn shown(answer: &Value) -> Result<(), output::OutputError> {
    let text = |name: &str| output::cell(answer.get(name));
    output::line(format_args!("revision          {}", text("revision")))?;
    output::line(format_args!("since             {} by {}: {}", text("at"), text("actor"), text("reason")))?;
    output::line(format_args!("read anew         {} times", text("generation")))?;
    if let Some(previous) = answer.get("previous").and_then(Value::as_str) {
        output::line(format_args!("an undo goes to   {previous}"))?;
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

fn reloaded(answer: &Value, tense: Tense) -> Result<(), output::OutputError> {
    let (counts, answers) = match tense {
        Tense::Does => ("counts now       ", "answers"),
        Tense::Would => ("would count      ", "would answer"),
    };
    for key in each(answer, "live") {
        output::line(format_args!("{counts} {}", output::cell(Some(key))))?;
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

fn each<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
