//! The format of the data folder: a newer one is refused, an older one is upgraded and a copy kept.

use std::{collections::BTreeSet, fs, path::Path};

use bulkhead_tests::{
    child::Launch,
    guests::answering,
    operator::{self, Operator},
};
use serde_json::json;
use tempfile::TempDir;

use super::{SITE, envelope};

/// What the log says of an upgrade.
const UPGRADED: &str = "the data folder is upgraded; the copy has the slots as they were";
/// The state of a slot, in the data folder and in its copy.
const STATE: &str = "slots/captcha/book.json";

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[tokio::test]
async fn newer_folder_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("format"), "format 3 of the data folder\n").unwrap();
    let fill = ["demo", "appointments", "--rows", "3", "--data-dir", data.to_str().unwrap()];
    for launch in [Launch::serve_with(folder.path(), SITE), Launch::bulkhead(&fill)] {
        let refused = launch.finish().await;
        assert_eq!(refused.status.code(), Some(1), "{}{}", refused.stdout, refused.stderr);
        let named = format!("{} has format 3, which a newer version has written", data.display());
        assert!(refused.stderr.contains(&named), "{}", refused.stderr);
        assert_eq!(fs::read_dir(&data).unwrap().count(), 1, "nothing is written");
    }
}

#[tokio::test]
async fn older_folder_is_upgraded_once() {
    let folder = TempDir::new().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("a.wasm"));
    fs::write(&file, answering('A', "").component()).unwrap();
    let config = format!("{}[slots.captcha]\ncomponent = {file:?}\n{SITE}", operator::tokens());
    let start = async || Launch::serve_with(folder.path(), &config).ready().await;
    let host = start().await;
    let operator = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let version = operator.push(answering('B', "").component()).await;
    operator.swap(&version).await;
    host.stop().await;

    // A folder of the first format differs by the missing file.
    fs::remove_file(data.join("format")).unwrap();
    let before = text(&data.join(STATE));
    let host = start().await;
    let copy = data.join("copies/format-1");
    let upgraded = host.said(UPGRADED);
    assert_eq!(upgraded.len(), 1, "{:?}", host.log());
    assert_eq!(upgraded[0]["copy"], copy.to_str().unwrap());
    assert_eq!(text(&data.join("format")), "format 2 of the data folder\n");
    assert_eq!(text(&copy.join(STATE)), before);
    let names = |folder: &Path| {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&copy.join("slots/captcha")), names(&data.join("slots/captcha")));
    let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
    assert_eq!((status, &body["challenge"]["letter"]), (200, &json!("B")), "{body}");
    host.stop().await;

    let host = start().await;
    assert!(host.said(UPGRADED).is_empty());
    host.stop().await;
}

#[tokio::test]
async fn damaged_format_warns_and_serves() {
    let folder = TempDir::new().unwrap();
    Launch::serve_with(folder.path(), SITE).ready().await.stop().await;
    let format = folder.path().join("data/format");
    for damaged in ["", "format 2 of the data folde", "format 9\u{0}of"] {
        fs::write(&format, damaged).unwrap();
        let host = Launch::serve_with(folder.path(), SITE).ready().await;
        let warned = "the file that names the data folder's format was damaged and is written again";
        assert_eq!(host.said(warned).len(), 1, "{damaged}: {:?}", host.log());
        host.stop().await;
        assert_eq!(text(&format), "format 2 of the data folder\n");
    }
}
