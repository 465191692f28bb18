//! `bulkhead admin`.

use clap::{Subcommand, ValueEnum};

use super::{arguments::SUBJECT, client::Remote, exit::Misuse, lines, output};
use crate::{deploy::CONFIGURATION, telemetry::logs};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

/// Random bytes of a token: beyond guessing.
const TOKEN_BYTES: usize = 32;
/// Marks tokens, for those who look for leaked ones.
const TOKEN_PREFIX: &str = "bulkhead_";

/// `bulkhead admin`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a token for operators: the token itself goes to standard error, once, and what the configuration needs
    /// of it to standard output, which can be added to its file with `>> bulkhead.toml`.
    Token {
        /// Its name in the audit log.
        name: String,
        /// What it may do; each scope includes those before it.
        #[arg(long, default_value = "read")]
        scope: Scope,
    },
    /// Show who moved which version, and why. Takes a token of scope admin.
    Audit {
        /// Of one slot, of the configuration or of refused attempts only.
        #[arg(id = SUBJECT, long = "slot", value_name = "SLOT")]
        slot: Option<String>,
        /// Of the configuration only, as --slot config.
        #[arg(long, conflicts_with = SUBJECT)]
        configuration: bool,
        /// How many of the last moves.
        #[arg(long, default_value_t = 100, value_parser = lines())]
        lines: u16,
        #[command(flatten)]
        remote: Remote,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Scope {
    /// Look at slots, versions and logs; change nothing.
    Read,
    /// Change what answers: push, swap, try, promote and roll back versions.
    Deploy,
    /// Reload the configuration and undo that, see who did what.
    Admin,
}

impl Scope {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Deploy => "deploy",
            Self::Admin => "admin",
        }
    }
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Token { name, scope } => token(&name, scope),
            Self::Audit { slot, configuration, lines, remote } => {
                let of = slot.as_deref().or(configuration.then_some(CONFIGURATION));
                audit(of, lines, &remote)
            }
        }
    }
}

fn token(name: &str, scope: Scope) -> anyhow::Result<()> {
    if name.is_empty() || !name.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char)) {
        return Err(Misuse("a token's name has letters, digits, - and _ only".to_owned()).into());
    }
    let mut secret = [0; TOKEN_BYTES];
    getrandom::fill(&mut secret).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
    let token = format!("{TOKEN_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(secret));
    let (hash, scope) = (hex::encode(Sha256::digest(&token)), scope.as_str());
    // The line break ends a last line that has none, so that all this can be added to a file.
    output::text(format_args!("\n[admin.tokens.{name}]\nscope = \"{scope}\"\nhash = \"sha256:{hash}\"\n"))?;
    logs::write_last(&format!("the token, which is not shown again: {token}\n"));
    Ok(())
}

fn audit(of: Option<&str>, lines: u16, remote: &Remote) -> anyhow::Result<()> {
    let slot = of.map_or_else(String::new, |slot| format!("&slot={slot}"));
    let answer = remote.get(&format!("/v1/audit?limit={lines}{slot}"))?;
    if remote.json {
        return Ok(output::json(&answer)?);
    }
    let columns = ["at", "slot", "generation", "version", "stage", "actor", "reason"];
    Ok(output::table(&columns, answer.get("entries"))?)
}
