//! `bulkhead admin`: makes tokens for operators, and prints the audit log.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bulkhead_cli::{client::Remote, exit::UsageError, output};
use bulkhead_rollout::CONFIGURATION;
use bulkhead_telemetry::logs;
use clap::{Subcommand, ValueEnum};
use sha2::{Digest as _, Sha256};

use super::{arguments::SUBJECT, lines};

/// Random bytes of a token, too many to guess.
const TOKEN_BYTES: usize = 32;
/// Prefix of tokens, by which scanners find leaked ones.
const TOKEN_PREFIX: &str = "bulkhead_";

/// `bulkhead admin`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a token for operators. The token is printed once, to standard error; its table of the configuration goes to
    /// standard output, so that `>> bulkhead.toml` adds it to the file.
    Token {
        /// Its name in the audit log.
        name: String,
        /// What it may do; each scope includes those before it.
        #[arg(long, default_value = "read")]
        scope: Scope,
    },
    /// Show who moved which version, and why. Takes a token of scope admin.
    Audit {
        /// Only the lines of this slot, of `config` (the configuration) or of `access` (refused attempts).
        #[arg(id = SUBJECT, long = "slot", value_name = "SLOT")]
        slot: Option<String>,
        /// Only the lines of the configuration, like --slot config.
        #[arg(long, conflicts_with = SUBJECT)]
        configuration: bool,
        /// How many lines, the last ones.
        #[arg(long, default_value_t = 100, value_parser = lines())]
        lines: u16,
        #[command(flatten)]
        remote: Remote,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Scope {
    /// See slots, versions and logs; change nothing.
    Read,
    /// Change which versions answer: push, swap, canary, shadow, promote and roll back.
    Deploy,
    /// Reload the configuration, undo a reload, and see the audit log.
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
        return Err(UsageError("a token's name has letters, digits, - and _ only".to_owned()).into());
    }
    let mut secret = [0; TOKEN_BYTES];
    getrandom::fill(&mut secret).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
    let token = format!("{TOKEN_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(secret));
    let (hash, scope) = (hex::encode(Sha256::digest(&token)), scope.as_str());
    // The first line break ends a last line without one when the output is added to a file.
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
