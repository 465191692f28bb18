use clap::Subcommand;
use serde_json::{Value, json};

use super::{Configuration, client::Remote, output};
use crate::config;

/// `bulkhead config`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print every problem of the configuration at once, with its line; nothing is started.
    Check(Configuration),
    /// Print every key with its default, as a Markdown table.
    Reference,
    /// Have a running host read its configuration anew: what can change while it runs changes, or nothing does.
    Reload {
        /// Why, for the audit log.
        #[arg(long, default_value = "")]
        reason: String,
        #[command(flatten)]
        remote: Remote,
    },
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Check(configuration) => {
                let loaded = configuration.load(Vec::new())?;
                for warning in &loaded.warnings {
                    output::line(format_args!("warning: {warning}"))?;
                }
                output::line("the configuration is good")?;
            }
            Self::Reload { reason, remote } => {
                let answer = remote.post("/v1/config/reload", &json!({ "reason": reason }))?;
                if remote.json { output::json(&answer)? } else { reloaded(&answer)? }
            }
            Self::Reference => {
                output::line("| key | default | unit | meaning |\n| --- | --- | --- | --- |")?;
                for key in config::reference() {
                    let config::KeyDoc { path, default, unit, doc } = key;
                    output::line(format_args!("| `{path}` | {default} | {unit} | {doc} |"))?;
                }
            }
        }
        Ok(())
    }
}

fn reloaded(answer: &Value) -> Result<(), output::OutputError> {
    let each = |name: &str| answer.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for key in each("live") {
        output::line(format_args!("counts now            {}", output::cell(Some(key))))?;
    }
    for key in each("restart") {
        output::line(format_args!("waits for a restart   {}", output::cell(Some(key))))?;
    }
    for version in each("versions") {
        let text = |name: &str| output::cell(version.get(name));
        output::line(format_args!("slot {} answers with version {}", text("slot"), text("version")))?;
    }
    if each("live").is_empty() && each("restart").is_empty() {
        output::line("nothing has changed")?;
    }
    Ok(())
}
