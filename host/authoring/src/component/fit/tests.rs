//! Tests of which world a component fits.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;
use crate::platform::tests::{platform, without_services};

fn text_of(component: &str) -> String {
    text_on(&platform(), component)
}

/// The same on another platform.
fn text_on(platform: &AuthorPlatform, component: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file.wasm");
    std::fs::write(&file, wat::parse_str(component).unwrap()).unwrap();
    let report = check(platform, &file).unwrap();
    report.failure.map_or(report.text, |failure| failure.to_string())
}

/// A component with these imports and exports.
fn component(import: &str, exports: &[&str]) -> String {
    let exports: String =
        exports.iter().map(|name| format!(r#"(export "{name}" (instance $empty))"#)).collect();
    format!("(component {import} (instance $empty) {exports})")
}

/// A component with this import and a handler of requests with these parameters.
fn handler(import: &str, parameters: &str) -> String {
    format!(
        r#"(component
            {import}
            (import "wasi:http/types@0.2.3" (instance $types
                (export "incoming-request" (type (sub resource)))
                (export "response-outparam" (type (sub resource)))))
            (alias export $types "incoming-request" (type $request))
            (alias export $types "response-outparam" (type $out))
            (core module $code
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0)
                (func (export "handle") (param i32 i32)))
            (core instance $core (instantiate $code))
            (func $handle {parameters}
                (canon lift (core func $core "handle") (memory $core "memory")
                    (realloc (func $core "realloc"))))
            (instance $handler (export "handle" (func $handle)))
            (export "wasi:http/incoming-handler@0.2.3" (instance $handler)))"#
    )
}

/// The parameters of the world.
const SOUND: &str = r#"(param "request" (own $request)) (param "response-out" (own $out))"#;

#[test]
fn fitting_world_names_its_slot() {
    let text = text_of(&component("", &["greet", "self-test"]));
    assert!(text.contains("fits test:greeter/greeter@0.1.0, the world of slot greeter"), "{text}");
    assert!(text.contains("bulkhead component check --slot greeter "), "{text}");
}

#[test]
fn needed_grant_is_named() {
    let import = r#"(import "bulkhead:host/keys@0.1.1" (instance))"#;
    let text = text_of(&component(import, &["greet", "self-test"]));
    assert!(text.contains("it needs a grant: slots.greeter.grants = [\"bulkhead:host/keys\"]"), "{text}");
}

#[test]
fn served_world_needs_no_slot() {
    let text = text_of(&handler("", SOUND));
    assert!(text.contains("fits wasi:http/proxy, which needs no slot; run it"), "{text}");
}

#[test]
fn served_world_needs_named_grant() {
    let import = r#"(import "bulkhead:host/keys@0.1.0" (instance))"#;
    let text = text_of(&handler(import, SOUND));
    assert!(text.contains("it needs a grant: apps.name.grants = [\"bulkhead:host/keys\"]"), "{text}");
}

#[test]
fn served_world_refuses_what_hosts_refuse() {
    let import = r#"(import "wasi:clocks/wall-clock@0.3.0" (instance))"#;
    for (import, export, why) in [
        (import, "wasi:http/incoming-handler@0.2.3", "this host offers wasi:clocks/wall-clock@0.2.12"),
        ("", "wasi:http/incoming-handler@0.3.10", "this slot takes wasi:http/incoming-handler@0.2.12"),
        ("", "wasi:http/handler@0.3.0", "built for wasi:http 0.3; this host serves 0.2"),
    ] {
        let text = text_of(&component(import, &[export]));
        assert!(text.contains("is meant for wasi:http/proxy, and this host refuses it"), "{text}");
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn handler_of_other_type_is_refused() {
    let wanted = "func(request: incoming-request, response-out: response-outparam)";
    for (component, why) in [
        (
            handler("", r#"(param "request" string)"#),
            "it exports wasi:http/incoming-handler#handle as func(request: string)",
        ),
        (
            handler("", r#"(param "request" (own $out)) (param "response-out" (own $request))"#),
            "it exports wasi:http/incoming-handler#handle as func(",
        ),
        (
            component("", &["wasi:http/incoming-handler@0.2.3"]),
            "it does not export wasi:http/incoming-handler#handle",
        ),
    ] {
        let text = text_of(&component);
        assert!(text.contains("is meant for wasi:http/proxy, and this host refuses it"), "{text}");
        assert!(text.contains(why) && text.contains(wanted), "{text}");
    }
}

#[test]
fn nearest_slot_says_what_is_wrong() {
    let text = text_of(&component("", &["greet"]));
    assert!(text.contains("fits no world of this host, which has test:greeter/greeter@0.1.0"), "{text}");
    assert!(text.contains("it does not export self-test"), "{text}");
}

#[test]
fn platform_without_worlds_has_none() {
    let text = text_on(&without_services(), &component("", &["greet"]));
    assert!(text.ends_with("fits no world of this host, which has none"), "{text}");
}
