//! A configuration key without a consumer is a defect: every field of the configuration is read by the host.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, sources};

/// Types that the configuration holds in private fields, by name or id.
const HELD_BY_NAME: [&str; 2] = ["SlotSettings", "ServiceSettings"];
/// Modules of the configuration's types: its own, and those of the services' tables.
const MODULES: [&str; 10] = [
    "config/src",
    "keyvalue/src/config",
    "models/src/config",
    "services/apps/src/config",
    "services/captcha/configuration/src/config",
    "services/status/src/config",
    "services/tickets/src/config",
    "services/tickets/src/guard/config",
    "services/tickets/src/knowledge/config",
    "services/tickets/src/llm/config",
];

/// The fields of a configuration type, each with the names in its type. An enum is one field without a name.
type Fields = Vec<(String, BTreeSet<String>)>;

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn is_config(source: &Source) -> bool {
    MODULES.iter().any(|module| {
        source.path.starts_with(module) || source.path.as_os_str() == format!("{module}.rs").as_str()
    })
}

/// Types of the services' tables, which the configuration holds by type.
fn tables(sources: &[Source]) -> Vec<String> {
    let codes =
        sources.iter().filter(|source| is_config(source) && !source.is_test()).map(Source::served_code);
    let names = |code: String| -> Vec<String> {
        let rest = code.split("impl ServiceTable for ").skip(1);
        rest.filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned).collect()
    };
    codes.flat_map(names).collect()
}

/// Whether the file has types that describe what a configuration is read for, and no keys.
fn is_description(source: &Source) -> bool {
    source.path.ends_with("config/src/slots/spec.rs")
}

/// The public types of `code`.
fn types(code: &str) -> Vec<(String, Fields)> {
    let mut types = Vec::new();
    for (keyword, is_enum) in [("pub struct ", false), ("pub enum ", true)] {
        for item in code.split(keyword).skip(1) {
            let Some((name, body)) = item.split_once(" {\n") else { continue };
            if !name.chars().all(char::is_alphanumeric) {
                continue;
            }
            let body = body.split("\n}").next().unwrap();
            let fields = if is_enum {
                vec![(String::new(), words(body))]
            } else {
                let fields = body.lines().filter_map(|line| line.trim().strip_prefix("pub "));
                let fields = fields.filter_map(|field| field.split_once(": "));
                fields.map(|(field, kind)| (field.to_owned(), words(kind))).collect()
            };
            types.push((name.to_owned(), fields));
        }
    }
    types
}

/// The types that make up `Config`, and what variables of each type are called: after the type, or after a
/// field that holds one.
fn configuration(sources: &[Source]) -> BTreeMap<String, (Fields, BTreeSet<String>)> {
    let keyed = sources.iter().filter(|source| is_config(source) && !is_description(source));
    let all = keyed.flat_map(|source| types(&source.served_code()));
    let all: BTreeMap<String, Fields> = all.collect();
    let mut found: BTreeMap<String, (Fields, BTreeSet<String>)> = BTreeMap::new();
    let held = HELD_BY_NAME.into_iter().filter(|name| all.contains_key(*name));
    let mut pending: Vec<String> = ["Config"].into_iter().chain(held).map(str::to_owned).collect();
    pending.extend(tables(sources));
    while let Some(name) = pending.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let fields =
            all.get(&name).unwrap_or_else(|| panic!("no type {name} in the modules of the configuration"));
        pending.extend(
            fields.iter().flat_map(|(_, kinds)| kinds).filter(|kind| all.contains_key(*kind)).cloned(),
        );
        found.insert(name.clone(), (fields.clone(), [name.to_lowercase()].into()));
    }
    for (field, kind) in found.values().flat_map(|(fields, _)| fields).flat_map(pairs).collect::<Vec<_>>() {
        if let Some((_, variables)) = found.get_mut(&kind) {
            variables.insert(field);
        }
    }
    found
}

fn pairs((field, kinds): &(String, BTreeSet<String>)) -> Vec<(String, String)> {
    kinds.iter().map(|kind| (field.clone(), kind.clone())).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn last_word(text: &str) -> &str {
    text.trim_end().rsplit(|c| !is_word(c)).next().unwrap()
}

/// Every `variable.field` of `code`, calls of methods left out.
fn reads(code: &str) -> BTreeSet<(&str, &str)> {
    let dots = code.match_indices('.').filter_map(|(at, _)| {
        let rest = &code[at + 1..];
        let field = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        (!rest[field.len()..].starts_with('(')).then(|| (last_word(&code[..at]), field))
    });
    dots.collect()
}

/// What `code` calls its parameters and fields of a type: the names in `name: &path::Type`.
fn variables<'c>(code: &'c str, kind: &str) -> BTreeSet<&'c str> {
    let uses = code.match_indices(kind).filter_map(|(at, _)| {
        let before = code[..at].trim_end_matches(|c| is_word(c) || c == '&');
        let before = before
            .strip_suffix("::")
            .map_or(before, |path| path.trim_end_matches(|c| is_word(c) || c == ':'));
        Some(last_word(before.trim_end().trim_end_matches('&').trim_end().strip_suffix(':')?))
    });
    uses.collect()
}

fn unread(sources: &[Source]) -> Vec<String> {
    let served = sources.iter().filter(|source| !is_config(source) && !source.is_test());
    let codes: Vec<String> = served.map(Source::served_code).collect();
    let configuration = configuration(sources);
    let bearers = |field: &str| {
        let fields = configuration.values().flat_map(|(fields, _)| fields);
        fields.filter(|(name, _)| name == field).count()
    };
    let mut unread = Vec::new();
    for (name, (fields, known)) in &configuration {
        for (field, _) in fields.iter().filter(|(field, _)| !field.is_empty()) {
            // A name that only one type has is that type's wherever it is read.
            let only = bearers(field) == 1;
            let reads_it = |code: &String| {
                let here = variables(code, name);
                let fits = |variable: &str| only || known.contains(variable) || here.contains(variable);
                reads(code).into_iter().any(|(variable, read)| read == field && fits(variable))
            };
            if !codes.iter().any(reads_it) {
                unread.push(format!("{name}.{field}"));
            }
        }
    }
    unread
}

#[test]
fn every_key_has_a_consumer() {
    let unread = unread(&sources("host"));
    assert!(
        unread.is_empty(),
        "nothing outside the configuration reads {}; use the setting or remove its key",
        unread.join(", ")
    );
}

/// The fields are those of the keys: the reference has as many sections as there are types.
#[test]
fn the_types_of_the_configuration_are_found() {
    let sources = sources("host");
    let found = configuration(&sources);
    assert_eq!(tables(&sources).len(), bulkhead::services::list::spec().tables.len());
    for name in [
        "Server",
        "Admin",
        "Log",
        "Sandbox",
        "Limits",
        "ServiceSettings",
        "Captcha",
        "Site",
        "Jwt",
        "Management",
    ] {
        let (fields, _) = found.get(name).unwrap_or_else(|| panic!("{name} is not found"));
        assert!(!fields.is_empty(), "{name} has no fields");
    }
    let spec = bulkhead::services::list::spec();
    for key in bulkhead::config::reference(&spec) {
        let section = key.path.split(['.', '[']).next().unwrap();
        let (fields, _) = &found["Config"];
        let is_table = spec.tables.iter().any(|table| table.name == section);
        let known = is_table || fields.iter().any(|(field, _)| field == section);
        assert!(known, "{} is in no section of the configuration", key.path);
    }
}

#[test]
fn an_unread_field_is_seen() {
    let config = "pub struct Config {\n    pub server: server::Server,\n}\n\
                  pub struct Server {\n    pub read: usize,\n    pub unread: usize,\n}\n";
    let file = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let sources = [
        file("config/src/lib.rs", config),
        file("host.rs", "fn f() { config.server.read; server.unread() }"),
    ];
    assert_eq!(unread(&sources), ["Server.unread"]);
}
