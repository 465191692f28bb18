//! `bulkhead tickets`: replaces personal data in a text, and measures how much of it is found.

mod recall;

use std::{
    fs,
    io::{self, Read as _},
    path::PathBuf,
};

use anyhow::Context as _;
use bulkhead_cli::output;
use bulkhead_config::HostSpec;
use bulkhead_service::ServiceCommand;
use bulkhead_ticket_text::redact::redact;
use clap::Parser;
use recall::recall;

/// The project's own texts with personal data.
const SET: &str = include_str!("../../../../../tests/data/redaction/letters.jsonl");

/// Replace personal data as the ticket service does before a text leaves the host.
#[derive(Debug, Parser)]
#[command(name = "tickets")]
pub(super) enum Command {
    /// Replace the personal data in standard input by tokens, or measure how much of it is found.
    Redact(Redact),
}

/// Arguments of `bulkhead tickets redact`.
#[derive(Debug, clap::Args)]
pub(super) struct Redact {
    /// Print how many values are replaced whole, by kind, and how many texts without personal data change.
    #[arg(long)]
    evaluate: bool,
    /// Texts to measure on, a JSON object a line: `{"text": ..., "secrets": [{"value": ..., "kind": ...}]}` [default: a
    /// set of the project].
    #[arg(long, value_name = "FILE", requires = "evaluate")]
    set: Option<PathBuf>,
}

impl ServiceCommand for Command {
    fn run(self, _: &HostSpec) -> anyhow::Result<()> {
        let Self::Redact(Redact { evaluate, set }) = self;
        if !evaluate {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            return Ok(output::text(redact(&text).text())?);
        }
        let set = match set {
            Some(file) => {
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?
            }
            None => SET.to_owned(),
        };
        Ok(output::text(recall(&set).map_err(anyhow::Error::msg)?)?)
    }
}
