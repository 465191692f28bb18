//! One change of a configuration file: checked, written whole, and read by the running host.

use std::{
    env,
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{Target, file};
use crate::{
    cli::{check, client::Remote, exit::Unsound, output},
    config::{Config, ConfigFile, Loaded},
    distribution::Distribution,
    files,
    services::captcha::{
        config::{Captcha, Site},
        edit::{EditError, SitesFile},
    },
};

/// Prefixes of environment variables that set sites.
const SITE_VARIABLES: [&str; 2] = ["BULKHEAD_CAPTCHA__SITES__", "CAPTCHA_SITES_"];

/// A change that may be made: the file is sound, and the host, where there is one, would be asked.
pub(super) struct Change {
    /// What reads the file.
    distribution: Distribution,
    file: ConfigFile,
    path: PathBuf,
    before: Loaded,
    host: Reach,
}

/// The host that is to read the file.
enum Reach {
    /// It is not to be asked.
    Unasked,
    /// Nobody answers there.
    Absent(Remote),
    /// It would read the file now.
    Present(Remote),
}

impl Change {
    /// Reads the file, and looks whether a host is there that lets this token reload.
    pub(super) fn begin(distribution: &Distribution, target: Target) -> anyhow::Result<Self> {
        let Target { configuration, no_reload, remote } = target;
        let path = file(&configuration)?;
        let (distribution, file) = (*distribution, ConfigFile::open_plain(&path)?);
        let what = "no host would start from the file, which is as it was";
        let before = check(&distribution, file.clone()).map_err(|problems| Unsound { what, problems })?;
        let remote = remote.or_at(operators_url(&before.config));
        if no_reload {
            return Ok(Self { distribution, file, path, before, host: Reach::Unasked });
        }
        if !remote.is_there()? {
            return Ok(Self { distribution, file, path, before, host: Reach::Absent(remote) });
        }
        // Before anything is changed: what a refused token has begun would be half done.
        let trial = remote.post("/v1/config/trial", &json!({}));
        trial.with_context(|| {
            format!(
                "a host answers at {}, and {} is as it was; --no-reload changes the file only",
                remote.url(),
                path.display()
            )
        })?;
        Ok(Self { distribution, file, path, before, host: Reach::Present(remote) })
    }

    /// Edits the file, says so, and has the host read it, whether anybody takes what is said or not.
    pub(super) fn perform(
        self,
        site: &str,
        edit: impl FnOnce(&mut SitesFile) -> Result<(), EditError>,
        said: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let name = self.path.display().to_string();
        let mut sites = SitesFile::parse(&self.file.text).with_context(|| name.clone())?;
        edit(&mut sites).map_err(|error| self.explained(error, site))?;
        self.checked(&sites, site)?;
        self.write(&sites.text())?;
        // The file has the change already: a host that did not read it would go on with another one.
        match (said(&self.path), self.reload_host(site)) {
            (Err(unsaid), Err(error)) => {
                output::aside(&unsaid);
                Err(error)
            }
            (said, reloaded) => reloaded.and(said),
        }
    }

    fn reload_host(&self, site: &str) -> anyhow::Result<()> {
        match &self.host {
            Reach::Present(remote) => self.reload(remote, site)?,
            Reach::Absent(remote) => output::aside(format_args!(
                "no host answers at {}; the change counts from the next start",
                remote.url()
            )),
            Reach::Unasked => {}
        }
        Ok(())
    }

    /// An edit that the file does not take, with the variable that has what the file has not.
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

    /// The edited file must be one that a host starts from, and mean what the edit is for.
    fn checked(&self, edited: &SitesFile, site: &str) -> anyhow::Result<()> {
        let file = ConfigFile { name: self.file.name.clone(), text: edited.text() };
        let what = "no host would start from the changed file, which is as it was";
        let after = check(&self.distribution, file).map_err(|problems| Unsound { what, problems })?;
        let secrets = |loaded: &Loaded| configured(loaded, site).map(|site| site.secrets.clone());
        let (before, after) = (secrets(&self.before), secrets(&after));
        if before != after {
            return Ok(());
        }
        let variable = variable(site);
        let variable = variable.as_deref().unwrap_or("an environment variable");
        anyhow::bail!(
            "{variable} wins over {} at the site `{site}`, so that the change would not count; change it there",
            self.path.display()
        )
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        let name = self.path.display();
        let now = ConfigFile::open_plain(&self.path)?;
        anyhow::ensure!(
            now.text == self.file.text,
            "{name} has been changed meanwhile and is left alone; try again"
        );
        files::rewrite(&self.path, text).map_err(|error| {
            anyhow::anyhow!(
                "cannot write {name}: {error}; it is written beside itself and renamed, so that its folder must be \
                 writable, and it must be no mount of its own"
            )
        })
    }

    fn reload(&self, remote: &Remote, site: &str) -> anyhow::Result<()> {
        let (name, url) = (self.path.display(), remote.url());
        let body = json!({ "reason": format!("captcha site {site}") });
        let answer = remote.post("/v1/config/reload", &body).with_context(|| {
            format!("{name} is changed, but the host at {url} keeps the configuration that it has")
        })?;
        let prefix = format!("captcha.sites.{site}.");
        let keys = answer.get("live").and_then(Value::as_array).into_iter().flatten();
        if keys.filter_map(Value::as_str).any(|key| key.starts_with(&prefix)) {
            output::aside(format_args!("the host at {url} has read it"));
        } else {
            output::aside(format_args!(
                "the host at {url} has read its configuration anew, in which nothing of the site has changed; see that it \
                 runs with {name} and serves captchas"
            ));
        }
        Ok(())
    }
}

/// A site of a configuration.
fn configured<'l>(loaded: &'l Loaded, site: &str) -> Option<&'l Site> {
    loaded.config.table::<Captcha>().ok()?.sites.get(site)
}

/// The first environment variable that sets something of a site.
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

/// Where a host with this configuration has its operators' listener.
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

    use clap::Parser;

    use super::*;
    use crate::{cli::exit::Exit, services::list::BULKHEAD};

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        target: Target,
    }

    fn begun(path: &Path) -> anyhow::Result<Change> {
        let line = ["site", "--no-reload", "--config"].map(Path::new);
        Change::begin(&BULKHEAD, Line::try_parse_from(line.into_iter().chain([path])).unwrap().target)
    }

    #[test]
    fn only_a_plain_file_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, socket, link, file, linked] =
            ["pipe", "socket", "link", "file", "linked"].map(|name| folder.path().join(name));
        // Nobody writes to it, so that to read it would take for ever.
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
