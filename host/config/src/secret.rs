//! Holds the type of a secret value in the configuration, and finds the file of a secret that the configuration only names:
//! `file:PATH`, or `credential:NAME` in the folder where the service manager puts credentials.

use std::{
    env,
    ffi::OsString,
    fmt, io,
    path::{Path, PathBuf},
};

/// The variable with the folder of credentials, which systemd sets for units with `LoadCredential`.
const FOLDER: &str = "CREDENTIALS_DIRECTORY";

/// A secret value; prints as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the secret; never log it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Returns the file of a secret, or `None` if the text is the secret.
pub(crate) fn named_file(text: &str) -> Result<Option<PathBuf>, String> {
    named_in(text, env::var_os(FOLDER))
}

fn named_in(text: &str, folder: Option<OsString>) -> Result<Option<PathBuf>, String> {
    if let Some(path) = text.strip_prefix("file:") {
        return Ok(Some(PathBuf::from(path)));
    }
    let Some(name) = text.strip_prefix("credential:") else { return Ok(None) };
    // A name alone, so that it cannot lead out of the folder.
    if name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '\0']) {
        return Err("must name a credential as credential:NAME, without a path".to_owned());
    }
    match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(Some(Path::new(&folder).join(name))),
        None => Err(format!(
            "names the credential {name}, and {FOLDER} is not set; add LoadCredential={name}:PATH to the unit, or write \
             file:PATH"
        )),
    }
}

/// Says what to do about the file of a secret that cannot be read.
pub(crate) fn unreadable(text: &str, path: &Path, error: &io::Error) -> String {
    let correction = match text.strip_prefix("credential:") {
        Some(name) if error.kind() == io::ErrorKind::NotFound => format!(
            "add LoadCredential={name}:PATH to the unit; the file NAME of a folder that it loads as ID is credential:ID_NAME"
        ),
        _ => "the file must be plain and readable".to_owned(),
    };
    format!("cannot read {}: {error}; {correction}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> Option<OsString> {
        Some("/run/credentials/bulkhead.service".into())
    }

    #[test]
    fn credential_is_in_folder_of_credentials() {
        let found = named_in("credential:hmac-key", folder());
        assert_eq!(found, Ok(Some("/run/credentials/bulkhead.service/hmac-key".into())));
        assert_eq!(named_in("file:/etc/key", folder()), Ok(Some("/etc/key".into())));
        assert_eq!(named_in("a plain secret", folder()), Ok(None));
    }

    #[test]
    fn credential_with_path_is_refused() {
        for name in ["", ".", "..", "../shadow", "/etc/shadow", "a/b"] {
            let refused = named_in(&format!("credential:{name}"), folder());
            assert!(refused.is_err_and(|text| text.contains("without a path")), "{name}");
        }
    }

    #[test]
    fn missing_credential_names_the_unit() {
        let (path, missing) = (Path::new("/absent"), io::Error::from(io::ErrorKind::NotFound));
        assert!(unreadable("credential:key", path, &missing).contains("LoadCredential=key:PATH"));
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        for (text, error) in [("file:/absent", &missing), ("credential:key", &denied)] {
            assert!(unreadable(text, path, error).ends_with("the file must be plain and readable"), "{text}");
        }
    }

    #[test]
    fn credential_without_folder_names_the_unit() {
        for folder in [None, Some(OsString::new())] {
            let refused = named_in("credential:hmac-key", folder);
            assert!(refused.is_err_and(|text| text.contains("LoadCredential=hmac-key:PATH")));
        }
    }
}
