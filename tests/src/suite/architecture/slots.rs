//! The platform names no slot, table or metric of a service: a slot is named by the service that owns it, above the platform.

use bulkhead::{services::list, telemetry::catalog};

use super::{
    crates,
    source::{Source, sources},
};

/// Folder of the services below `host`, each in a folder of its name.
const SERVICES: &str = "services";
/// Crates of the platform with metrics of their own, which a service lists.
const WITH_METRICS: [&str; 2] = ["keyvalue", "outgoing"];
/// Ids and tables that are also names of labels and of JSON members. As ids they are seen by the constructor, as tables in the
/// names of their keys.
const WORDS: [&str; 2] = ["answer", "status"];

fn is_of(source: &Source, folders: &[&str]) -> bool {
    folders.iter().any(|folder| source.path.starts_with(folder))
}

/// Returns the folders of the platform below `host`, in which no slot and no table of a service is named.
fn platform() -> Vec<&'static str> {
    crates::PLATFORM.map(|(folder, _)| folder).to_vec()
}

/// Returns whether a line has one of these words. Part of a path, as in `/captcha`, is not one.
fn has_word(line: &str, words: &[&str]) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let has = |word: &&str| {
        line.match_indices(*word).any(|(at, _)| {
            !line[..at].ends_with(|c: char| is_word(c) || c == '/')
                && !line[at + word.len()..].starts_with(is_word)
        })
    };
    words.iter().any(has)
}

/// Returns whether a literal in a line names a key of one of these tables.
fn has_key(line: &str, tables: &[&str]) -> bool {
    let is_key = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    tables.iter().any(|table| {
        let names = ["\"", "`"].map(|quote| format!("{quote}{table}."));
        names.iter().any(|name| line.split(name.as_str()).skip(1).any(is_key))
    })
}

/// Returns the lines of `source` that name one of these tables.
fn naming_tables<'s>(source: &'s Source, tables: &[&str]) -> Vec<&'s str> {
    let (words, plain): (Vec<&str>, Vec<&str>) =
        tables.iter().copied().partition(|table| WORDS.contains(table));
    source.served_lines().filter(|line| has_word(line, &plain) || has_key(line, &words)).collect()
}

/// The service in whose folder a source is, if it is in one.
fn service(source: &Source) -> Option<&str> {
    source.path.strip_prefix(SERVICES).ok()?.iter().next()?.to_str()
}

/// What of `source` names a slot that its service does not own. Each slot is given by its id and its service.
fn named<'s>(source: &'s Source, slots: &[(&str, &str)]) -> Vec<&'s str> {
    let is_literal = |line: &str| {
        let mut plain = slots.iter().filter(|(id, _)| !WORDS.contains(id));
        plain.any(|(id, _)| line.contains(&format!("\"{id}\"")))
    };
    let is_key = |line: &str| slots.iter().any(|(id, _)| line.contains(&format!("slots.{id}")));
    let is_own = |line: &str| {
        let mut own = slots.iter().filter(|(_, owner)| service(source) == Some(*owner));
        own.any(|(id, _)| line.contains(&format!("SlotId::new(\"{id}\")")))
    };
    let is_platform = is_of(source, &platform());
    let names = |line: &&str| {
        line.contains("SlotId::new(\"") && !is_own(line) || is_platform && (is_literal(line) || is_key(line))
    };
    source.served_lines().filter(names).collect()
}

fn slots() -> Vec<(&'static str, &'static str)> {
    list::spec().slots().map(|slot| (slot.id.as_str(), slot.service)).collect()
}

#[test]
fn no_slot_is_named_outside_its_service() {
    let sources = sources("host");
    assert!(platform().iter().all(|folder| sources.iter().any(|source| source.path.starts_with(folder))));
    let served = sources.iter().filter(|source| !source.is_test());
    let named: Vec<String> = served
        .flat_map(|source| named(source, &slots()).into_iter().map(|line| (source, line)).collect::<Vec<_>>())
        .map(|(source, line)| format!("{}: {}", source.path.display(), line.trim()))
        .collect();
    assert!(
        named.is_empty(),
        "slots are named outside the service that owns them:\n  {}",
        named.join("\n  ")
    );
}

#[test]
fn named_slot_is_seen() {
    let file = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let slots = [("captcha", "captcha"), ("status", "status")];
    for (path, text, is_seen) in [
        ("rollout/src/state/local_store.rs", "if id == \"captcha\" {", true),
        ("rollout/src/lib.rs", "let key = \"slots.status.grants\";", true),
        ("server/src/host.rs", "SlotId::new(\"status\")", true),
        ("server/src/cli.rs", "if service == \"captcha\" {", true),
        ("src/services.rs", "SlotId::new(\"status\")", true),
        ("src/services.rs", "if service == \"captcha\" {", false),
        ("src/services/list.rs", "SlotId::new(\"captcha\")", true),
        ("services/captcha/src/spec.rs", "SlotId::new(\"captcha\")", false),
        ("services/captcha/src/spec.rs", "SlotId::new(\"status\")", true),
        ("admin/src/v1.rs", "json!({ \"status\": 200 })", false),
        ("runtime/src/slots.rs", "// The slot \"captcha\".", false),
        (
            "runtime/src/slots.rs",
            "#[cfg(test)]\nmod tests {\nconst SLOT: SlotId = SlotId::new(\"captcha\");",
            false,
        ),
    ] {
        assert_eq!(!named(&file(path, text), &slots).is_empty(), is_seen, "{text}");
    }
}

#[test]
fn platform_names_no_table_of_a_service() {
    let spec = list::spec();
    // The table of stores is that of a crate of the platform, which a service lists.
    let tables: Vec<&str> =
        spec.tables.iter().map(|table| table.name).filter(|table| *table != "keyvalue").collect();
    let sources = sources("host");
    let platform = platform();
    let without = sources.iter().filter(|source| !source.is_test() && is_of(source, &platform));
    let named: Vec<String> = without
        .flat_map(|source| naming_tables(source, &tables).into_iter().map(move |line| (source, line)))
        .map(|(source, line)| format!("{}: {}", source.path.display(), line.trim()))
        .collect();
    assert!(named.is_empty(), "tables of services are named:\n  {}", named.join("\n  "));
}

#[test]
fn platform_names_no_metric_of_a_service() {
    let is_of_platform = |name: &str| catalog::ALL.iter().any(|family| family.name == name);
    let names = list::metric_families().into_iter().map(|family| family.name);
    let literals: Vec<String> =
        names.filter(|name| !is_of_platform(name)).map(|name| format!("\"{name}\"")).collect();
    assert!(literals.len() > 30, "{literals:?}");
    let mut platform = platform();
    platform.retain(|folder| !WITH_METRICS.contains(folder));
    let sources = sources("host");
    let without = sources.iter().filter(|source| !source.is_test() && is_of(source, &platform));
    let named: Vec<String> = without
        .flat_map(|source| source.served_lines().map(move |line| (source, line)))
        .filter(|(_, line)| literals.iter().any(|literal| line.contains(literal.as_str())))
        .map(|(source, line)| format!("{}: {}", source.path.display(), line.trim()))
        .collect();
    assert!(named.is_empty(), "metrics of services are named:\n  {}", named.join("\n  "));
}

#[test]
fn named_table_is_seen() {
    let file = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    for (path, text, is_seen) in [
        ("config/src/load.rs", "let table = Captcha::read(captcha);", true),
        ("config/src/tree.rs", "[\"captcha\", \"sites\"]", true),
        ("config/src/alias.rs", "(\"API_KEY\", \"captcha.api_keys\")", true),
        ("config/src/lib.rs", "pub captcha: Captcha,", true),
        ("config/src/formats.rs", "\"must be empty or like /captcha\"", false),
        ("config/src/load.rs", "// The table captcha.", false),
        ("config/src/load.rs", "let captchas = 2;", false),
        ("config/src/sharing.rs", "\"Hosts on one PostgreSQL (captcha.database) keep\"", true),
        ("admin/src/v1.rs", "json!({ \"status\": 200 })", false),
        ("http/src/body.rs", "let status = answer.status.as_u16();", false),
        ("rollout/src/reload/keys.rs", "&[\"status.tokens\"]", true),
        ("http/src/error.rs", "\"set `status.tokens`\"", true),
    ] {
        assert_eq!(!naming_tables(&file(path, text), &["captcha", "status"]).is_empty(), is_seen, "{text}");
    }
}
