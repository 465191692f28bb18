//! What authors of components use on the command line, without a host.

mod built_templates;
mod calls;
mod templates;
mod wit;

use std::{fs, path::Path};

use bulkhead_tests::{
    child::{Finished, Launch},
    guests::{Guest, StatusGuest},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Runs the binary in a folder.
async fn run(folder: &Path, arguments: &[&str]) -> Finished {
    Launch::bulkhead(arguments).in_folder(folder).finish().await
}

/// Runs the binary in a folder, and returns what it prints.
async fn done(folder: &Path, arguments: &[&str]) -> String {
    let finished = run(folder, arguments).await;
    assert!(finished.succeeded(), "{arguments:?}: {}", finished.stderr);
    finished.stdout
}

/// Runs the binary in a folder, and returns what it says when it fails with an exit code.
async fn fails(folder: &Path, arguments: &[&str], code: i32) -> String {
    let finished = run(folder, arguments).await;
    assert_eq!(finished.status.code(), Some(code), "{arguments:?}: {}{}", finished.stdout, finished.stderr);
    finished.stdout + &finished.stderr
}

/// A folder with the components `captcha.wasm` and `status.wasm`.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let import = r#"(import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))"#;
    let captcha = Guest::call("(call $block (i32.const 0)) unreachable").with_imports(import);
    fs::write(folder.path().join("captcha.wasm"), captcha.component()).unwrap();
    fs::write(folder.path().join("status.wasm"), StatusGuest::default().component()).unwrap();
    folder
}

#[tokio::test]
async fn check_without_slot_names_fitting_world() {
    let folder = folder();
    let said = done(folder.path(), &["component", "check", "status.wasm"]).await;
    assert!(
        said.contains("status.wasm fits bulkhead:status/status@0.1.1, the world of slot status"),
        "{said}"
    );
    assert!(said.contains("bulkhead component check --slot status status.wasm"), "{said}");
    fs::write(folder.path().join("empty.wasm"), wat::parse_str("(component)").unwrap()).unwrap();
    let said = fails(folder.path(), &["component", "check", "empty.wasm"], 3).await;
    assert!(said.contains("empty.wasm fits no world of this host, which has bulkhead:"), "{said}");
    assert!(said.contains("it does not export self-test"), "{said}");
    fs::write(folder.path().join("text.wasm"), "(component)").unwrap();
    let said = fails(folder.path(), &["component", "check", "text.wasm"], 3).await;
    assert!(said.contains("text.wasm is not a WebAssembly component: it is text"), "{said}");
}

#[tokio::test]
async fn inspect_shows_world_imports_and_sizes() {
    let folder = folder();
    let said = done(folder.path(), &["component", "inspect", "captcha.wasm", "--json"]).await;
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["world"], "bulkhead:captcha/captcha@0.1.1");
    assert_eq!((&found["slot"], &found["memories"]), (&json!("captcha"), &json!(1)));
    let import = &found["imports"][0];
    assert_eq!(import["name"], "wasi:io/poll@0.2.12", "{found}");
    let size = fs::metadata(folder.path().join("captcha.wasm")).unwrap().len();
    assert_eq!(found["size"]["bytes"], size);
    let minimum = &found["size"]["modules"][0]["memories"][0]["minimum_bytes"];
    assert_eq!(*minimum, 4 << 16, "{found}");
    let said = done(folder.path(), &["component", "inspect", "captcha.wasm"]).await;
    assert!(said.starts_with("world: bulkhead:captcha/captcha@0.1.1, of slot captcha\n"), "{said}");
    assert!(said.contains("  a memory of 262144 bytes, without a maximum\n"), "{said}");
}

#[tokio::test]
async fn world_says_what_host_refuses() {
    let folder = folder();
    let of = |import: &str, export: &str| {
        format!("(component {import} (instance $empty) (export \"{export}\" (instance $empty)))")
    };
    let store = r#"(import "wasi:keyvalue/store@0.2.0-draft2" (instance))"#;
    let offers =
        "imports wasi:keyvalue/store@0.2.0-draft2, this host offers wasi:keyvalue/store@0.2.0-draft;";
    for (component, why) in [
        (of(store, "wasi:http/incoming-handler@0.2.3"), offers),
        (of("", "wasi:http/handler@0.3.0"), "built for wasi:http 0.3; this host serves 0.2"),
        (of("", "wasi:http/incoming-handler@0.3.10"), "it exports wasi:http/incoming-handler@0.3.10"),
        (of("", "wasi:http/incoming-handler@0.2.3"), "it does not export wasi:http/incoming-handler#handle"),
    ] {
        fs::write(folder.path().join("http.wasm"), wat::parse_str(component).unwrap()).unwrap();
        let said = fails(folder.path(), &["component", "check", "http.wasm"], 3).await;
        assert!(said.contains("http.wasm is meant for wasi:http/proxy") && said.contains(why), "{said}");
        let said = done(folder.path(), &["component", "inspect", "http.wasm"]).await;
        assert!(said.starts_with("world: none of this host: ") && said.contains(why), "{said}");
    }
}

/// Bodies are read and written through them.
#[tokio::test]
async fn http_component_has_streams_granted() {
    let folder = folder();
    let component = r#"(component
        (import "wasi:io/streams@0.2.3" (instance))
        (import "wasi:cli/stdin@0.2.3" (instance))
        (import "wasi:http/types@0.2.3" (instance $types
            (export "incoming-request" (type (sub resource)))
            (export "response-outparam" (type (sub resource)))))
        (alias export $types "incoming-request" (type $request))
        (alias export $types "response-outparam" (type $out))
        (core module $code (func (export "handle") (param i32 i32)))
        (core instance $core (instantiate $code))
        (func $handle (param "request" (own $request)) (param "response-out" (own $out))
            (canon lift (core func $core "handle")))
        (instance $handler (export "handle" (func $handle)))
        (export "wasi:http/incoming-handler@0.2.3" (instance $handler)))"#;
    fs::write(folder.path().join("http.wasm"), wat::parse_str(component).unwrap()).unwrap();
    let said = done(folder.path(), &["component", "inspect", "http.wasm", "--json"]).await;
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&found["world"], &found["slot"]), (&json!("wasi:http/proxy"), &Value::Null), "{found}");
    let status: Vec<_> =
        found["imports"].as_array().unwrap().iter().map(|import| &import["status"]).collect();
    assert_eq!(status, ["granted", "stub", "granted"], "{found}");
}
