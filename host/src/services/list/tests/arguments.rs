//! Tests of the command line of the whole binary.

use bulkhead_server::cli::command;

use crate::services::list::BULKHEAD;

/// The subcommands of every binary, then those of services.
const SUBCOMMANDS: [&str; 17] = [
    "serve",
    "config",
    "component",
    "wit",
    "bundle",
    "admin",
    "health",
    "doctor",
    "completions",
    "man",
    "run",
    "model",
    "demo",
    "captcha",
    "kb",
    "triage",
    "tickets",
];

/// Returns whether the binary takes these arguments.
fn is_taken(arguments: &[&str]) -> bool {
    let arguments = [BULKHEAD.name].into_iter().chain(arguments.iter().copied());
    command(&BULKHEAD).try_get_matches_from(arguments).is_ok()
}

#[test]
fn arguments_are_well_formed() {
    command(&BULKHEAD).debug_assert();
}

#[test]
fn subcommands_keep_their_order() {
    let command = command(&BULKHEAD);
    let names: Vec<&str> = command.get_subcommands().map(|own| own.get_name()).collect();
    assert_eq!(names, SUBCOMMANDS);
}

#[test]
fn slots_of_apps_are_taken() {
    for (slot, is_one) in [("captcha", true), ("an-app", true), ("No-App", false)] {
        assert_eq!(is_taken(&["component", "show", slot]), is_one, "{slot}");
        assert_eq!(is_taken(&["component", "check", "--slot", slot, "a.wasm"]), is_one, "{slot}");
    }
    for (subject, is_one) in [("captcha", true), ("config", true), ("an-app", true), ("No-App", false)] {
        assert_eq!(is_taken(&["admin", "audit", "--slot", subject]), is_one, "{subject}");
    }
}

#[test]
fn flags_of_services_set_keys() {
    let given = command(&BULKHEAD).try_get_matches_from(["bulkhead", "serve", "--model", "one,two"]).unwrap();
    let given = given.subcommand_matches("serve").unwrap();
    let flags: Vec<_> = BULKHEAD.serve_flags().flat_map(|own| own.read(given).unwrap()).collect();
    let set: Vec<_> = flags.iter().map(|flag| (flag.path.as_str(), flag.value.as_str())).collect();
    assert_eq!(set, [("embedding.models", "one,two")]);
}
