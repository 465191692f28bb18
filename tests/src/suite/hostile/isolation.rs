//! What belongs to one slot is out of reach of another slot's component: its configuration, its keys, its ledger.

use bulkhead_tests::{
    guests::{self, BUMP},
    operator::{self, Operator},
};

use super::*;

/// In every value that belongs to the captcha slot.
const CANARY: &str = "CANARY";
/// Names of the captcha slot's keys: two of each site, one of compatible sites, one of the self-test.
const KEYS: [&str; 4] = ["challenge/site", "derived-key/site", "compat", "self-test"];
/// A challenge that the captcha slot has spent.
const SPENT: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

const SLOTS: &str = r#"
    [captcha]
    hmac_key = "CANARY-master-key-of-more-than-32-characters"
    [captcha.sites.site]
    secret = "CANARY-site-secret"
    [captcha.sites.old]
    secret = "CANARY-compatible-secret"
    compat = true
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    [slots.captcha.config]
    shared = "CANARY-configuration"
    secret = "CANARY-configuration"
    [slots.triage.config]
    shared = "triage-configuration"
    [services.embedding]
    enabled = false
    [services.status]
    enabled = false
"#;

const GRANTS: &str = "[slots.triage]\ngrants = [\"bulkhead:host/keys\", \"bulkhead:captcha/ledger\"]\n";

const IMPORTS: &str = r#"
    (import "bulkhead:host/keys@0.1.1" "hmac-sign" (func $sign (param i32 i32 i32 i32 i32 i32)))
    (import "bulkhead:host/keys@0.1.1" "hmac-verify"
        (func $verify (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
    (import "bulkhead:host/keys@0.1.1" "derive" (func $derive (param i32 i32 i32 i32 i32 i32)))
    (import "bulkhead:captcha/ledger@0.1.1" "spent" (func $spent (param i32 i32 i32)))
    (import "bulkhead:captcha/ledger@0.1.1" "claim" (func $claim (param i32 i32 i64 i32 i32 i32)))"#;

/// Asks for every key and for the ledger: `$expect` fails the self-test unless the last result was `ok`, or an error where
/// `refused` says so, with the name of what was asked for.
fn asking(refused: bool) -> (String, String) {
    let result = u32::from(refused);
    let names: Vec<&str> = KEYS.into_iter().chain([SPENT]).collect();
    let data: String = names
        .iter()
        .enumerate()
        .map(|(at, name)| format!("(data (i32.const {}) \"{name}\")\n", 8192 + 128 * at))
        .collect();
    // Results are written at 4096, where the first byte is 0 for `ok` and 1 for an error.
    let fields = format!(
        "{data}
        (global $failed (mut i32) (i32.const 0)) (global $length (mut i32) (i32.const 0))
        (func $expect (param $name i32) (param $length i32)
            (if (i32.ne (i32.load8_u (i32.const 4096)) (i32.const {result}))
                (then (global.set $failed (local.get $name)) (global.set $length (local.get $length)))))"
    );
    let name = |at: usize| format!("(i32.const {}) (i32.const {})", 8192 + 128 * at, names[at].len());
    let keys = (0..KEYS.len()).map(|at| {
        let name = name(at);
        format!(
            "(call $sign {name} (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 4096)) (call $expect {name})
            (call $derive {name} (i32.const 0) (i32.const 4) (i32.const 32) (i32.const 4096)) (call $expect {name})
            (call $verify {name} (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 4)
                (i32.const 0) (i32.const 32) (i32.const 4096)) (call $expect {name})\n"
        )
    });
    let keys: String = keys.collect();
    let id = name(KEYS.len());
    let body = format!(
        "{keys}
        (call $claim {id} (i64.const 4000000000) (i32.const 1) (i32.const 0) (i32.const 4096)) (call $expect {id})
        (call $spent {id} (i32.const 4096)) (call $expect {id})
        (if (result i32) (global.get $failed)
            (then
                (i32.store8 (i32.const 256) (i32.const 1))
                (i32.store (i32.const 260) (global.get $failed)) (i32.store (i32.const 264) (global.get $length))
                (i32.const 256))
            (else (i32.const 128)))"
    );
    (fields, body)
}

/// A triage component with this self-test.
fn triage(imports: &[&str], core_imports: &str, fields: &str, self_test: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
            {core_imports}
            (memory (export "memory") 4)
            (global $heap (mut i32) (i32.const 65536))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {BUMP})
            (func (export "bulkhead:triage/tickets@0.1.0#triage") (param i32) (result i32) unreachable)
            (func (export "bulkhead:triage/tickets@0.1.0#prompt-versions") (param i32) (result i32) unreachable)
            {fields}
            (func (export "self-test") (result i32) {self_test})
        )"#
    );
    guests::of_service_importing(&text, "triage", imports)
}

fn hosting() -> Builder {
    TestHost::builder().config(SLOTS).config(&operator::tokens())
}

fn operator_of(host: &TestHost, slot: &'static str) -> Operator {
    Operator::new(&host.admin_url(""), operator::DEPLOY).of(slot)
}

/// The same questions have answers in the captcha slot, so that it is the slot that makes the difference.
#[tokio::test(flavor = "multi_thread")]
async fn granted_keys_and_ledger_stay_separate() {
    let host = hosting().config(GRANTS).start().await;
    let (fields, body) = asking(false);
    let own = Guest::default().with_imports(IMPORTS).with_fields(&fields).with_self_test(&body);
    let (status, version) = operator_of(&host, "captcha").try_push(own.component()).await;
    assert_eq!(status, 201, "the captcha slot has its keys and its ledger: {version}");

    let (fields, body) = asking(true);
    let imports = ["bulkhead:host/keys@0.1.1", "bulkhead:captcha/ledger@0.1.1"];
    let other = triage(&imports, IMPORTS, &fields, &body);
    let (status, version) = operator_of(&host, "triage").try_push(other).await;
    assert_eq!(status, 201, "the triage slot gets an answer for a key or a challenge: {version}");

    // A component that expects an answer is refused for the first key.
    let (fields, body) = asking(false);
    let (status, refused) =
        operator_of(&host, "triage").try_push(triage(&imports, IMPORTS, &fields, &body)).await;
    assert_eq!(status, 422, "{refused}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ungranted_keys_are_refused_by_name() {
    let host = hosting().start().await;
    let (fields, body) = asking(true);
    let imports = ["bulkhead:host/keys@0.1.1", "bulkhead:captcha/ledger@0.1.1"];
    let (status, refused) =
        operator_of(&host, "triage").try_push(triage(&imports, IMPORTS, &fields, &body)).await;
    assert_eq!(status, 422, "{refused}");
    let message = refused["message"].as_str().unwrap();
    let interfaces = ["bulkhead:host/keys", "bulkhead:captcha/ledger"];
    for interface in interfaces {
        assert!(message.contains(&format!("it imports {interface}@")), "no {interface} in {message}");
    }
    let lines =
        [interfaces, [interfaces[1], interfaces[0]]].map(|list| format!("slots.triage.grants = {list:?}"));
    assert!(lines.iter().any(|line| message.matches(line.as_str()).count() == 2), "{message}");
    host.stop().await;
}

/// Logs every entry of its configuration: the key as the context, the value as the message.
const READING: &str = "
    (local $at i32) (local $left i32)
    (call $all (i32.const 4096))
    (local.set $at (i32.load (i32.const 4100)))
    (local.set $left (i32.load (i32.const 4104)))
    (block $done
        (loop $again
            (br_if $done (i32.eqz (local.get $left)))
            (call $log (i32.const 4)
                (i32.load (local.get $at)) (i32.load offset=4 (local.get $at))
                (i32.load offset=8 (local.get $at)) (i32.load offset=12 (local.get $at)))
            (local.set $at (i32.add (local.get $at) (i32.const 16)))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br $again)))
    (i32.const 128)";

#[tokio::test(flavor = "multi_thread")]
async fn configuration_of_other_slots_is_not_read() {
    let host = hosting().start().await;
    let imports = r#"
        (import "wasi:config/store@0.2.0-rc.1" "get-all" (func $all (param i32)))
        (import "wasi:logging/logging@0.1.0-draft" "log" (func $log (param i32 i32 i32 i32 i32)))"#;
    let reading = triage(&["wasi:config/store@0.2.0-rc.1"], imports, "", READING);
    let (status, version) = operator_of(&host, "triage").try_push(reading).await;
    assert_eq!(status, 201, "{version}");
    let reader = operator_of(&host, "triage");
    let (_, logs) = reader.get("/v1/slots/triage/logs").await;
    let lines = logs["lines"].as_array().unwrap().iter();
    let own = lines.filter(|line| line["version"] == version["id"]);
    let own: Vec<_> = own.map(|line| (line["context"].clone(), line["message"].clone())).collect();
    assert_eq!(own, [(json!("shared"), json!("triage-configuration"))], "{logs}");

    // Nor does any operator see it where the other slot is.
    for path in ["", "/history", "/logs", "/statistics"] {
        let (status, answer) = reader.get(&format!("/v1/slots/triage{path}")).await;
        assert_eq!(status, 200, "{path}");
        assert!(!answer.to_string().contains(CANARY), "{path}: {answer}");
    }
    host.stop().await;
}
