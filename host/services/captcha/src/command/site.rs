//! `bulkhead captcha site`: manages sites in the configuration file and on the running host.

mod change;

use std::path::{Path, PathBuf};

use bulkhead_captcha_configuration::edit::{Rotation, SitesFile};
use bulkhead_cli::{
    Configuration,
    client::Remote,
    exit::{InvalidConfiguration, UsageError},
    output, sources,
};
use bulkhead_config::{HostSpec, formats, load};
use clap::Subcommand;
use serde_json::json;
use unicode_normalization::UnicodeNormalization as _;

use self::change::SiteChange;
use crate::config::Captcha;

/// Random bytes of a secret, too many to guess.
const SECRET_BYTES: usize = 32;

/// `bulkhead captcha site`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a site with a random secret to the configuration file. The secret goes to standard output and is not shown
    /// again.
    Add {
        #[command(flatten)]
        target: Target,
        /// The site's key, which its pages name.
        #[arg(value_parser = site_key)]
        key: String,
        /// A page that may use the widget's endpoints, such as https://www.example.org; may be given several times.
        #[arg(long = "origin", value_name = "ORIGIN", value_parser = formats::web_origin)]
        origins: Vec<String>,
    },
    /// List the sites of the configuration: those of the file and of environment variables. Secrets are not shown.
    List {
        #[command(flatten)]
        configuration: Configuration,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Give a site a new random secret, which goes to standard output and is not shown again. The host accepts the
    /// current secret, too, until --finish.
    RotateSecret {
        #[command(flatten)]
        target: Target,
        /// The site's key.
        #[arg(value_parser = site_key)]
        key: String,
        /// Accept only the newest secret from now on, and make no new one. Use it once the site's back end has that
        /// secret.
        #[arg(long)]
        finish: bool,
        /// Accept no earlier secret from now on, for a secret that has leaked.
        #[arg(long, conflicts_with = "finish")]
        revoke: bool,
    },
    /// Remove a site from the configuration file. Its calls are refused from then on.
    Remove {
        #[command(flatten)]
        target: Target,
        /// The site's key.
        #[arg(value_parser = site_key)]
        key: String,
    },
}

/// Names the file to change and the host that reads it.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    #[command(flatten)]
    configuration: Configuration,
    /// Change the file only. A running host continues as before until it reloads the file.
    #[arg(long)]
    no_reload: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Command {
    pub(crate) fn run(self, spec: &HostSpec) -> anyhow::Result<()> {
        match self {
            Self::Add { target, key, origins } => {
                let secret = secret()?;
                let json = target.remote.json;
                let change = SiteChange::begin(spec, target)?;
                let edit = |file: &mut SitesFile| file.add(&key, &secret, &origins);
                change.perform(&key, edit, |file| print_result(&key, Some(&secret), file, json))
            }
            Self::RotateSecret { target, key, finish, revoke } => {
                let secret = if finish { None } else { Some(secret()?) };
                let json = target.remote.json;
                let change = SiteChange::begin(spec, target)?;
                let rotation = match secret.as_deref() {
                    None => Rotation::Finish,
                    Some(secret) if revoke => Rotation::Revoke(secret),
                    Some(secret) => Rotation::Begin(secret),
                };
                let edit = |file: &mut SitesFile| file.rotate(&key, rotation);
                change.perform(&key, edit, |file| print_result(&key, secret.as_deref(), file, json))
            }
            Self::Remove { target, key } => {
                let json = target.remote.json;
                let change = SiteChange::begin(spec, target)?;
                change.perform(&key, |file| file.remove(&key), |file| print_result(&key, None, file, json))
            }
            Self::List { configuration, json } => list(spec, &configuration, json),
        }
    }
}

/// Prints the result: the secret on standard output, the rest on standard error.
fn print_result(key: &str, secret: Option<&str>, file: &Path, json: bool) -> anyhow::Result<()> {
    let file = file.display();
    let written = match secret {
        _ if json => output::json(&json!({ "site": key, "secret": secret, "file": file.to_string() })),
        Some(secret) => output::line(secret),
        None => Ok(()),
    };
    if secret.is_some() && !json && written.is_ok() {
        output::stderr_line("the secret is not shown again");
    }
    if !json || written.is_err() {
        output::stderr_line(format_args!("{file} is written"));
    }
    match (written, secret) {
        // A reader that has closed standard output is not a success here: it did not get the secret.
        (Err(error), Some(_)) => Err(anyhow::anyhow!(
            "{error}; {file} has a new secret of the site `{key}`, which was not shown and is not shown again: \
             `bulkhead captcha site rotate-secret` with --revoke makes another one in its place"
        )),
        (written, _) => Ok(written?),
    }
}

fn list(spec: &HostSpec, configuration: &Configuration, json: bool) -> anyhow::Result<()> {
    let sources = sources(configuration.config.as_deref(), Vec::new())?;
    let what = "no host can start from this configuration";
    let config = load(sources, spec).map_err(|problems| InvalidConfiguration { what, problems })?.config;
    let sites = &config.table::<Captcha>()?.sites;
    let rows = sites.iter().map(|(key, site)| {
        json!({
            "site": key,
            "secrets": site.secrets.len(),
            "compat": site.compat,
            "protocol": format!("{:?}", site.protocol).to_lowercase(),
            "algorithm": site.algorithm.as_str(),
            "origins": site.allowed_origins,
        })
    });
    let rows = json!({ "sites": rows.collect::<Vec<_>>() });
    if json {
        return Ok(output::json(&rows)?);
    }
    if sites.is_empty() {
        output::stderr_line("no site is configured; `bulkhead captcha site add` adds one");
        return Ok(());
    }
    let columns = ["site", "secrets", "compat", "protocol", "algorithm", "origins"];
    Ok(output::table(&columns, rows.get("sites"))?)
}

/// Returns the configuration file, in which sites are edited.
fn file(configuration: &Configuration) -> Result<PathBuf, UsageError> {
    configuration.config.clone().ok_or_else(|| {
        UsageError(
            "name the configuration file that has the sites, with --config or BULKHEAD_CONFIG".to_owned(),
        )
    })
}

/// Reads a site's key in the form in which the host compares it.
fn site_key(text: &str) -> Result<String, String> {
    let fits = !text.trim().is_empty() && !text.chars().any(char::is_control);
    fits.then(|| text.nfc().collect())
        .ok_or_else(|| "a site's key must not be empty or have control characters".to_owned())
}

/// Makes a secret with the operating system's random source.
fn secret() -> anyhow::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the operating system gives no random bytes: {error}"))?;
    Ok(hex::encode(bytes))
}
