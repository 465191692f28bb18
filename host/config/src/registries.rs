//! Reads `[registries.NAME]`, the OCI registries that components may be pulled from. No other registry is allowed.

mod reference;

use std::{path::PathBuf, time::Duration};

use url::Url;

pub use self::reference::{Reference, is_digest};
use self::reference::{is_host, is_repository};
use super::{
    reader::{Reader, formats},
    secret::Secret,
};

/// Across a continent, with a handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A registry that reads from slow storage is silent for a while.
pub const READ_TIMEOUT: Duration = Duration::from_secs(15);
/// Enough for the largest component over a slow line, and the longest that a caller waits.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// A registry.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Its name in the configuration.
    pub name: String,
    /// Its host as references name it.
    pub host: String,
    /// The base of its URLs.
    pub base: Url,
    /// Repositories that may be pulled, with all below them; empty: all.
    repositories: Vec<String>,
    /// Further URLs that it may redirect to, with all below them: for tokens and for files stored elsewhere.
    allow: Vec<Url>,
    /// The user to log in as.
    pub username: Option<String>,
    /// The user's password or access token.
    pub password: Option<Secret>,
    /// Credentials in the form of docker's `config.json`.
    pub auth_file: Option<PathBuf>,
    /// A certificate that is trusted for it in addition to the system's.
    pub ca: Option<PathBuf>,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest silence.
    pub read_timeout: Duration,
    /// Longest pull.
    pub timeout: Duration,
}

impl Registry {
    /// Returns whether it may redirect to `url`: to itself, or to an allowed URL.
    pub fn allows(&self, url: &Url) -> bool {
        let own = std::slice::from_ref(&self.base);
        formats::is_below(own, url) || formats::is_below(&self.allow, url)
    }

    /// Returns the names of the hosts that it may redirect to.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.base].into_iter().chain(&self.allow).filter_map(Url::host_str)
    }

    fn has_repository(&self, repository: &str) -> bool {
        let below = |prefix: &String| {
            let rest = repository.strip_prefix(prefix.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.repositories.is_empty() || self.repositories.iter().any(below)
    }

    fn read(r: &mut Reader, name: &str) -> Option<Self> {
        let host = r
            .key("host", "HOST or HOST:PORT as references name it; no other registry is asked")
            .required()
            .optional("host", host);
        let plain_http = r.key("plain_http", "It has no TLS").flag(false);
        let repositories = r
            .key("repositories", "Repositories that may be pulled, with all below them")
            .default_text("all")
            .list("repositories", repository)
            .unwrap_or_default();
        let allow = r
            .key("allow", "URLs that it may redirect to for tokens and files, with all below them")
            .list("URLs", formats::service_url)
            .unwrap_or_default();
        let username = r.key("username", "User to log in as").text();
        let password = r.key("password", "The user's password or access token").secret();
        let auth_file = r.key("auth_file", "Credentials in the form of docker's config.json").path();
        let ca =
            r.key("ca", "Certificate (PEM file) that is trusted for it in addition to the system's").path();
        let connect_timeout =
            r.key("connect_timeout_ms", "Longest wait for a connection").millis(1..=60_000, CONNECT_TIMEOUT);
        let read_timeout =
            r.key("read_timeout_ms", "Longest silence of the registry").millis(1..=600_000, READ_TIMEOUT);
        let timeout = r.key("timeout_ms", "Longest pull").millis(1..=600_000, TIMEOUT);
        if r.is_set("username") != r.is_set("password") {
            r.problem("username", format!("needs a password; give registries.{name} both or neither"));
        }
        if password.is_some() && auth_file.is_some() {
            r.problem("auth_file", "gives credentials a second time, next to password; give one of them");
        }
        if plain_http && (password.is_some() || auth_file.is_some()) {
            r.warn(
                "plain_http",
                "sends the credentials unencrypted, so that others on the network can read them",
            );
        }
        let host = host?;
        let scheme = if plain_http { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{host}/")).ok()?;
        Some(Self {
            name: name.to_owned(),
            host,
            base,
            repositories,
            allow,
            username,
            password,
            auth_file,
            ca,
            connect_timeout,
            read_timeout,
            timeout,
        })
    }
}

fn host(text: &str) -> Result<String, String> {
    match is_host(text) {
        true => Ok(text.to_owned()),
        false => {
            Err(format!("must be a host such as oci.example or localhost:5000, in lower case, not `{text}`"))
        }
    }
}

fn repository(text: &str) -> Result<String, String> {
    match is_repository(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("must be a repository such as town/captcha, not `{text}`")),
    }
}

/// Returns the registry that may be asked for `reference`.
///
/// # Errors
/// A message that says why no registry may, and the line that would allow it.
pub fn allowed<'r>(registries: &'r [Registry], reference: &Reference) -> Result<&'r Registry, String> {
    let (host, repository) = (reference.host(), reference.repository());
    let registry = registries.iter().find(|registry| registry.host == host).ok_or_else(|| {
        format!("registry {host} is not allowed; allow it with [registries.NAME] and host = \"{host}\"")
    })?;
    match registry.has_repository(repository) {
        true => Ok(registry),
        false => Err(format!(
            "repository {repository} of registry {host} is not allowed; add it to the registry's repositories"
        )),
    }
}

pub(super) fn read(reader: &mut Reader) -> Vec<Registry> {
    let read = reader.named_tables("registries", "NAME", Registry::read);
    let mut registries: Vec<Registry> = Vec::with_capacity(read.len());
    for (name, registry) in read {
        let Some(registry) = registry else { continue };
        if registries.iter().any(|known| known.host == registry.host) {
            let text =
                format!("{} is already configured under another name; give one of them", registry.host);
            reader.problem(&format!("registries.{name}.host"), text);
        }
        registries.push(registry);
    }
    registries
}
