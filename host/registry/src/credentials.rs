//! Name and password for a registry.

use std::{collections::BTreeMap, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_config::registries::Registry;
use bulkhead_os::files;
use reqwest::header::HeaderValue;
use serde::Deserialize;

use super::Fault;

/// What is read of docker's `config.json`.
#[derive(Deserialize)]
struct AuthFile {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    /// `user:password` in base64.
    auth: Option<String>,
}

/// The value of `Authorization` for a registry, where there are credentials. A file is read each time: tokens in it
/// are renewed by others.
pub(super) fn basic(registry: &Registry) -> Result<Option<HeaderValue>, Fault> {
    let encoded = match (&registry.username, &registry.password, &registry.auth_file) {
        (Some(user), Some(password), _) => {
            Some(BASE64_STANDARD.encode(format!("{user}:{}", password.expose())))
        }
        (_, _, Some(path)) => in_file(path, &registry.host)?,
        _ => None,
    };
    encoded.map(|encoded| sensitive(&format!("Basic {encoded}"))).transpose()
}

/// A header that no log shows.
pub(super) fn sensitive(text: &str) -> Result<HeaderValue, Fault> {
    let mut value = HeaderValue::try_from(text).map_err(|_| Fault::Malformed("token"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn in_file(path: &Path, host: &str) -> Result<Option<String>, Fault> {
    let wrong = |why: String| Fault::Settings(format!("registries.NAME.auth_file {}: {why}", path.display()));
    let text = files::read_settings(path)
        .map_err(|error| wrong(format!("cannot be read: {error}; make it readable")))?;
    // The parser's message could show the file's content.
    let file: AuthFile = serde_json::from_slice(&text)
        .map_err(|_| wrong("is not in the form of docker's config.json; `docker login` writes it".into()))?;
    let entry = file.auths.into_iter().find(|(name, _)| is_for(name, host)).map(|(_, entry)| entry);
    let Some(entry) = entry else { return Ok(None) };
    let decodes = |auth: &String| BASE64_STANDARD.decode(auth).is_ok_and(|pair| pair.contains(&b':'));
    entry.auth.filter(decodes).map(Some).ok_or_else(|| {
        wrong(format!("has no `auth` of user and password for {host}; credential helpers are not asked"))
    })
}

/// Whether an entry, which may be a URL, is for `host`.
fn is_for(name: &str, host: &str) -> bool {
    let name = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")).unwrap_or(name);
    name.split('/').next() == Some(host)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_entry_is_found_by_its_host() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        let pair = BASE64_STANDARD.encode("eva:secret");
        let text = format!(
            r#"{{"auths":{{"https://oci.example/v1/":{{"auth":"{pair}"}},"r:5000":{{}},"bad":{{"auth":"c2VjcmV0"}}}}}}"#
        );
        std::fs::write(&path, text).unwrap();
        assert_eq!(in_file(&path, "oci.example").unwrap().unwrap(), pair);
        assert_eq!(in_file(&path, "oci.example.evil.example").unwrap(), None);
        for host in ["r:5000", "bad"] {
            let refused = in_file(&path, host).unwrap_err().to_string();
            assert!(refused.contains("credential helpers") && !refused.contains("secret"), "{refused}");
        }
        std::fs::write(&path, "secret").unwrap();
        let refused = in_file(&path, "oci.example").unwrap_err().to_string();
        assert!(refused.contains("docker login") && !refused.contains("secret"), "{refused}");
        in_file(&folder.path().join("none"), "oci.example").unwrap_err();
    }

    #[test]
    fn a_header_is_not_shown() {
        assert!(!format!("{:?}", sensitive("Basic secret").unwrap()).contains("secret"));
        assert!(sensitive("Bearer a\nb").is_err());
    }
}
