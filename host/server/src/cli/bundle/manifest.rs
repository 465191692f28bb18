//! The manifest of a bundle: its first file, with the length and the digest of each other file.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::archive::is_plain;

/// Its name in the bundle.
pub(super) const FILE: &str = "manifest.json";
/// Most bytes of a manifest.
pub(super) const MOST_BYTES: u64 = 16 << 20;
/// The form of bundles that this program writes and reads.
const FORMAT: u64 = 1;

/// The length and the digest of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileRecord {
    pub(super) bytes: u64,
    /// SHA-256, 64 lower-case hexadecimal digits.
    pub(super) sha256: String,
}

/// The manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    /// All other files by their names.
    pub(super) files: BTreeMap<String, FileRecord>,
    /// The files of components by the key of the configuration that names them, such as `slots.NAME.component`.
    pub(super) components: BTreeMap<String, String>,
    /// Keys whose secrets are not in the bundle.
    pub(super) secrets: Vec<String>,
}

impl Manifest {
    pub(super) fn text(&self) -> String {
        let record = |(name, record): (&String, &FileRecord)| {
            (name.clone(), json!({ "bytes": record.bytes, "sha256": record.sha256 }))
        };
        let files: serde_json::Map<String, Value> = self.files.iter().map(record).collect();
        let version = env!("CARGO_PKG_VERSION");
        let (components, secrets) = (&self.components, &self.secrets);
        let manifest = json!({
            "format": FORMAT, "version": version, "files": files, "components": components, "secrets": secrets,
        });
        format!("{manifest:#}\n")
    }

    /// Reads the text of a manifest, and checks that what it names is in it.
    pub(super) fn parse(text: &[u8]) -> anyhow::Result<Self> {
        let malformed = "the manifest of the bundle is malformed";
        let manifest: Value = serde_json::from_slice(text).context(malformed)?;
        let format = manifest.get("format").and_then(Value::as_u64).context(malformed)?;
        ensure!(
            format == FORMAT,
            "the bundle has format {format}, this program reads {FORMAT}; use the version that wrote it"
        );
        let record = |(name, record): (&String, &Value)| {
            let bytes = record.get("bytes")?.as_u64()?;
            let sha256 = record.get("sha256")?.as_str()?.to_owned();
            Some((name.clone(), FileRecord { bytes, sha256 }))
        };
        let members = |name: &str| manifest.get(name)?.as_object();
        let files = members("files").and_then(|files| files.iter().map(record).collect::<Option<_>>());
        let component = |(key, file): (&String, &Value)| Some((key.clone(), file.as_str()?.to_owned()));
        let components =
            members("components").and_then(|files| files.iter().map(component).collect::<Option<_>>());
        let secrets = manifest.get("secrets").and_then(|secrets| {
            secrets.as_array()?.iter().map(|key| Some(key.as_str()?.to_owned())).collect::<Option<_>>()
        });
        let (files, components, secrets) =
            (files.context(malformed)?, components.context(malformed)?, secrets.context(malformed)?);
        let manifest = Self { files, components, secrets };
        for name in manifest.files.keys() {
            ensure!(
                is_plain(name) && name != FILE,
                "the manifest names {name:?}, which is not below its own folder"
            );
        }
        for (key, file) in &manifest.components {
            ensure!(
                component_slot(key).is_some(),
                "the manifest names {key:?}, which is not a key of a component"
            );
            ensure!(
                manifest.files.contains_key(file),
                "{file}, the component of {key}, is not in the manifest"
            );
        }
        Ok(manifest)
    }
}

/// Returns the path of the key of a slot's component, such as `slots.NAME.component`.
pub(super) fn component_slot(key: &str) -> Option<[&str; 3]> {
    let is_name = |name: &&str| {
        let is_one = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        !name.is_empty() && name.chars().all(is_one)
    };
    let path: Vec<&str> = key.split('.').filter(is_name).collect();
    let path: [&str; 3] = path.try_into().ok()?;
    (path.join(".") == key && path.last() == Some(&"component")).then_some(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn manifest() -> Manifest {
        let record = FileRecord { bytes: 7, sha256: "ab".repeat(32) };
        let files =
            ["components/captcha.wasm", "configuration.toml"].map(|name| (name.to_owned(), record.clone()));
        let component = ("slots.captcha.component".to_owned(), "components/captcha.wasm".to_owned());
        Manifest {
            files: files.into(),
            components: [component].into(),
            secrets: vec!["captcha.hmac_key".to_owned()],
        }
    }

    #[test]
    fn written_manifest_is_read() {
        let manifest = manifest();
        assert_eq!(Manifest::parse(manifest.text().as_bytes()).unwrap(), manifest);
        assert_eq!(Manifest::parse(Manifest::default().text().as_bytes()).unwrap(), Manifest::default());
    }

    #[test]
    fn wrong_manifest_is_refused() {
        let text = manifest().text();
        for (from, to, expected) in [
            ("\"format\": 1", "\"format\": 2", "has format 2"),
            ("\"bytes\": 7", "\"bytes\": -7", "malformed"),
            ("\"secrets\": [", "\"secrets\": [7,", "malformed"),
            ("\"configuration.toml\"", "\"../configuration.toml\"", "not below its own folder"),
            ("\"configuration.toml\"", "\"manifest.json\"", "not below its own folder"),
            ("\"slots.captcha.component\"", "\"slots.captcha.grants\"", "not a key of a component"),
            (": \"components/captcha.wasm\"", ": \"components/other.wasm\"", "is not in the manifest"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            let error = format!("{:#}", Manifest::parse(changed.as_bytes()).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
        Manifest::parse(b"{").unwrap_err();
    }

    #[test]
    fn component_keys_have_three_names() {
        assert_eq!(component_slot("apps.a-shop.component"), Some(["apps", "a-shop", "component"]));
        for key in [
            "component",
            "slots.component",
            "slots.a.b",
            "a.b.c.component",
            "slots..component",
            "a.\"b\".component",
        ] {
            assert_eq!(component_slot(key), None, "{key}");
        }
    }
}
