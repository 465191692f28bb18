//! `bulkhead run`.

use bulkhead_tests::child::Launch;
use tempfile::TempDir;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn run_serves_one_file_and_follows_it() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("hello.wasm");
    std::fs::write(&file, HttpGuest::answering(200, "one").component()).unwrap();
    let arguments =
        ["run", file.to_str().unwrap(), "--listen", "127.0.0.1:0", "--log-format", "json", "--watch"];
    let launch = Launch::bulkhead(&arguments).env("XDG_CACHE_HOME", folder.path().to_str().unwrap());
    let host = launch.ready().await;
    let text = async || host.client().get(host.url("/any")).send().await.unwrap().text().await.unwrap();
    assert_eq!(text().await, "one");
    let compiling = host.line("compiling the component").await;
    assert!(compiling["slot"] == "app" && compiling["bytes"].is_u64(), "{compiling}");
    let next = folder.path().join("next.wasm");
    std::fs::write(&next, HttpGuest::answering(200, "two").component()).unwrap();
    std::fs::rename(&next, &file).unwrap();
    eventually("the new file answers", async || text().await == "two").await;
    assert!(folder.path().join("bulkhead/run").is_dir());
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_origin_names_flag_of_run() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("asks.wasm");
    std::fs::write(&file, outgoing::asking("127.0.0.1:9", outgoing::IS_DENIED).component()).unwrap();
    let arguments = ["run", file.to_str().unwrap(), "--listen", "127.0.0.1:0", "--log-format", "json"];
    let launch = Launch::bulkhead(&arguments).env("XDG_CACHE_HOME", folder.path().to_str().unwrap());
    let host = launch.ready().await;
    assert_eq!(host.status(&host.url("/")).await, 200);
    let refused = "an outgoing request failed: http://127.0.0.1:9 may not be called; allow it with --allow \
                   http://127.0.0.1:9";
    assert_eq!(host.line(refused).await["slot"], "app");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_ends_with_process_that_watches() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("hello.wasm");
    std::fs::write(&file, HttpGuest::answering(200, "hello").component()).unwrap();
    let arguments =
        ["run", file.to_str().unwrap(), "--listen", "127.0.0.1:0", "--log-format", "json", "--watch"];
    let launch = Launch::bulkhead(&arguments).env("XDG_CACHE_HOME", folder.path().to_str().unwrap());
    let mut host = launch.ready().await;
    host.signal(rustix::process::Signal::KILL);
    // The host holds its pipes, too, until it ends.
    assert_eq!(host.ended().await.code(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_share_no_folder() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("hello.wasm");
    std::fs::write(&file, HttpGuest::answering(200, "hello").component()).unwrap();
    let arguments = ["run", file.to_str().unwrap(), "--listen", "127.0.0.1:0", "--log-format", "json"];
    let launch = || Launch::bulkhead(&arguments).env("XDG_CACHE_HOME", folder.path().to_str().unwrap());
    let (first, second) = (launch().ready().await, launch().ready().await);
    for index in 0..2 {
        assert!(folder.path().join(format!("bulkhead/run/{index}")).is_dir(), "{index}");
    }
    first.stop().await;
    let third = launch().ready().await;
    assert!(!folder.path().join("bulkhead/run/2").exists(), "a folder that is free is used again");
    second.stop().await;
    third.stop().await;
}

#[tokio::test]
async fn taken_port_is_found_before_compiling() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("hello.wasm");
    std::fs::write(&file, HttpGuest::answering(200, "hello").component()).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let launch = Launch::bulkhead(&["run", file.to_str().unwrap(), "--listen", &address]);
    let finished = launch.env("XDG_CACHE_HOME", folder.path().to_str().unwrap()).finish().await;
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("another port"), "{}", finished.stderr);
    assert!(!finished.stderr.contains("compiling"), "{}", finished.stderr);
}

#[tokio::test]
async fn run_needs_a_file() {
    let launch = Launch::bulkhead(&["run", "/nowhere.wasm"]).env("HOME", "/");
    let finished = launch.finish().await;
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("cannot read /nowhere.wasm"), "{}", finished.stderr);
}

#[tokio::test]
async fn wrong_argument_of_run_is_named() {
    for (name, value, wanted) in [
        ("--allow", "x", "must be an origin such as https://api.example.org"),
        ("--listen", "localhost:8080", "must be an IP address and a port, such as 127.0.0.1:8080"),
    ] {
        let finished = Launch::bulkhead(&["run", "/nowhere.wasm", name, value]).finish().await;
        assert_eq!(finished.status.code(), Some(2));
        let text = &finished.stderr;
        assert!(text.contains(name) && text.contains(wanted), "{text}");
    }
}

/// A component without code that imports and exports empty interfaces of these names.
fn handler(import: &str, export: &str) -> Vec<u8> {
    let import = if import.is_empty() { String::new() } else { format!(r#"(import "{import}" (instance))"#) };
    let text = format!(
        r#"(component
            {import}
            (component $empty)
            (instance $none (instantiate $empty))
            (export "{export}" (instance $none)))"#
    );
    wat::parse_str(text).unwrap()
}

/// A component that passes the preflight and does not link: its handler has no function.
fn without_function() -> Vec<u8> {
    handler("", "wasi:http/incoming-handler@0.2.3")
}

#[tokio::test]
async fn run_ends_where_component_does_not_link() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("any.wasm");
    std::fs::write(&file, without_function()).unwrap();
    let launch = Launch::bulkhead(&["run", file.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    let finished = launch.env("XDG_CACHE_HOME", folder.path().to_str().unwrap()).finish().await;
    assert_eq!(finished.status.code(), Some(3), "{}", finished.stderr);
    let last = finished.stderr.lines().rfind(|line| line.starts_with("bulkhead: ")).unwrap();
    assert!(last.contains("slot app has no component that may answer"), "{last}");
    assert!(last.contains("does not fit wasi:http/proxy@0.2.12"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watched_run_waits_for_sound_component() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("any.wasm");
    std::fs::write(&file, without_function()).unwrap();
    let arguments =
        ["run", file.to_str().unwrap(), "--listen", "127.0.0.1:0", "--log-format", "json", "--watch"];
    let launch = Launch::bulkhead(&arguments).env("XDG_CACHE_HOME", folder.path().to_str().unwrap());
    let host = launch.ready().await;
    let reason = host.line("the component may not answer").await["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("does not fit wasi:http/proxy@0.2.12"), "{reason}");
    assert_eq!(host.status(&host.url("/")).await, 503);
    let next = folder.path().join("next.wasm");
    std::fs::write(&next, HttpGuest::answering(200, "sound").component()).unwrap();
    std::fs::rename(&next, &file).unwrap();
    eventually("the new file answers", async || host.status(&host.url("/")).await == 200).await;
    host.stop().await;
}

#[tokio::test]
async fn run_refuses_what_is_no_app() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("any.wasm");
    for (bytes, wanted) in [
        (Vec::new(), "is not a WebAssembly component: the file is empty"),
        (b"garbage".to_vec(), "is not a WebAssembly component"),
        (wat::parse_str("(component)").unwrap(), "is not a wasi:http/proxy 0.2 component"),
        (handler("", "wasi:http/handler@0.3.0"), "built for wasi:http 0.3; this host serves 0.2"),
        (
            handler("", "wasi:http/incoming-handler@0.3.10"),
            "this slot takes wasi:http/incoming-handler@0.2.12",
        ),
        (
            handler("wasi:keyvalue/store@0.2.0-draft2", "wasi:http/incoming-handler@0.2.3"),
            "this host offers wasi:keyvalue/store@0.2.0-draft;",
        ),
        (
            handler("bulkhead:captcha/ledger@0.1.0", "wasi:http/incoming-handler@0.2.3"),
            "it imports bulkhead:captcha/ledger@0.1.0, which needs apps.NAME.grants",
        ),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let finished = Launch::bulkhead(&["run", file.to_str().unwrap()]).env("HOME", "/").finish().await;
        assert_eq!(finished.status.code(), Some(3), "{}", finished.stderr);
        assert!(finished.stderr.contains(wanted), "{}", finished.stderr);
    }
}
