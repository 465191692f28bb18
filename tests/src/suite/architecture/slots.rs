//! The platform names no slot: which slots there are stands in one list, above it.

use bulkhead::services::list;

use super::source::{Source, sources};

/// Where the list of slots stands.
const LIST: &str = "services/list.rs";
/// Modules and files of the platform, in which no slot is named.
const PLATFORM: [&str; 15] = [
    "admin",
    "capabilities",
    "compile",
    "config/grants.rs",
    "config/limits.rs",
    "config/registries.rs",
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

fn is_platform(source: &Source) -> bool {
    PLATFORM.iter().any(|module| {
        source.path.starts_with(module) || source.path.as_os_str() == format!("{module}.rs").as_str()
    })
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
        ("deploy/vault.rs", "if id == \"captcha\" {", true),
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
