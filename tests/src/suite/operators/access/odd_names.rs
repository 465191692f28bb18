//! Names that no honest file has: in the watched folder, in uploads and in what operators ask for.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::{Path, PathBuf},
};

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    host::eventually,
};
use tempfile::TempDir;

use super::super::*;

const FITTING: &str = "components are called NAME.wasm";

/// Moves a file into the folder under a name of any bytes.
fn move_in(folder: &Path, name: &[u8], bytes: &[u8]) {
    let whole = folder.with_file_name("whole");
    fs::write(&whole, bytes).unwrap();
    fs::rename(whole, folder.join(OsStr::from_bytes(name))).unwrap();
}

/// A process that watches a folder for components of the captcha slot, and the folder.
async fn watching(root: &TempDir) -> (Bulkhead, PathBuf) {
    let (folder, file) = (root.path().join("components"), root.path().join("a.wasm"));
    fs::create_dir(&folder).unwrap();
    fs::write(&file, answering('A', "").component()).unwrap();
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\n";
    let slot = format!("[slots.captcha]\ncomponent = {file:?}\nwatch.folder = {folder:?}\n");
    let config = format!("{}{services}{SITE}{slot}", operator::tokens());
    (Launch::serve_with(root.path(), &config).ready().await, folder)
}

/// What the log says of the names that end so: why they were not taken.
fn reasons(host: &Bulkhead, end: &str) -> Vec<String> {
    let is_named = |line: &Value| line["name"].as_str().is_some_and(|name| name.ends_with(end));
    let named = host.log().into_iter().filter(is_named);
    named.map(|line| format!("{} {}", line["message"], line["reason"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_files_of_folder_are_ignored() {
    let root = TempDir::new().unwrap();
    let (host, folder) = watching(&root).await;
    let b = answering('B', "").component();
    fs::write(root.path().join("outside.wasm"), &b).unwrap();
    let [long, long_link] = ["a", "b"].map(|letter| format!("{}.wasm", letter.repeat(250)));
    let deep = format!("{}none", "../components/".repeat(200));
    // The end of each name, and why it is not taken.
    let mut expected: Vec<(&str, &str)> = vec![
        (long.as_str(), FITTING),
        ("lines.wasm", FITTING),
        ("[2J.wasm", FITTING),
        ("\u{fffd}.wasm", FITTING),
        ("-rf.wasm", FITTING),
        ("a b.wasm", FITTING),
    ];

    // Files by odd names.
    for name in
        [long.as_bytes(), b"two\nlines.wasm", b"\x1b[2J.wasm", b"caf\xe9.wasm", b"-rf.wasm", b"a b.wasm"]
    {
        move_in(&folder, name, &b);
    }
    // Links: out of the folder, to a device, to themselves, to nothing, by a long name and by a long path.
    for (name, target, reason) in [
        ("out.wasm", "../outside.wasm", "leads out of the folder"),
        ("absolute.wasm", "/etc/passwd", "leads out of the folder"),
        ("device.wasm", "/dev/zero", "leads out of the folder"),
        ("descriptor.wasm", "/proc/self/mem", "leads out of the folder"),
        ("loop.wasm", "loop.wasm", ""),
        ("nowhere.wasm", "none", "leads nowhere"),
        ("far.wasm", deep.as_str(), "leads nowhere"),
        (long_link.as_str(), "../outside.wasm", FITTING),
    ] {
        symlink(target, folder.join(name)).unwrap();
        expected.push((name, reason));
    }
    // A link that leads on to one that leads out.
    symlink("out.wasm", folder.join("chain.wasm")).unwrap();
    expected.push(("chain.wasm", "leads out of the folder"));
    // A pipe, from which nothing ever comes, and a folder.
    let pipe = root.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    fs::rename(pipe, folder.join("pipe.wasm")).unwrap();
    expected.push(("pipe.wasm", "put a plain file there"));
    fs::create_dir(folder.join("folder.wasm")).unwrap();
    expected.push(("folder.wasm", "it is a folder"));

    move_in(&folder, b"good.wasm", &answering('C', "").component());
    let operator = Operator::new(&host.admin_url(""), operator::DEPLOY);
    eventually("the good file is the candidate", async || !operator.slot().await["candidate"].is_null())
        .await;
    for (end, reason) in expected {
        let is_said = async || reasons(&host, end).iter().any(|said| said.contains(reason));
        eventually(&format!("{end:?} is not taken: {reason}"), is_said).await;
    }
    let (_, history) = operator.get("/v1/slots/captcha/history").await;
    let versions = history["versions"].as_array().unwrap().iter();
    let sources: Vec<_> = versions.map(|version| version["source"].as_str().unwrap().to_owned()).collect();
    assert_eq!(sources.len(), 2, "{sources:?}");
    assert!(sources[0].ends_with("/a.wasm") && sources[1].ends_with("/components/good.wasm"), "{sources:?}");
    host.stop().await;
}

/// NUL and other control characters are escaped where they are only quoted, and name nothing where they are looked up.
#[tokio::test(flavor = "multi_thread")]
async fn control_characters_name_nothing_and_are_escaped() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let component = answering('B', "").component();
    let upload = async |parameters: &str, field: Option<&str>| {
        let url = host.admin_url(&format!("/v1/slots/captcha/versions{parameters}"));
        let request = host.client().post(url).bearer_auth(operator::DEPLOY);
        let request = request.header("content-type", "application/wasm").body(component.clone());
        let request = match field {
            Some(field) => request.header("x-minisign-signature", field),
            None => request,
        };
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    for (parameters, field) in
        [("?source=b.wasm&slot%00=x", None), ("?source%00=b.wasm", None), ("", Some("%00"))]
    {
        let (status, error) = upload(parameters, field).await;
        assert_eq!(
            (status, error["error"].as_str()),
            (400, Some("invalid-request")),
            "{parameters}: {error}"
        );
    }
    let (status, version) = upload("?source=a%00b%0a%1b[2J%7f.wasm", None).await;
    assert_eq!(status, 201, "{version}");
    let reason = "NUL \0, line\nbreak and \u{1b}[31mcolour";
    operator.change("swap", json!({ "version": version["id"], "reason": reason })).await;
    assert_eq!(letter(&host, 1).await, 'B');

    // What is quoted: in the slot, its history, the audit log, and the labels of metrics.
    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    let slot = operator.slot().await["active"].clone();
    let (_, history) = operator.get("/v1/slots/captcha/history").await;
    let (_, audit) = admin.get("/v1/audit?slot=captcha").await;
    for quoted in [&slot["source"], &slot["moves"], &history, &audit] {
        assert_plain(quoted);
    }
    assert!(audit.to_string().contains("31mcolour") && slot["source"].as_str().unwrap().ends_with(".wasm"));
    let metrics = host.client().get(host.admin_url("/metrics")).send().await.unwrap().text().await.unwrap();
    let info =
        metrics.lines().filter(|line| line.starts_with("bulkhead_version_info{") && line.contains("[2J"));
    assert_eq!(info.count(), 1, "the label is one line");
    let is_plain = |c: char| !c.is_control() || c == '\n';
    assert!(metrics.chars().all(is_plain));
    let file = fs::read_to_string(host.folder().join("data/slots/audit.jsonl")).unwrap();
    assert!(file.chars().all(is_plain) && !file.contains("\\u0000"), "{file}");

    // What is looked up.
    for (path, status) in [
        ("/v1/slots/%00", 404),
        ("/v1/slots/captcha%00", 404),
        ("/v1/slots/captcha/versions/%00/component", 404),
        ("/v1/slots/captcha/versions/00000000%00/component", 404),
        ("/v1/jobs/%00", 404),
        ("/v1/slots/captcha/diff?a=%00&b=%00", 404),
        ("/v1/slots/captcha/logs?limit=1%00", 400),
    ] {
        let (got, error) = operator.get(path).await;
        assert_eq!(got, status, "{path}: {error}");
        assert_plain(&error);
    }
    let generation = operator.generation().await;
    for version in ["\0", "\0\0\0\0\0\0\0\0", &format!("{}\0", version["id"].as_str().unwrap())] {
        let body = json!({ "version": version, "generation": generation });
        let (status, error) = operator.post("/swap", &body).await;
        assert_eq!((status, error["error"].as_str()), (404, Some("unknown-version")), "{version:?}: {error}");
        assert_plain(&error);
    }
    let reference = json!({ "reference": "oci://registry.example/a\0b:1" });
    let (status, error) = operator.post("/versions", &reference).await;
    assert_eq!((status, error["error"].as_str()), (400, Some("invalid-request")), "{error}");
    assert_plain(&error);
    host.stop().await;
}

/// Asserts that no text in a JSON value has a control character.
fn assert_plain(value: &Value) {
    match value {
        Value::String(text) => assert!(!text.contains(|c: char| c.is_control()), "{text:?}"),
        Value::Array(values) => values.iter().for_each(assert_plain),
        Value::Object(members) => members.values().for_each(assert_plain),
        _ => {}
    }
}
