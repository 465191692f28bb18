//! What the command line says and how it ends.

use std::{
    fs::{self, File},
    io,
    net::TcpListener,
    process::{Command, Output, Stdio},
};

use bulkhead_tests::{
    child::{Launch, program},
    guests::Guest,
};
use tempfile::TempDir;

use crate::process::SITE;

#[tokio::test]
async fn help_lists_commands_and_flags() {
    let help = Launch::bulkhead(&["--help"]).finish().await;
    assert!(help.succeeded());
    for command in ["serve", "config", "captcha"] {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{}", help.stdout);
    }
    let help = Launch::bulkhead(&["serve", "--help"]).finish().await;
    assert!(help.succeeded());
    for flag in
        ["--config", "--demo", "--listen", "--admin-listen", "--data-dir", "--log-format", "--log-level"]
    {
        assert!(help.stdout.contains(flag), "{}", help.stdout);
    }
    let help = Launch::bulkhead(&["admin", "token", "--help"]).finish().await;
    assert!(help.stdout.contains("Reload the configuration, undo a reload"), "{}", help.stdout);
    let version = Launch::bulkhead(&["--version"]).finish().await;
    assert_eq!(version.stdout, format!("bulkhead {}\n", env!("CARGO_PKG_VERSION")));
}

/// The allocator writes to standard error what it cannot do.
#[tokio::test]
async fn bound_to_one_processor_nothing_is_warned() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let first = allowed.split([',', '-']).next().unwrap();
    let program = program();
    let arguments = ["-c", first, program.to_str().unwrap(), "--version"];
    let version = Launch::new("/usr/bin/taskset".as_ref(), &arguments).finish().await;
    assert!(version.succeeded() && version.stderr.is_empty(), "{}", version.stderr);
}

#[tokio::test]
async fn a_wrong_flag_is_named() {
    let finished = Launch::bulkhead(&["serve", "--prot", "80"]).finish().await;
    assert_eq!(finished.status.code(), Some(2));
    assert!(finished.stderr.contains("--prot"), "{}", finished.stderr);
}

/// A check that passes what no host starts from is worth nothing.
#[tokio::test]
async fn check_and_serve_refuse_widget_dir_alike() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    for name in ["empty", "odd", "leading-out", "good"] {
        fs::create_dir(place(name)).unwrap();
    }
    for name in ["odd/a b.js", "good/a b.js", "good/altcha.js", "file", "leading-out/altcha.js"] {
        fs::write(place(name), "").unwrap();
    }
    std::os::unix::fs::symlink("/etc/passwd", place("leading-out/passwd.js")).unwrap();
    let config = |name: &str, more: &str| format!("[captcha]\nwidget_dir = {:?}\n{more}{SITE}", place(name));
    let check = async |text: &str| {
        fs::write(place("check.toml"), text).unwrap();
        let check = Launch::bulkhead(&["config", "check", "--config", "check.toml"]);
        check.in_folder(folder.path()).env("HOME", "/").finish().await
    };
    for (name, reason) in [
        ("none", "No such file or directory"),
        ("file", "Not a directory"),
        ("empty", "has no file that can be served"),
        ("odd", "has no file that can be served"),
        ("leading-out", "passwd.js leads out of captcha.widget_dir"),
    ] {
        let finished = check(&config(name, "")).await;
        assert_eq!((finished.status.code(), finished.stdout.as_str()), (Some(1), ""), "{name}");
        assert!(finished.stderr.contains(reason), "{name}: {}", finished.stderr);
        assert!(finished.stderr.contains("captcha.widget_dir"), "{name}: {}", finished.stderr);
        let served = Launch::serve_with(folder.path(), &config(name, "")).finish().await;
        assert_eq!(served.status.code(), Some(1), "{name}: {}", served.stderr);
        assert!(served.stderr.contains(reason), "{name}: {}", served.stderr);
    }
    let good = check(&config("good", "")).await;
    assert!(good.succeeded() && good.stdout.contains("the configuration is good"), "{}", good.stderr);
    assert!(good.stdout.contains("warning: captcha.widget_dir: not served"), "{}", good.stdout);
    assert!(good.stdout.contains("\"a b.js\""), "{}", good.stdout);
    let off = check(&config("none", "[services.captcha]\nenabled = false\n")).await;
    assert!(off.succeeded(), "without the service nobody reads the folder: {}", off.stderr);
}

#[tokio::test]
async fn check_prints_every_problem_with_line() {
    const WRONG: &str = r#"data_dirr = "x"
[server]
listen = "nowhere"
max_connections = 0

[captcha]
auth = "api-key"
[captcha.sites.shop]
algorithm = "SHA-256"
"#;
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("wrong.toml"), WRONG).unwrap();
    let check = Launch::bulkhead(&["config", "check", "--config", "wrong.toml"]).in_folder(folder.path());
    let finished = check.env("HOME", "/").env("BULKHEAD_LOG__LEVEL", "loud").finish().await;
    assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
    for problem in [
        "wrong.toml line 1: data_dirr: ",
        "wrong.toml line 3: server.listen: ",
        "wrong.toml line 4: server.max_connections: ",
        "wrong.toml line 7: captcha.auth: ",
        "wrong.toml line 8: captcha.sites.shop.secret: ",
        "wrong.toml line 8: captcha.sites.shop.difficulty_map: ",
        "BULKHEAD_LOG__LEVEL: log.level: ",
    ] {
        assert!(finished.stderr.contains(problem), "{problem} is not in\n{}", finished.stderr);
    }
    assert_eq!(finished.stderr.lines().count(), 7, "{}", finished.stderr);
}

#[tokio::test]
async fn check_refuses_what_apps_cannot_have() {
    let folder = TempDir::new().unwrap();
    for (app, reason) in [
        (
            "path_prefix = '/terminvereinbarung/api/2/a'",
            "apps.a.path_prefix is inside /terminvereinbarung/api/2, which belongs to the service status",
        ),
        (
            "path_prefix = '/a'\nkeyvalue = ['nowhere']",
            "apps.a.keyvalue names the store nowhere, which does not exist",
        ),
    ] {
        fs::write(folder.path().join("app.toml"), format!("[apps.a]\n{app}\n")).unwrap();
        let check = Launch::bulkhead(&["config", "check", "--config", "app.toml"]).in_folder(folder.path());
        let finished = check.env("HOME", "/").finish().await;
        assert_eq!((finished.status.code(), finished.stdout.as_str()), (Some(1), ""), "{reason}");
        assert!(finished.stderr.contains(reason), "{reason}: {}", finished.stderr);
    }
}

#[tokio::test]
async fn check_of_good_file_writes_nothing() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("good.toml"), SITE).unwrap();
    let check = Launch::bulkhead(&["config", "check", "--config", "good.toml"]).in_folder(folder.path());
    let finished = check.env("BULKHEAD_DATA_DIR", "data").finish().await;
    assert!(finished.succeeded(), "{}", finished.stderr);
    assert!(finished.stdout.contains("the configuration is good"), "{}", finished.stdout);
    assert!(!folder.path().join("data").exists());
}

#[tokio::test]
async fn serve_refuses_what_config_check_refuses() {
    let folder = TempDir::new().unwrap();
    let finished = Launch::serve_with(folder.path(), "unknown = 1").finish().await;
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("line 1: unknown: "), "{}", finished.stderr);
    let finished = Launch::serve(folder.path()).args(&["--config", "missing.toml"]).finish().await;
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("missing.toml"), "{}", finished.stderr);
}

#[tokio::test]
async fn taken_port_ends_start_with_key() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let folder = TempDir::new().unwrap();
    let data = folder.path().to_str().unwrap();
    for (flag, other, key) in [
        ("--listen", "--admin-listen", "server.listen"),
        ("--admin-listen", "--listen", "server.admin_listen"),
    ] {
        let arguments = ["serve", "--data-dir", data, flag, &taken, other, "127.0.0.1:0"];
        let finished = Launch::bulkhead(&arguments).finish().await;
        assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
        let last = finished.stderr.lines().last().unwrap();
        for part in ["bulkhead: ", key, taken.as_str(), "another port"] {
            assert!(last.contains(part), "{part} is not in {last}");
        }
    }
}

#[tokio::test]
async fn unusable_data_folder_is_named() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("data"), "a file").unwrap();
    let finished = Launch::serve(folder.path()).finish().await;
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("data_dir"), "{}", finished.stderr);
}

#[tokio::test]
async fn a_component_file_without_end_is_refused() {
    let finished = Launch::bulkhead(&["component", "check", "--slot", "captcha", "/dev/zero"])
        .env("HOME", "/")
        .finish()
        .await;
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("put a plain file there"), "{}", finished.stderr);
}

#[tokio::test]
async fn refused_component_has_exit_code_3() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("good.toml"), SITE).unwrap();
    let trapping = Guest::default().with_self_test("unreachable").component();
    for (wasm, said) in
        [(b"garbage".to_vec(), "not a WebAssembly component"), (trapping, "the component's self-test failed")]
    {
        fs::write(folder.path().join("bad.wasm"), wasm).unwrap();
        let check = ["component", "check", "--slot", "captcha", "bad.wasm", "--config", "good.toml"];
        let launch = Launch::bulkhead(&check).in_folder(folder.path()).env("BULKHEAD_DATA_DIR", "data");
        let finished = launch.finish().await;
        assert_eq!(finished.status.code(), Some(3), "{}", finished.stderr);
        assert!(finished.stderr.contains(said), "{}", finished.stderr);
    }
    assert!(!folder.path().join("data").exists());
}

#[tokio::test]
async fn check_shows_why_the_test_trapped() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("good.toml"), SITE).unwrap();
    let log = r#"(import "wasi:logging/logging@0.1.0-draft" "log" (func $log (param i32 i32 i32 i32 i32)))"#;
    let panicking = Guest::default()
        .with_imports(log)
        .with_fields(
            r#"(data (i32.const 1024) "panicked at src/lib.rs:3:5:\nno spoons")
               (func $boom (call $log (i32.const 5) (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 37))
                   unreachable)"#,
        )
        .with_self_test("(call $boom) i32.const 0");
    let spinning = Guest::default().with_self_test("(loop (br 0)) i32.const 0");
    let greedy = Guest::default().with_self_test("(memory.grow (i32.const 60000)) drop unreachable");
    for (guest, said) in [
        (
            panicking,
            &[
                "self-test failed: the component's call ended with trap: wasm trap: wasm `unreachable` instruction",
                "\n  the last error that it logged:\n    panicked at src/lib.rs:3:5:\n    no spoons\n",
                "!boom",
            ][..],
        ),
        (spinning, &["ended with cpu-budget: ", "raise slots.captcha.cpu_ms"]),
        (greedy, &["ended with memory-limit: ", "bytes of memory; raise slots.captcha.memory_bytes"]),
    ] {
        fs::write(folder.path().join("bad.wasm"), guest.component()).unwrap();
        let check = ["component", "check", "--slot", "captcha", "bad.wasm", "--config", "good.toml"];
        let launch = Launch::bulkhead(&check).in_folder(folder.path()).env("RUST_BACKTRACE", "1");
        let finished = launch.env("BULKHEAD_DATA_DIR", "data").finish().await;
        assert_eq!(finished.status.code(), Some(3), "{}", finished.stderr);
        for said in said {
            assert!(finished.stderr.contains(said), "{said}: {}", finished.stderr);
        }
        for foreign in ["bulkhead::", "bulkhead_", "wasmtime::", "tokio::"] {
            assert!(!finished.stderr.contains(foreign), "{foreign}: {}", finished.stderr);
        }
    }
}

#[tokio::test]
async fn component_check_warns_of_a_deprecated_import() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("good.toml"), SITE).unwrap();
    let warning = "warning: guest.wasm imports bulkhead:host/ledger@0.1.1, which is deprecated; \
                   use bulkhead:captcha/ledger@0.1.1\n";
    for (name, warned) in [("bulkhead:host/ledger@0.1.1", warning), ("bulkhead:captcha/ledger@0.1.1", "")] {
        let import = format!(r#"(import "{name}" "spent" (func $spent (param i32 i32 i32)))"#);
        let guest = Guest::default().with_imports(&import).component();
        fs::write(folder.path().join("guest.wasm"), guest).unwrap();
        let check = ["component", "check", "--slot", "captcha", "guest.wasm", "--config", "good.toml"];
        let launch = Launch::bulkhead(&check).in_folder(folder.path()).env("BULKHEAD_DATA_DIR", "data");
        let finished = launch.finish().await;
        assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
        let verdict = format!("{warned}guest.wasm may answer for slot captcha: sha256:");
        assert!(finished.stdout.starts_with(&verdict), "{}", finished.stdout);
        assert_eq!(finished.stdout.matches("warning").count(), usize::from(!warned.is_empty()));
    }
}

/// Runs a command whose standard output goes somewhere else than to the test.
fn run_into(stdout: impl Into<Stdio>, arguments: &[&str]) -> (Output, String) {
    let mut command = Command::new(program());
    let output = command.args(arguments).env_clear().env("HOME", "/").stdout(stdout).output().unwrap();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    (output, said)
}

#[test]
fn closed_output_is_no_fault() {
    let folder = TempDir::new().unwrap();
    let yml = folder.path().join("application.yml");
    fs::write(&yml, "captcha:\n  hmac-key: a-key-of-more-than-32-characters-for-tests\n").unwrap();
    let import = ["captcha", "import", yml.to_str().unwrap()];
    for arguments in [&["config", "reference"][..], &["config", "check"], &import] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let (output, said) = run_into(writer, arguments);
        assert!(output.status.success() && !said.contains("panicked"), "{arguments:?}: {said}");

        let full = File::options().write(true).open("/dev/full").unwrap();
        let (output, said) = run_into(full, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        let last = said.lines().last().unwrap();
        assert!(last.starts_with("bulkhead: cannot write to standard output: "), "{said}");
    }
}
