//! Tests of the tables of the whole binary.

use std::fs;

use super::loaded;
use crate::services::list::spec;

#[test]
fn remote_databases_without_tls_are_warned_about() {
    for key in ["captcha.database", "status.database", "tickets.knowledge.url"] {
        let warned = |host: &str| {
            let toml = format!("captcha.hmac_key = 'k'\n{key} = 'postgres://u:p@{host}/d'");
            let warnings = loaded(&toml, &[]).warnings;
            warnings.iter().filter(|warning| warning.key == key && warning.text.contains("TLS")).count()
        };
        assert_eq!((warned("db.example"), warned("127.0.0.1")), (1, 0), "{key}");
    }
}

#[test]
fn file_of_settings_is_read_for_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings");
    let auth = "auth = 'jwt'\n[captcha.jwt]\nkey_set_file";
    for (key, toml) in [
        ("tickets.triage", "[tickets]\ntriage"),
        ("captcha.jwt.key_set_file", &*format!("[captcha]\n{auth}")),
    ] {
        let digest = || loaded(&format!("{toml} = '{}'", file.display()), &[]).set[key];
        fs::write(&file, "one").unwrap();
        let one = digest();
        assert_eq!(one, digest(), "{key}");
        fs::write(&file, "two").unwrap();
        assert_ne!(one, digest(), "{key}");
    }
}

#[test]
fn every_table_is_read_once() {
    let mut names: Vec<&str> = spec().tables.iter().map(|table| table.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["apps", "captcha", "embedding", "keyvalue", "management", "status", "tickets"]);
}
