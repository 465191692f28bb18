//! Tests of names, versions and refusal texts.

#![allow(clippy::indexing_slicing)]

use bulkhead_config::slots::Limits;

use super::*;
use crate::{
    capabilities::{self, Capability, Deprecated},
    slots::outline::Usage,
};

const EXPORTS: &[&str] = &["bulkhead:captcha/challenges@0.1.0", "self-test"];

/// Names that two interfaces had before.
const DEPRECATED: &[Deprecated] = &[
    Deprecated { name: "bulkhead:old/keys", version: "0.1.0", instead: "bulkhead:host/keys" },
    Deprecated { name: "bulkhead:old/llm", version: "0.1.0", instead: "bulkhead:host/llm" },
];

/// A capability that the slot is not granted.
struct Llm;

impl Capability for Llm {
    fn interfaces(&self) -> &'static [Interface] {
        &[Interface {
            name: "bulkhead:host/llm",
            version: "0.1.2",
            is_general: false,
            functions: &[],
            add_to_linker: |_| Ok(()),
        }]
    }
}

fn contract<'a>(grants: &'a [String], capabilities: &'a CapabilitySet) -> Contract<'a> {
    let world = "bulkhead:captcha/captcha@0.1.0";
    let slot = SlotSpec {
        id: SlotId::new("captcha"),
        service: "captcha",
        limits: &Limits::DEFAULT,
        grants: &["bulkhead:host/keys"],
        uses_models: false,
        component: None,
    };
    let limits = ComponentLimits::DEFAULT;
    Contract { slot, table: "slots", world, exports: EXPORTS, grants, limits, capabilities }
}

/// Returns the findings for a component with these names.
fn findings(exports: &[&str], imports: &[&str], grants: &[&str]) -> Vec<String> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let outline = Outline { imports: owned(imports), exports: owned(exports), ..Outline::default() };
    let capabilities = capabilities::general().with(Llm).with_deprecated(DEPRECATED);
    let findings = contract(&owned(grants), &capabilities).compare(&outline);
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn versions_are_compatible_by_semver() {
    assert!(compatible("a:b/c@0.2.3", "a:b/c@0.2.12"));
    assert!(compatible("a:b/c@1.4.0", "a:b/c@1.0.0"));
    assert!(compatible("self-test", "self-test"));
    assert!(!compatible("a:b/c@0.3.0", "a:b/c@0.2.0"));
    assert!(!compatible("a:b/c@0.0.1", "a:b/c@0.0.2"));
    assert!(!compatible("a:b/c@0.2.0-rc.2", "a:b/c@0.2.0-rc.1"));
    assert!(!compatible("a:b/c@0.2.0-rc.1", "a:b/c@0.2.0"));
    assert!(!compatible("a:b/d@0.2.0", "a:b/c@0.2.0"));
}

#[test]
fn exported_and_granted_names_pass() {
    let imports = ["wasi:clocks/wall-clock@0.2.3", "bulkhead:host/keys@0.1.1", "bulkhead:host/llm@0.1.1"];
    assert_eq!(findings(EXPORTS, &imports, &["bulkhead:host/llm"]), [""; 0]);
}

#[test]
fn missing_export_names_near_miss() {
    let exports = ["bulkhead:captcha/challenge@0.1.0", "self-test", "memory"];
    assert_eq!(
        findings(&exports, &[], &[]),
        ["it does not export bulkhead:captcha/challenges@0.1.0; \
          the nearest is bulkhead:captcha/challenge@0.1.0"]
    );
    for far in ["bulkhead:captcha/challenge-set@0.1.0", "bulkhead:status/figures@0.1.0"] {
        assert_eq!(
            findings(&[far, "self-test"], &[], &[]),
            ["it does not export bulkhead:captcha/challenges@0.1.0"],
            "{far}"
        );
    }
}

#[test]
fn unknown_import_names_near_miss() {
    let imports = [
        "wasi:clocks/wall-clocks@0.2.12",
        "wasi:clokcs/wall-clock@0.2.12",
        "wasi:clocks/timezone@0.2.12",
        "wasi:cli/stdot@0.2.12",
        "wasi:cli/run@0.2.12",
        "evil",
    ];
    assert_eq!(
        findings(EXPORTS, &imports, &[]),
        [
            "it imports wasi:clocks/wall-clocks@0.2.12, not offered by this host; \
         the nearest is wasi:clocks/wall-clock",
            "it imports wasi:clokcs/wall-clock@0.2.12, not offered by this host; \
         the nearest is wasi:clocks/wall-clock",
            "it imports wasi:clocks/timezone@0.2.12, not offered by this host",
            "it imports wasi:cli/stdot@0.2.12, not offered by this host; the nearest is wasi:cli/stdout",
            "it imports wasi:cli/run@0.2.12, not offered by this host",
            "it imports evil, not offered by this host",
        ]
    );
}

#[test]
fn component_of_other_kind_is_named() {
    for (export, kind) in [
        ("wasi:http/incoming-handler@0.2.0", "wasi:http"),
        ("wasi:http/incoming-handler@0.2.12", "wasi:http"),
        ("wasi:http/handler@0.3.0", "wasi:http"),
        ("wasi:http/handler@0.3.0-rc-2026-01-06", "wasi:http"),
        ("wasi:http/proxy@0.2.0", "wasi:http"),
        ("wasi:cli/run@0.2.6", "wasi:cli"),
    ] {
        let found = findings(&[export], &["wasi:http/types@0.2.0", "wasi:io/streams@0.2.0"], &[]);
        let expected = format!(
            "this is a {kind} component (it exports {export}), which this slot does not take; build it for the \
             slot's world"
        );
        assert_eq!(found, [expected]);
        let also = [EXPORTS[0], EXPORTS[1], export];
        assert_eq!(findings(&also, &[], &[]), [""; 0], "other exports are allowed in addition");
    }
    let other = ["wasi:http/outgoing-handler@0.2.0"];
    assert!(findings(&other, &[], &[])[0].starts_with("it does not export"));
}

#[test]
fn ungranted_import_names_line_with_all_grants() {
    assert_eq!(
        findings(EXPORTS, &["bulkhead:host/llm@0.1.1"], &["other:thing/here"]),
        ["it imports bulkhead:host/llm@0.1.1, offered as bulkhead:host/llm@0.1.2 but not granted; \
          grant it with slots.captcha.grants = [\"other:thing/here\", \"bulkhead:host/llm\"]"]
    );
}

#[test]
fn one_line_grants_every_import() {
    // The first is granted to all, the second has another version, and the last is the third again.
    let imports = [
        "wasi:clocks/wall-clock@0.2.12",
        "bulkhead:old/keys@0.2.0",
        "bulkhead:old/llm@0.1.0",
        "bulkhead:host/llm@0.1.1",
    ];
    let found = findings(EXPORTS, &imports, &["other:thing/here"]);
    assert_eq!(found.len(), 3, "{found:?}");
    let line = "slots.captcha.grants = [\"other:thing/here\", \"bulkhead:host/llm\"]";
    assert!(found.iter().skip(1).all(|finding| finding.ends_with(line)), "{found:?}");
}

#[test]
fn deprecated_import_is_the_renamed_interface() {
    let deprecated = ["bulkhead:old/keys@0.1.0", "bulkhead:old/keys@0.1.7"];
    assert_eq!(findings(EXPORTS, &deprecated, &[]), [""; 0], "the slot has the interface");
    let both = ["bulkhead:old/llm@0.1.0", "bulkhead:host/llm@0.1.2"];
    for grant in ["bulkhead:old/llm", "bulkhead:host/llm"] {
        assert_eq!(findings(EXPORTS, &both, &[grant]), [""; 0], "{grant} grants both names");
    }
    assert_eq!(
        findings(
            EXPORTS,
            &["bulkhead:old/keys@0.2.0", "bulkhead:old/kesy@0.1.0", "bulkhead:old/llm@0.1.0"],
            &[]
        ),
        [
            "it imports bulkhead:old/keys@0.2.0, this host offers bulkhead:host/keys@0.1.1; \
             build it against that version",
            "it imports bulkhead:old/kesy@0.1.0, not offered by this host; the nearest is bulkhead:host/keys",
            "it imports bulkhead:old/llm@0.1.0, offered as bulkhead:host/llm@0.1.2 but not granted; \
             grant it with slots.captcha.grants = [\"bulkhead:host/llm\"]",
        ]
    );
}

#[test]
fn other_version_of_interface_is_named() {
    let imports = ["wasi:clocks/wall-clock@0.3.0", "wasi:clocks/wall-clock", "wasi:config/store@0.2.0-rc.2"];
    let findings = findings(EXPORTS, &imports, &[]);
    assert!(findings.iter().all(|finding| finding.contains("build it against that version")), "{findings:?}");
    assert_eq!(findings.len(), imports.len());
}

#[test]
fn export_of_other_version_names_wanted_version() {
    for version in ["0.0.9", "0.2.0", "1.0.0", "0.1.0-rc.1"] {
        let found = format!("bulkhead:captcha/challenges@{version}");
        let expected = format!(
            "it exports {found}, this slot takes bulkhead:captcha/challenges@0.1.0; build it against that version"
        );
        assert_eq!(findings(&[&found, "self-test"], &[], &[]), [expected]);
    }
    assert_eq!(findings(&["bulkhead:captcha/challenges@0.1.7", "self-test"], &[], &[]), [""; 0]);
}

#[test]
fn interface_not_offered_cannot_be_granted() {
    for name in ["wasi:http/incoming-handler", "wasi:cli/run", "wasi:keyvalue/store"] {
        let import = format!("{name}@0.2.12");
        let findings = findings(EXPORTS, &[&import], &[name]);
        assert!(findings.iter().any(|finding| finding.contains("not offered by this host")), "{findings:?}");
    }
}

#[test]
fn a_granted_interface_replaces_its_stub() {
    struct Types;

    impl Capability for Types {
        fn interfaces(&self) -> &'static [Interface] {
            &[Interface {
                name: "wasi:http/types",
                version: "0.2.12",
                is_general: false,
                functions: &[],
                add_to_linker: |_| Ok(()),
            }]
        }
    }

    let capabilities = capabilities::general().with(Types);
    let granted = ["wasi:http/types".to_owned()];
    for (grants, has_stub) in [(&[][..], true), (&granted[..], false)] {
        let contract = contract(grants, &capabilities);
        let stub = capabilities.stub("wasi:http/types", &contract.slot, grants);
        assert_eq!(stub.is_some(), has_stub, "{grants:?}");
        for streams in ["wasi:io/streams", "wasi:io/error"] {
            let without_effect = capabilities.is_without_effect(streams, &contract.slot, grants);
            assert_eq!(without_effect, has_stub, "{streams} {grants:?}");
        }
        assert!(capabilities.is_without_effect("wasi:cli/stdin", &contract.slot, grants), "{grants:?}");
        assert_eq!(contract.import("wasi:http/types@0.2.10", &[]), None, "{grants:?}");
        let mut linker = wasmtime::component::Linker::new(&wasmtime::Engine::default());
        let linked = capabilities.add_to_linker(&mut linker, &contract.slot, grants);
        assert!(linked.is_ok(), "{grants:?}: {linked:?}");
    }
}

#[test]
fn stubs_need_no_grant() {
    let stubs = ["wasi:filesystem/types@0.2.3", "wasi:sockets/tcp@0.2.0", "wasi:cli/exit@0.2.12"];
    assert_eq!(findings(EXPORTS, &stubs, &[]), [""; 0]);
    assert_eq!(
        findings(EXPORTS, &["wasi:cli/exit@0.3.0"], &[]),
        [
            "it imports wasi:cli/exit@0.3.0, this host offers wasi:cli/exit@0.2.12; build it against that version"
        ]
    );
}

#[test]
fn refusal_lists_bounded_number_of_findings() {
    let names: Vec<String> = (0..1000).map(|number| format!("name{number}")).collect();
    let imports: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(findings(&[], &imports, &[]).len(), LISTED);
}

/// Returns the findings for a component with these counts.
fn over(outline: Outline) -> Vec<String> {
    let limits = ComponentLimits { core_instances: 8, memories: 4, tables: 5 };
    excess(&outline, limits).iter().map(ToString::to_string).collect()
}

#[test]
fn counts_over_limit_name_the_key() {
    let usage = Usage { core_instances: 8, memories: 4, tables: 5 };
    let largest = Outline { import_count: 200, export_count: 200, usage, ..Outline::default() };
    assert_eq!(over(largest), [""; 0]);
    let usage = Usage { core_instances: 9, memories: u64::MAX, tables: 6 };
    let outline = Outline { import_count: 201, export_count: 202, usage, ..Outline::default() };
    assert_eq!(
        over(outline),
        [
            "it has 201 imports, over the limit of 200; reduce the number",
            "it has 202 exports, over the limit of 200; reduce the number",
            "it has 9 core instances, over the limit of 8; reduce the number or raise sandbox.core_instances",
            "it has more than 1000000 memories, over the limit of 4; reduce the number or raise sandbox.memories",
            "it has 6 tables, over the limit of 5; reduce the number or raise sandbox.tables",
        ]
    );
}

#[test]
fn file_over_cap_is_not_read() {
    let refused =
        contract(&[], &capabilities::general()).check(&[0; 101], 100).map_err(|refused| refused.findings);
    assert_eq!(refused, Err(vec![PreflightFinding::TooLarge { bytes: 101, cap: 100 }]));
}

#[test]
fn file_without_component_names_its_format() {
    let check = |wasm: &[u8]| {
        contract(&[], &capabilities::general()).check(wasm, 1000).map_err(|refused| refused.to_string())
    };
    let core = check(b"\0asm\x01\0\0\0").err().unwrap_or_default();
    assert!(core.contains("it is a core module"), "{core}");
    for (wasm, reason) in [
        (&b"garbage!"[..], "it does not start with the bytes 00 61 73 6d of WebAssembly"),
        (b"", "the file is empty"),
        (b"  (component)", "it is text; translate it with `wasm-tools parse`"),
        (b"\0asm", "it is truncated"),
        (b"\0asm\x0d\0\x01\0\x07\x7f", "it is truncated"),
        (b"\0asm\x0d\0\x01\0\xe3\x01\0", "it is damaged at byte 8: "),
    ] {
        let refused = check(wasm).err().unwrap_or_default();
        assert!(
            refused.contains(&format!("it is not a WebAssembly component: {reason}")),
            "{wasm:?}: {refused}"
        );
        assert!(!refused.contains("magic") && !refused.contains("[0x"), "{refused}");
    }
    let empty = check(b"\0asm\x0d\0\x01\0").err().unwrap_or_default();
    assert!(empty.contains("it does not export self-test"), "{empty}");
    assert!(empty.contains("the slot offers wasi:clocks/wall-clock@0.2.12"), "{empty}");
}

#[test]
fn component_of_another_release_is_named() {
    let capabilities = capabilities::general();
    let contract = Contract {
        world: "wasi:http/proxy@0.2.12",
        exports: &["wasi:http/incoming-handler@0.2.12"],
        ..contract(&[], &capabilities)
    };
    let findings = |export: &str| {
        let outline = Outline { exports: vec![export.to_owned()], ..Outline::default() };
        contract.compare(&outline).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(findings("wasi:http/incoming-handler@0.2.0"), [""; 0]);
    assert_eq!(
        findings("wasi:http/handler@0.3.0"),
        ["built for wasi:http 0.3; this host serves 0.2 (it exports wasi:http/handler@0.3.0)"]
    );
    assert_eq!(
        findings("wasi:http/incoming-handler@0.3.10"),
        ["it exports wasi:http/incoming-handler@0.3.10, this slot takes wasi:http/incoming-handler@0.2.12; \
          build it against that version"]
    );
    assert_eq!(findings("wasi:cli/run@0.2.3").len(), 1);
    for (version, is) in [("0.2.12", "0.2"), ("0.3.0-rc-2025-09-16", "0.3"), ("1.4.0", "1")] {
        assert_eq!(release(version).as_deref(), Some(is), "{version}");
    }
}
