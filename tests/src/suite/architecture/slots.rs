//! The platform names no slot, and the configuration no table of a service: one list above both says which there are.

use bulkhead::services::list;

use super::source::{Source, sources};

/// Where the list of slots stands.
const LIST: &str = "services/list.rs";
/// Modules and files of the platform, in which no slot is named.
const PLATFORM: [&str; 17] = [
    "admin",
    "capabilities",
    "compile",
    "config/grants.rs",
    "config/host_spec.rs",
    "config/limits.rs",
    "config/registries.rs",
    "config/services.rs",
    "config/slot_id.rs",
    "config/slots.rs",
    "config/spec.rs",
    "deploy",
    "http",
    "invoke",
    "sandbox",
    "slots",
    "telemetry",
];
/// Ids that are also names of labels and of JSON members. As ids they are seen by the constructor.
const WORDS: [&str; 2] = ["answer", "status"];

/// Modules and files in which no table of a service is named, but by their tests.
const WITHOUT_TABLES: [&str; 1] = ["config"];
/// Texts of the reference that name a key of a service's table, with the file that has each.
const TEXTS: [(&str, &str); 1] = [("config/sharing.rs", "(captcha.database)")];

fn is_of(source: &Source, modules: &[&str]) -> bool {
    modules.iter().any(|module| {
        source.path.starts_with(module) || source.path.as_os_str() == format!("{module}.rs").as_str()
    })
}

fn is_platform(source: &Source) -> bool {
    is_of(source, &PLATFORM)
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

/// Returns the lines of `source` that name one of these tables.
fn naming_tables<'s>(source: &'s Source, tables: &[&str]) -> Vec<&'s str> {
    let is_text =
        |line: &str| TEXTS.iter().any(|(file, text)| source.path.as_os_str() == *file && line.contains(text));
    source.served_lines().filter(|line| has_word(line, tables) && !is_text(line)).collect()
}

/// What of `source` names a slot.
fn named<'s>(source: &'s Source, ids: &[&str]) -> Vec<&'s str> {
    let literals: Vec<String> = ids.iter().map(|id| format!("\"{id}\"")).collect();
    let keys: Vec<String> = ids.iter().map(|id| format!("slots.{id}")).collect();
    let is_literal = |line: &str| {
        let plain = ids.iter().zip(&literals).filter(|(id, _)| !WORDS.contains(id));
        plain.into_iter().any(|(_, literal)| line.contains(literal.as_str()))
    };
    let names = |line: &&str| {
        line.contains("SlotId::new(\"")
            || is_platform(source) && (is_literal(line) || keys.iter().any(|key| line.contains(key.as_str())))
    };
    source.served_lines().filter(names).collect()
}

fn ids() -> Vec<&'static str> {
    list::spec().slots().map(|slot| slot.id.as_str()).collect()
}

#[test]
fn no_slot_is_named_outside_the_list() {
    let sources = sources("host/src");
    assert!(PLATFORM.iter().all(|module| {
        sources.iter().any(|source| {
            source.path.starts_with(module) || source.path.as_os_str() == format!("{module}.rs").as_str()
        })
    }));
    let served = sources.iter().filter(|source| !source.is_test() && source.path.as_os_str() != LIST);
    let named: Vec<String> = served
        .flat_map(|source| named(source, &ids()).into_iter().map(|line| (source, line)).collect::<Vec<_>>())
        .map(|(source, line)| format!("{}: {}", source.path.display(), line.trim()))
        .collect();
    assert!(named.is_empty(), "slots are named outside {LIST}:\n  {}", named.join("\n  "));
}

#[test]
fn named_slot_is_seen() {
    let file = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    for (path, text, is_seen) in [
        ("deploy/local_store.rs", "if id == \"captcha\" {", true),
        ("deploy.rs", "let key = \"slots.status.grants\";", true),
        ("host.rs", "SlotId::new(\"status\")", true),
        ("host.rs", "if service == \"captcha\" {", false),
        ("admin/v1.rs", "json!({ \"status\": 200 })", false),
        ("slots.rs", "// The slot \"captcha\".", false),
        ("slots.rs", "#[cfg(test)]\nmod tests {\nconst SLOT: SlotId = SlotId::new(\"captcha\");", false),
    ] {
        assert_eq!(!named(&file(path, text), &["captcha", "status"]).is_empty(), is_seen, "{text}");
    }
}

#[test]
fn no_table_of_a_service_is_named_below_the_services() {
    let spec = list::spec();
    let tables: Vec<&str> = spec.tables.iter().map(|table| table.name).collect();
    let sources = sources("host/src");
    let without = sources.iter().filter(|source| !source.is_test() && is_of(source, &WITHOUT_TABLES));
    let named: Vec<String> = without
        .flat_map(|source| naming_tables(source, &tables).into_iter().map(move |line| (source, line)))
        .map(|(source, line)| format!("{}: {}", source.path.display(), line.trim()))
        .collect();
    assert!(named.is_empty(), "tables of services are named:\n  {}", named.join("\n  "));
}

#[test]
fn named_table_is_seen() {
    let file = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    for (path, text, is_seen) in [
        ("config/load.rs", "let table = Captcha::read(captcha);", true),
        ("config/tree.rs", "[\"captcha\", \"sites\"]", true),
        ("config/alias.rs", "(\"API_KEY\", \"captcha.api_keys\")", true),
        ("config.rs", "pub captcha: Captcha,", true),
        ("config/forms.rs", "\"must be empty or like /captcha\"", false),
        ("config/load.rs", "// The table captcha.", false),
        ("config/load.rs", "let captchas = 2;", false),
        ("config/sharing.rs", "\"Hosts on one PostgreSQL (captcha.database) keep\"", false),
    ] {
        assert_eq!(!naming_tables(&file(path, text), &["captcha"]).is_empty(), is_seen, "{text}");
    }
}
