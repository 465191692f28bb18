//! Tests of the key reference of the whole binary.

use std::collections::BTreeSet;

use super::{loaded, spec};
use crate::config::reference;

/// Every key once. A new key fails the test below until it is added here.
const EVERYTHING: &str = include_str!("everything.toml");

/// Replaces chosen names and indexes of a path by placeholders.
fn label(path: &[String]) -> String {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["slots", _, "config", _] => "slots.NAME.config.KEY".to_owned(),
        ["slots", _, rest @ ..] => format!("slots.NAME.{}", rest.join(".")),
        ["apps", _, table @ ("config" | "secrets"), _] => format!("apps.NAME.{table}.KEY"),
        ["apps", _, "outgoing[]", "headers", _] => "apps.NAME.outgoing[].headers.KEY".to_owned(),
        ["keyvalue", "stores", _, rest] => format!("keyvalue.stores.NAME.{rest}"),
        ["apps", _, rest @ ..] => format!("apps.NAME.{}", rest.join(".")),
        ["registries", _, rest] => format!("registries.NAME.{rest}"),
        ["admin", "tokens", _, rest] => format!("admin.tokens.NAME.{rest}"),
        ["embedding", table @ ("default_prompts" | "graphs" | "heads"), _] => {
            format!("embedding.{table}.KEY")
        }
        ["embedding", "keys", _, rest] => format!("embedding.keys.NAME.{rest}"),
        ["captcha", "sites", _, rest @ ..] => format!("captcha.sites.KEY.{}", rest.join(".")),
        other => other.join("."),
    }
}

fn leaves(table: &toml::Table, path: &mut Vec<String>, out: &mut BTreeSet<String>) {
    for (key, value) in table {
        path.push(key.clone());
        match value {
            toml::Value::Table(inner) => leaves(inner, path, out),
            toml::Value::Array(rows) if rows.iter().all(toml::Value::is_table) && !rows.is_empty() => {
                path.pop();
                path.push(format!("{key}[]"));
                rows.iter().for_each(|row| leaves(row.as_table().unwrap(), path, out));
            }
            _ => drop(out.insert(label(path))),
        }
        path.pop();
    }
}

#[test]
fn reference_and_reader_have_the_same_keys() {
    loaded(EVERYTHING, &[]);
    let mut written = BTreeSet::new();
    leaves(&EVERYTHING.parse().unwrap(), &mut Vec::new(), &mut written);
    // The one key that another excludes.
    written.insert("captcha.jwt.key_set_file".to_owned());
    let known: BTreeSet<String> = reference(&spec()).into_iter().map(|doc| doc.path).collect();
    let difference: Vec<_> = written.symmetric_difference(&known).collect();
    assert!(difference.is_empty(), "{difference:?}");
}

#[test]
fn every_key_is_explained_once() {
    let docs = reference(&spec());
    let paths: BTreeSet<&str> = docs.iter().map(|doc| doc.path.as_str()).collect();
    assert_eq!(paths.len(), docs.len());
    for doc in &docs {
        assert!(!doc.doc.is_empty() && !doc.unit.is_empty(), "{doc:?}");
        assert!(!doc.doc.ends_with('.') && doc.doc.len() <= 90, "{doc:?}");
    }
    let find = |path: &str| docs.iter().find(|doc| doc.path == path).unwrap();
    assert_eq!(find("server.listen").default, "127.0.0.1:8080");
    assert_eq!(find("slots.NAME.cpu_ms").default, "1000; captcha: 200");
    assert_eq!(find("slots.NAME.memory_bytes").default, "67108864");
    assert!(docs.iter().all(|doc| !doc.path.starts_with("slots.captcha.")));
    assert_eq!(find("server.drain_seconds").unit, "seconds, 0 to 3600");
    assert_eq!(find("log.level").default, "info");
}
