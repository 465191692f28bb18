//! Changes a configuration file: checks the change, writes the whole file, and has the running host read it.

use std::{
    env,
    fs::File,
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use bulkhead_captcha_configuration::edit::{EditError, SitesFile};
use bulkhead_cli::{check, client::Remote, exit::InvalidConfiguration, output};
use bulkhead_config::{Config, ConfigFile, HostSpec, Loaded};
use bulkhead_os::files;
use serde_json::{Value, json};

use super::{Target, file};
use crate::config::{Captcha, Site};

/// Prefixes of environment variables that set sites.
const SITE_VARIABLES: [&str; 2] = ["BULKHEAD_CAPTCHA__SITES__", "CAPTCHA_SITES_"];

/// A change that may be made: the file is valid, and the host, if one runs, accepts the token.
pub(super) struct SiteChange {
    /// The host of the binary, which reads the file.
    spec: HostSpec,
    file: ConfigFile,
    path: PathBuf,
    before: Loaded,
    host: RunningHost,
    /// Held from reading the file until the host has read it: another change of the same file waits.
    _lock: Option<File>,
}

/// The host that serves with the file.
enum RunningHost {
    /// The caller does not want it to be asked.
    Ignored,
    /// No host answers.
    Down(Remote),
    /// It answers, and the token may reload it.
    Up(Remote),
}

impl SiteChange {
    /// Reads the file, and checks whether a host runs that lets the token reload.
    pub(super) fn begin(spec: &HostSpec, target: Target) -> anyhow::Result<Self> {
        let Target { configuration, no_reload, remote } = target;
        let path = file(&configuration)?;
        let lock = files::lock_folder_of(&path);
        let (spec, file) = (spec.clone(), ConfigFile::open_plain(&path)?);
        let what = "no host can start from the file, which is unchanged";
        let before =
            check(&spec, file.clone()).map_err(|problems| InvalidConfiguration { what, problems })?;
        let remote = remote.or_at(operators_url(&before.config));
        let host = if no_reload {
            RunningHost::Ignored
        } else if remote.is_there()? {
            // Before anything is changed: with a refused token the change would be made by halves.
            let dry_run = remote.post("/v1/config/trial", &json!({}));
            dry_run.with_context(|| {
                format!(
                    "a host answers at {}, and {} is unchanged; --no-reload changes the file only",
                    remote.url(),
                    path.display()
                )
            })?;
            RunningHost::Up(remote)
        } else {
            RunningHost::Down(remote)
        };
        Ok(Self { spec, file, path, before, host, _lock: lock })
    }

    /// Edits the file, prints the result, and has the host read the file, also if the result cannot be printed.
    pub(super) fn perform(
        self,
        site: &str,
        edit: impl FnOnce(&mut SitesFile) -> Result<(), EditError>,
        print: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let name = self.path.display().to_string();
        let mut sites = SitesFile::parse(&self.file.text).with_context(|| name.clone())?;
        edit(&mut sites).map_err(|error| self.explained(error, site))?;
        self.checked(&sites, site)?;
        self.write(&sites.text())?;
        // The file has the change already, so the host must read it in any case.
        match (print(&self.path), self.reload_host(site)) {
            (Err(not_printed), Err(error)) => {
                output::stderr_line(&not_printed);
                Err(error)
            }
            (printed, reloaded) => reloaded.and(printed),
        }
    }

    fn reload_host(&self, site: &str) -> anyhow::Result<()> {
        match &self.host {
            RunningHost::Up(remote) => self.reload(remote, site)?,
            RunningHost::Down(remote) => output::stderr_line(format_args!(
                "no host answers at {}; the change takes effect at the next start",
                remote.url()
            )),
            RunningHost::Ignored => {}
        }
        Ok(())
    }

    /// Adds to an edit's error the environment variable that has the site or the secret, if the file does not have it.
    fn explained(&self, error: EditError, site: &str) -> anyhow::Error {
        let is_elsewhere = match &error {
            EditError::Exists(_) => return error.into(),
            EditError::Unknown(_) => configured(&self.before, site).is_some(),
            EditError::NoSecret(_) => true,
            _ => false,
        };
        let name = self.path.display().to_string();
        let error = anyhow::Error::from(error).context(name);
        match variable(site) {
            Some(variable) if is_elsewhere => {
                error.context(format!("the environment variable {variable} has it; change it there"))
            }
            _ => error,
        }
    }

    /// Checks that a host can start from the edited file, and that the edit changes the site's secrets.
    fn checked(&self, edited: &SitesFile, site: &str) -> anyhow::Result<()> {
        let file = ConfigFile { name: self.file.name.clone(), text: edited.text() };
        let what = "no host can start from the changed file, so the file is left unchanged";
        let after = check(&self.spec, file).map_err(|problems| InvalidConfiguration { what, problems })?;
        let secrets = |loaded: &Loaded| configured(loaded, site).map(|site| site.secrets.clone());
        let (before, after) = (secrets(&self.before), secrets(&after));
        if before != after {
            return Ok(());
        }
        let variable = variable(site);
        let variable = variable.as_deref().unwrap_or("an environment variable");
        anyhow::bail!(
            "{variable} takes precedence over {} at the site `{site}`, so the change would have no effect; change it \
             there",
            self.path.display()
        )
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        let name = self.path.display();
        let now = ConfigFile::open_plain(&self.path)?;
        anyhow::ensure!(
            now.text == self.file.text,
            "{name} has changed meanwhile, so it is left as it is; try again"
        );
        files::rewrite(&self.path, text).map_err(|error| {
            anyhow::anyhow!(
                "cannot write {name}: {error}; a new file in the same folder replaces it, so that folder must be \
                 writable, and the file must not be a mount"
            )
        })
    }

    fn reload(&self, remote: &Remote, site: &str) -> anyhow::Result<()> {
        let (name, url) = (self.path.display(), remote.url());
        let body = json!({ "reason": format!("captcha site {site}") });
        let answer = remote.post("/v1/config/reload", &body).with_context(|| {
            format!("{name} is changed, but the host at {url} keeps its old configuration")
        })?;
        let prefix = format!("captcha.sites.{site}.");
        let keys = answer.get("live").and_then(Value::as_array).into_iter().flatten();
        if keys.filter_map(Value::as_str).any(|key| key.starts_with(&prefix)) {
            output::stderr_line(format_args!("the host at {url} has read it"));
            return Ok(());
        }
        anyhow::bail!(
            "{name} is changed, but the host at {url} has reloaded its configuration, in which nothing of the site `{site}` \
             has changed: check that it runs with {name} and serves captchas; --no-reload changes the file only"
        )
    }
}

/// Returns a site of a configuration.
fn configured<'l>(loaded: &'l Loaded, site: &str) -> Option<&'l Site> {
    loaded.config.table::<Captcha>().ok()?.sites.get(site)
}

/// Returns the first environment variable that sets a key of a site.
fn variable(site: &str) -> Option<String> {
    let key = format!("{}_", site.to_ascii_uppercase().replace(['-', '.'], "_"));
    let sets = |name: &String| {
        let name = name.to_ascii_uppercase();
        SITE_VARIABLES
            .iter()
            .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(&key)))
    };
    env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(sets).min()
}

/// Returns the URL of the operators' listener of a host with this configuration.
fn operators_url(config: &Config) -> String {
    let mut listen = config.server.admin_listen;
    if listen.ip().is_unspecified() {
        let loopback = if listen.is_ipv4() {
            IpAddr::from([127, 0, 0, 1])
        } else {
            IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])
        };
        listen.set_ip(loopback);
    }
    let scheme = if config.admin.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{listen}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::{
        fs,
        os::unix::{fs::symlink, net::UnixListener},
    };

    use bulkhead_cli::exit::Exit;
    use bulkhead_service::Service as _;
    use clap::Parser;

    use super::*;
    use crate::service::CaptchaPlugin;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        target: Target,
    }

    fn begun(path: &Path) -> anyhow::Result<SiteChange> {
        let line = ["site", "--no-reload", "--config"].map(Path::new);
        let line = Line::try_parse_from(line.into_iter().chain([path])).unwrap();
        let spec = HostSpec {
            services: vec![CaptchaPlugin.spec()],
            interfaces: Vec::new(),
            stubs: Vec::new(),
            tables: CaptchaPlugin.tables().to_vec(),
            aliases: vec![CaptchaPlugin.aliases()],
        };
        SiteChange::begin(&spec, line.target)
    }

    #[test]
    fn special_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, socket, link, file, linked] =
            ["pipe", "socket", "link", "file", "linked"].map(|name| folder.path().join(name));
        // No one writes to the pipe, so a read would never end.
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let _socket = UnixListener::bind(&socket).unwrap();
        symlink(&pipe, &link).unwrap();
        for special in [&pipe, &socket, &link, folder.path(), Path::new("/dev/null")] {
            let error = begun(special).err().unwrap();
            assert_eq!(Exit::of(&error), Exit::Failed, "{error}");
            let said = error.to_string();
            assert!(said.starts_with(&format!("{}: cannot be read: ", special.display())), "{said}");
            assert!(said.contains("put a plain file there"), "{said}");
        }
        fs::write(&file, "").unwrap();
        symlink(&file, &linked).unwrap();
        for plain in [&file, &linked] {
            let said = begun(plain).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!said.contains("cannot be read"), "{said}");
        }
    }
}
