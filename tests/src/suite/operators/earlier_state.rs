//! What the hosts of an earlier version keep is read: `data/state/make.py` has run them.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    host::{HMAC_KEY, eventually},
    servers::postgres::Postgres,
    signer::Signer,
};
use tempfile::TempDir;

use super::*;
use crate::status;

const SLOTS: [&str; 2] = ["captcha", "status"];

/// What of a slot says which versions answer.
const ANSWERING: [&str; 8] = [
    "/generation",
    "/active/id",
    "/active/weight",
    "/candidate/id",
    "/candidate/weight",
    "/candidate/shadow",
    "/predecessor/id",
    "/empty",
];

fn state(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/state").join(name)
}

/// A file that the script has made.
fn written(name: &str) -> PathBuf {
    state("written").join(name)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What the earlier host said before it stopped.
fn said(name: &str) -> Value {
    serde_json::from_str(&text(&written(name))).unwrap()
}

/// Copies a data folder for its owner alone: Git keeps no such modes.
fn copy(from: &Path, to: &Path) {
    fs::DirBuilder::new().mode(0o700).create(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// A folder with the components that the configuration names, and with the data folder of this name.
fn folder(data: Option<&str>) -> TempDir {
    let folder = TempDir::new().unwrap();
    for file in ["captcha.wasm", "status.wasm", "status.wasm.minisig"] {
        fs::copy(written(file), folder.path().join(file)).unwrap();
    }
    if let Some(data) = data {
        copy(&written(data), &folder.path().join("data"));
    }
    folder
}

/// Starts this version's host under the configuration of the earlier one, whose paths count from the folder.
async fn start(folder: &TempDir, database: Option<&str>) -> Bulkhead {
    start_with(folder, &text(&written("bulkhead.toml")), database).await
}

async fn start_with(folder: &TempDir, config: &str, database: Option<&str>) -> Bulkhead {
    let launch = Launch::serve_with(folder.path(), config).in_folder(folder.path());
    let launch = match database {
        Some(url) => launch
            .env("BULKHEAD_CAPTCHA__DATABASE", url)
            .env("BULKHEAD_SHARING__POLL_MS", "200")
            .env("CAPTCHA_HMAC_KEY", HMAC_KEY),
        None => launch,
    };
    launch.ready().await
}

fn operator_of(host: &Bulkhead, slot: &'static str) -> Operator {
    Operator::new(&host.admin_url(""), operator::DEPLOY).of(slot)
}

async fn history(host: &Bulkhead, slot: &'static str) -> Vec<Value> {
    let (status, history) = operator_of(host, slot).get(&format!("/v1/slots/{slot}/history")).await;
    assert_eq!(status, 200, "{history}");
    history["versions"].as_array().unwrap().clone()
}

/// The id of the version with this letter, which was pushed.
fn id(said: &Value, slot: &str, letter: char) -> String {
    let versions = said["slots"][slot]["history"].as_array().unwrap();
    let source = format!("{slot}-{letter}.wasm");
    let version = versions.iter().find(|version| version["source"] == source.as_str());
    version.unwrap_or_else(|| panic!("no {source}: {versions:?}"))["id"].as_str().unwrap().to_owned()
}

/// Asserts that the same versions answer in the same generation, and that the history has the same order.
async fn assert_answers_as(host: &Bulkhead, said: &Value) {
    for slot in SLOTS {
        let (was, is) = (&said["slots"][slot], operator_of(host, slot).slot().await);
        for pointer in ANSWERING {
            assert_eq!(is.pointer(pointer), was["slot"].pointer(pointer), "{pointer} of {slot}: {is}");
        }
        let ids = |versions: &[Value]| versions.iter().map(|it| it["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&history(host, slot).await), ids(was["history"].as_array().unwrap()), "{slot}");
    }
    assert_remembers(host, said).await;
}

/// Asserts that every version is remembered with all that was known of it; moves may have been added.
async fn assert_remembers(host: &Bulkhead, said: &Value) {
    for slot in SLOTS {
        let versions = history(host, slot).await;
        for was in said["slots"][slot]["history"].as_array().unwrap() {
            let is = versions.iter().find(|version| version["id"] == was["id"]);
            let is = is.unwrap_or_else(|| panic!("{slot} has forgotten {was}: {versions:?}"));
            for (member, value) in was.as_object().unwrap() {
                match member.as_str() {
                    "moves" => assert_begins(&is["moves"], value),
                    _ => assert_eq!(is[member], *value, "{member} of {is}"),
                }
            }
        }
    }
}

fn assert_begins(list: &Value, beginning: &Value) {
    let (list, beginning) = (list.as_array().unwrap(), beginning.as_array().unwrap());
    assert!(list.starts_with(beginning), "{list:?} does not begin with {beginning:?}");
}

/// Asserts that the audit log goes on with the lines that it had.
async fn assert_logs(host: &Bulkhead, said: &Value) {
    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    let (status, audit) = admin.get("/v1/audit?limit=1000").await;
    assert_eq!(status, 200, "{audit}");
    assert_begins(&audit["entries"], &said["audit"]);
}

/// Whether a host has applied what the database says.
async fn is_up_to_date(host: &Bulkhead) -> bool {
    for slot in SLOTS {
        let shared = operator_of(host, slot).slot().await["shared"].clone();
        if shared["desired"].is_null() || shared["desired"] != shared["applied"] {
            return false;
        }
    }
    true
}

/// The letters with which the captcha slot answers its clients.
async fn letters(host: &Bulkhead) -> String {
    let mut letters = BTreeSet::new();
    for client in 0..100 {
        let address = format!("192.0.2.{client}");
        let body = json!({ "siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": address });
        let (status, body) = host.post("/api/v1/captcha/challenge", &body).await;
        assert_eq!(status, 200, "{body}");
        letters.insert(body["challenge"]["letter"].as_str().unwrap().to_owned());
    }
    letters.into_iter().collect()
}

/// The letter with which the status slot answers.
async fn verdict(host: &Bulkhead) -> String {
    let url = host.url(&format!("{}/healthcheck/", status::BASE));
    host.client().get(url).send().await.unwrap().text().await.unwrap()
}

#[test]
fn components_are_what_their_texts_say() {
    for slot in SLOTS {
        let wasm = wat::parse_file(state(&format!("{slot}.wat"))).unwrap();
        assert_eq!(fs::read(state(&format!("{slot}.wasm"))).unwrap(), wasm, "{slot}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_folder_answers_as_before() {
    let (folder, said) = (folder(Some("local")), said("local.json"));
    let host = start(&folder, None).await;
    assert_answers_as(&host, &said).await;
    assert_logs(&host, &said).await;
    // The pushed ones, though the configured files say A.
    assert_eq!((letters(&host).await.as_str(), verdict(&host).await.as_str()), ("BD", "B"));
    host.stop().await;
    for secret in ["captcha.key", "host.key"] {
        let file = Path::new("secrets").join(secret);
        assert_eq!(text(&folder.path().join("data").join(&file)), text(&written("local").join(&file)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_folder_is_operated_on_without_loss() {
    let (folder, said) = (folder(Some("local")), said("local.json"));
    let host = start(&folder, None).await;
    let captcha = operator_of(&host, "captcha");
    captcha.change("rollback", json!({})).await;
    assert_eq!(letters(&host).await, "B", "the candidate is given up");
    captcha.swap(&id(&said, "captcha", 'C')).await;
    assert_eq!(letters(&host).await, "C", "what was rolled back is still here");
    captcha.change("rollback", json!({})).await;
    captcha.change("rollback", json!({})).await;
    assert_eq!(letters(&host).await, "A", "the configured file is where the line begins");
    captcha.swap(&id(&said, "captcha", 'D')).await;
    operator_of(&host, "status").change("promote", json!({})).await;
    assert_eq!((letters(&host).await.as_str(), verdict(&host).await.as_str()), ("D", "C"));
    host.stop().await;

    let host = start(&folder, None).await;
    assert_eq!((letters(&host).await.as_str(), verdict(&host).await.as_str()), ("D", "C"));
    assert_remembers(&host, &said).await;
    assert_logs(&host, &said).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_signatures_count() {
    let (folder, said) = (folder(Some("local")), said("local.json"));
    let config = text(&written("bulkhead.toml"));
    let key = config.lines().find_map(|line| line.strip_prefix("keys = [\"")?.strip_suffix("\"]")).unwrap();
    let host = start(&folder, None).await;
    let operator = operator_of(&host, "status");
    let slot = operator.slot().await;
    for version in ["active", "candidate"] {
        assert_eq!(slot[version]["signed_by"], key, "{slot}");
    }
    assert_eq!(operator.stage(&id(&said, "status", 'D')).await, "refused", "it has no signature");
    // The newest that the slot has taken is the candidate's.
    let wasm = fs::read(written("status.wasm")).unwrap();
    let (status, error) = operator.try_push_signed(wasm, &text(&written("status.wasm.minisig"))).await;
    assert_eq!((status, error["error"].as_str()), (422, Some("refused")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("an old signature in a new push"), "{error}");
    host.stop().await;

    let host = start_with(&folder, &config.replace(key, &Signer::new().key()), None).await;
    let slot = operator_of(&host, "status").slot().await;
    assert!(slot["active"].is_null(), "another key has signed none of them: {slot}");
    assert_eq!(letters(&host).await, "BD");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_database_answers_as_before() {
    let postgres = Postgres::start();
    postgres.sql(&text(&written("shared.sql")));
    let (url, said) = (postgres.url(), said("shared.json"));
    let folders = [folder(Some("shared")), folder(None)];
    let hosts = [start(&folders[0], Some(&url)).await, start(&folders[1], Some(&url)).await];
    for host in &hosts {
        eventually("the host has what all should have", async || is_up_to_date(host).await).await;
        assert_answers_as(host, &said).await;
        assert_eq!((letters(host).await.as_str(), verdict(host).await.as_str()), ("BD", "B"));
    }
    assert_logs(&hosts[0], &said).await;

    let components =
        "SELECT slot, component, md5(wasm), md5(signature) FROM bulkhead_component ORDER BY 1, 2";
    let before = postgres.sql(components);
    let captcha = operator_of(&hosts[1], "captcha");
    captcha.change("rollback", json!({})).await;
    captcha.change("rollback", json!({})).await;
    assert_eq!(letters(&hosts[1]).await, "A");
    eventually("the other host follows", async || letters(&hosts[0]).await == "A").await;
    assert_eq!(postgres.sql(components), before);
    for host in hosts {
        assert_remembers(&host, &said).await;
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_shared_folder_answers_without_database() {
    let (folder, said) = (folder(Some("shared")), said("shared.json"));
    let host = start(&folder, Some("postgres://bulkhead@127.0.0.1:1/postgres")).await;
    assert_answers_as(&host, &said).await;
    assert_eq!(verdict(&host).await, "B");
    host.stop().await;
}
