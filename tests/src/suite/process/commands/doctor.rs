//! `bulkhead doctor`: what it finds on a machine where one thing is wrong, and what it says to do.

use std::{
    fs::{self, File},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bulkhead_tests::{
    child::{Finished, Launch, program},
    models::ToyModel,
};
use rcgen::date_time_ymd;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{SITE, tls::issue};

const DAY: Duration = Duration::from_secs(86_400);
/// Any ports, and few connections: limits of those who run the tests differ.
const BASE: &str =
    "[server]\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\nmax_connections = 16\n";

/// The checks that are made with a valid configuration.
const CHECKS: [&str; 8] =
    ["clock", "configuration", "data folder", "disk", "kernel", "limits", "models", "ports"];

/// The arguments for a folder's configuration and data.
fn arguments(folder: &Path, config: &str) -> [String; 5] {
    let file = folder.join("doctor.toml");
    fs::write(&file, config).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    ["doctor".into(), "--config".into(), path(&file), "--data-dir".into(), path(&folder.join("data"))]
}

/// `bulkhead doctor`, started by a shell after `script`, whose `$0` is the data folder.
fn after(script: &str, folder: &Path, config: &str) -> Launch {
    let arguments = arguments(folder, config);
    let program = program();
    let script = format!("{script} && exec \"$@\"");
    let shell = ["-c", &script, &arguments[4], program.to_str().unwrap()];
    let launch = Launch::new(Path::new("/bin/sh"), &shell);
    launch.args(&arguments.each_ref().map(String::as_str)).arg("--json")
}

/// The same in namespaces where file systems can be mounted.
fn after_mount(script: &str, folder: &Path, config: &str) -> Launch {
    let arguments = arguments(folder, config);
    fs::create_dir(folder.join("data")).unwrap();
    let program = program();
    let script = format!("{script} && exec \"$@\"");
    let namespace = ["--user", "--map-root-user", "--mount", "/bin/sh", "-c", &script];
    Launch::new(Path::new("/usr/bin/unshare"), &namespace)
        .args(&[&arguments[4], program.to_str().unwrap()])
        .args(&arguments.each_ref().map(String::as_str))
        .arg("--json")
}

fn doctor(folder: &Path, config: &str) -> Launch {
    Launch::bulkhead(&arguments(folder, config).each_ref().map(String::as_str)).arg("--json")
}

/// The findings, each with check, severity and text.
fn findings(finished: &Finished) -> Vec<[String; 3]> {
    let answer: Value = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", finished.stdout, finished.stderr));
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let parts = |finding: &Value| ["check", "severity", "text"].map(|name| text(finding, name));
    answer["findings"].as_array().unwrap().iter().map(parts).collect()
}

/// Asserts that this is all that is found, and that it is named and has its exit code.
fn assert_found(finished: &Finished, severity: &str, check: &str, named: &str) {
    let all = findings(finished);
    let wrong: Vec<_> = all.iter().filter(|[_, severity, _]| severity != "fine").collect();
    let [[found_check, found_severity, text]] = wrong[..] else { panic!("{check}: {named}: {all:?}") };
    assert_eq!((found_check.as_str(), found_severity.as_str()), (check, severity), "{text}");
    assert!(text.contains(named) && !text.contains("os error"), "{named}: {text}");
    let code = if severity == "warning" { 1 } else { 3 };
    assert_eq!(finished.status.code(), Some(code), "{text}");
    assert!(finished.stderr.ends_with(&format!("correct these: {check}\n")), "{}", finished.stderr);
    let answer: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(answer["severity"], severity);
}

#[tokio::test]
async fn sound_machine_has_nothing_to_do() {
    let folder = TempDir::new().unwrap();
    let config = format!("{BASE}{SITE}");
    let finished = doctor(folder.path(), &config).finish().await;
    let found = findings(&finished);
    assert!(found.iter().all(|[_, severity, _]| severity == "fine"), "{found:?}");
    assert_eq!((finished.status.code(), finished.stderr.as_str()), (Some(0), ""));
    let mut checks: Vec<&str> = found.iter().map(|[check, ..]| check.as_str()).collect();
    checks.sort_unstable();
    checks.dedup();
    assert_eq!(checks, CHECKS);
    assert!(!folder.path().join("data").exists(), "nothing is made");
    let arguments = arguments(folder.path(), &config);
    let table = Launch::bulkhead(&arguments.each_ref().map(String::as_str)).finish().await;
    assert!(table.stdout.starts_with("SEVERITY  CHECK"), "{}", table.stdout);
    assert_eq!(table.stdout.lines().count(), found.len() + 1);
}

/// What is wrong in a folder, whose configuration has this at its top.
type Fault = fn(&Path) -> String;

/// Makes the data folder and returns it.
fn data(folder: &Path) -> PathBuf {
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    data
}

/// Makes a model that the configuration names. `spoil` gets its folder.
fn model(folder: &Path, spoil: impl Fn(&Path)) -> String {
    let model = ToyModel::default().write(folder, "toy");
    spoil(&model);
    format!("[embedding]\nmodels = [{model:?}]\n")
}

/// Issues a certificate of the operators' listener that ends at `end`.
fn certificate(folder: &Path, end: SystemTime) -> String {
    let end = end.duration_since(UNIX_EPOCH).unwrap();
    issue(folder, |wanted| wanted.not_after = date_time_ymd(1970, 1, 1) + end);
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.join(name));
    format!("[admin.tls]\ncert = {cert:?}\nkey = {key:?}\n")
}

/// Each fault of the configuration, the data folder, the clock, certificates and the models.
const FAULTS: &[(Fault, &str, &str, &str)] = &[
    (|_| "no_such_key = 1\n".into(), "failure", "configuration", "no_such_key"),
    (|_| "[captcha]\nwidget_dir = \"missing\"\n".into(), "failure", "configuration", "widget_dir"),
    (
        |folder| {
            fs::write(data(folder).join("format"), "format 3 of the data folder\n").unwrap();
            String::new()
        },
        "failure",
        "data folder",
        "has format 3, which a newer version has written",
    ),
    (
        |folder| {
            fs::write(data(folder).join("format"), "format").unwrap();
            String::new()
        },
        "warning",
        "data folder",
        "the next start of a host writes it again",
    ),
    (
        |folder| {
            fs::set_permissions(data(folder), fs::Permissions::from_mode(0o755)).unwrap();
            String::new()
        },
        "warning",
        "data folder",
        "run chmod 700",
    ),
    (
        |folder| {
            fs::write(folder.join("data"), "").unwrap();
            String::new()
        },
        "failure",
        "data folder",
        "set data_dir",
    ),
    (
        |folder| {
            let late = File::create(data(folder).join("late")).unwrap();
            late.set_modified(SystemTime::now() + Duration::from_secs(86_400)).unwrap();
            String::new()
        },
        "warning",
        "clock",
        "data/late is of ",
    ),
    (
        |folder| certificate(folder, UNIX_EPOCH + 40 * 365 * DAY),
        "warning",
        "certificates",
        "cert.pem of admin.tls: it expired at 2009-12-22T00:00:00Z",
    ),
    (|folder| certificate(folder, SystemTime::now() + 7 * DAY), "warning", "certificates", "within 14 days"),
    (
        |_| "[server.tls]\ncert = \"missing.pem\"\nkey = \"missing.key\"\n".into(),
        "failure",
        "certificates",
        "server.tls: cannot read missing.pem",
    ),
    (|_| "[embedding]\nmodels = [\"potion-base-8M\"]\n".into(), "warning", "models", "`bulkhead model pull"),
    (
        |folder| model(folder, |toy| fs::write(toy.join("model.safetensors"), "cut").unwrap()),
        "failure",
        "models",
        "`toy` cannot be loaded",
    ),
    (
        |folder| format!("{}aliases = [\"other=alias\"]\n", model(folder, |_| {})),
        "failure",
        "models",
        "`other` names no model",
    ),
    (
        |folder| {
            let record = json!({
                "model_id": "toy",
                "files": { "config.json": { "bytes": 7, "sha256": "0".repeat(64) } },
            });
            model(folder, |toy| fs::write(toy.join("bulkhead.json"), record.to_string()).unwrap())
        },
        "warning",
        "models",
        "config.json has ",
    ),
];

#[tokio::test]
async fn each_fault_is_found_alone() {
    for (fault, severity, check, named) in FAULTS {
        let folder = TempDir::new().unwrap();
        let config = format!("{}{BASE}{SITE}", fault(folder.path()));
        let uses_models = *check == "models";
        let launch = doctor(folder.path(), &config)
            .env("HOME", folder.path().to_str().unwrap())
            .env("BULKHEAD_SERVICES__EMBEDDING__ENABLED", &uses_models.to_string());
        assert_found(&launch.finish().await, severity, check, named);
    }
}

#[tokio::test]
async fn whole_model_has_its_digest() {
    let folder = TempDir::new().unwrap();
    let config = format!("{}{BASE}{SITE}", model(folder.path(), |_| {}));
    let launch = doctor(folder.path(), &config).env("BULKHEAD_SERVICES__EMBEDDING__ENABLED", "true");
    let finished = launch.finish().await;
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stdout);
    let found = findings(&finished);
    let whole = |text: &str| text.starts_with("`toy` is whole; its weights have the digest ");
    assert!(found.iter().any(|[check, _, text]| check == "models" && whole(text)), "{found:?}");
}

#[tokio::test]
async fn low_limits_are_warnings() {
    for (script, named) in [("ulimit -n 64", "LimitNOFILE"), ("ulimit -v 4194304", "LimitAS")] {
        let folder = TempDir::new().unwrap();
        let finished = after(script, folder.path(), &format!("{BASE}{SITE}")).finish().await;
        assert_found(&finished, "warning", "limits", named);
    }
    // Other limits of threads may keep a user's process from starting one.
    let folder = TempDir::new().unwrap();
    let finished =
        after("prlimit --pid $$ --nproc=60", folder.path(), &format!("{BASE}{SITE}")).finish().await;
    let found = findings(&finished);
    let is_found = |[check, severity, text]: &[String; 3]| {
        check == "limits"
            && severity == "warning"
            && text.starts_with("this command: 60 threads")
            && text.contains("TasksMax")
    };
    assert!(found.iter().any(is_found), "{found:?}");
}

#[tokio::test]
async fn few_open_files_are_a_failure() {
    let folder = TempDir::new().unwrap();
    let finished = after("ulimit -n 8", folder.path(), &format!("{BASE}{SITE}")).finish().await;
    assert_eq!(finished.status.code(), Some(3), "{}{}", finished.stdout, finished.stderr);
    let found = findings(&finished);
    for check in ["limits", "ports"] {
        let is_found = |[found, severity, text]: &[String; 3]| {
            found == check && severity == "failure" && text.contains("ulimit -n")
        };
        assert!(found.iter().any(is_found), "{check}: {found:?}");
    }
}

#[tokio::test]
async fn disk_that_takes_little_is_found() {
    for (options, severity, named) in
        [("ro,mode=700", "failure", "cannot be written"), ("size=8m,mode=700", "warning", "MiB are free")]
    {
        let folder = TempDir::new().unwrap();
        let script = format!("mount -t tmpfs -o {options} tmpfs \"$0\"");
        let finished = after_mount(&script, folder.path(), &format!("{BASE}{SITE}")).finish().await;
        let found = findings(&finished);
        let is_found = |[check, level, text]: &[String; 3]| {
            check == "disk" && level == severity && text.contains(named) && text.contains("set data_dir")
        };
        assert!(found.iter().any(is_found), "{found:?}");
    }
}

#[tokio::test]
async fn taken_port_fails_unless_own() {
    let folder = TempDir::new().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = |listen: &str, admin: &str| {
        format!("{SITE}[server]\nlisten = \"{listen}\"\nadmin_listen = \"{admin}\"\nmax_connections = 16\n")
    };
    let config = server(&taken.local_addr().unwrap().to_string(), "127.0.0.1:0");
    let finished = doctor(folder.path(), &config).finish().await;
    assert_found(&finished, "failure", "ports", "choose another port");

    let host = Launch::serve_with(folder.path(), SITE).ready().await;
    let admin = host.admin_url("");
    let config = server(host.address(), admin.strip_prefix("http://").unwrap());
    let finished = doctor(folder.path(), &config).finish().await;
    let found = findings(&finished);
    assert_eq!(finished.status.code(), Some(0), "{found:?}");
    let owner = format!("process {}", host.id());
    let of_host = |[check, _, text]: &&[String; 3]| check == "ports" && text.contains(&owner);
    assert_eq!(found.iter().filter(of_host).count(), 2, "{found:?}");
    let user = format!("process id {}", host.id());
    assert!(found.iter().any(|[check, _, text]| check == "data folder" && text.contains(&user)), "{found:?}");
    let of_running = format!("the running host ({owner}): ");
    let limits = found.iter().filter(|[check, _, text]| check == "limits" && text.starts_with(&of_running));
    assert_eq!(limits.count(), 3, "{found:?}");

    // The port is that of another folder's host.
    let other = TempDir::new().unwrap();
    let finished = doctor(other.path(), &server(host.address(), "127.0.0.1:0")).finish().await;
    assert_found(&finished, "failure", "ports", "choose another port");
    host.stop().await;
}
