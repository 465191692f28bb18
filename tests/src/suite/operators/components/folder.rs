//! What is moved into a slot's folder becomes a candidate.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
    time::{Duration, SystemTime},
};

use bulkhead_tests::host::eventually;
use tempfile::TempDir;

use super::super::*;

fn watching(folder: &Path) -> Builder {
    hosting_a().env("BULKHEAD_SLOTS__CAPTCHA__WATCH__FOLDER", folder.to_str().unwrap())
}

/// Moves a file into the folder, as a deployment should.
fn move_in(folder: &Path, name: &str, bytes: &[u8]) {
    let beside = TempDir::new_in(folder.parent().unwrap()).unwrap();
    let whole = beside.path().join("whole");
    fs::write(&whole, bytes).unwrap();
    fs::rename(whole, folder.join(name)).unwrap();
}

/// Where the slot's versions came from.
async fn sources(operator: &Operator) -> Vec<String> {
    let (_, history) = operator.get("/v1/slots/captcha/history").await;
    let versions = history["versions"].as_array().unwrap().iter();
    versions
        .map(|version| version["source"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect()
}

async fn candidate(operator: &Operator) -> Value {
    eventually("there is a candidate", async || !operator.slot().await["candidate"].is_null()).await;
    operator.slot().await["candidate"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_moved_files_become_candidates() {
    let watched = TempDir::new().unwrap();
    let folder = watched.path().join("components");
    fs::create_dir(&folder).unwrap();
    let host = watching(&folder).start().await;
    let operator = operator(&host);
    let (b, c) = (answering('B', "").component(), answering('C', "").component());
    // A copy that takes its time: half of it, then all of it, under its own name.
    fs::write(folder.join("b.wasm"), &b[..b.len() / 2]).unwrap();
    fs::write(folder.join("b.wasm"), &b).unwrap();
    for name in ["two words.wasm", ".hidden.wasm", "notes.txt", "c.wasm.part"] {
        move_in(&folder, name, &b);
    }
    move_in(&folder, "c.wasm", &c);
    // The kernel tells of them in order, so nothing before it has been taken.
    let candidate = candidate(&operator).await;
    assert_eq!((&candidate["weight"], &candidate["shadow"]), (&json!(0), &json!(false)));
    let step = candidate["moves"].as_array().unwrap().last().unwrap();
    assert_eq!((&step["stage"], &step["actor"]), (&json!("candidate"), &json!("host")));
    assert!(step["reason"].as_str().unwrap().contains("moved into the watched folder"), "{step}");
    assert_eq!(sources(&operator).await, ["guest-captcha.wasm", "c.wasm"]);
    assert_eq!(letter(&host, 1).await, 'A', "it answers nobody before an operator says so");
    operator.change("promote", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'C');
    // A file that was written in place is taken once it is moved in.
    fs::rename(folder.join("b.wasm"), watched.path().join("b.wasm")).unwrap();
    fs::rename(watched.path().join("b.wasm"), folder.join("b.wasm")).unwrap();
    assert!(self::candidate(&operator).await["source"].as_str().unwrap().ends_with("/b.wasm"));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_may_answer_a_share_at_once() {
    let watched = TempDir::new().unwrap();
    let folder = watched.path().join("components");
    fs::create_dir(&folder).unwrap();
    let host = watching(&folder).env("BULKHEAD_SLOTS__CAPTCHA__WATCH__WEIGHT", "100").start().await;
    move_in(&folder, "b.wasm", &answering('B', "").component());
    eventually("it answers", async || letter(&host, 1).await == 'B').await;
    let operator = operator(&host);
    assert_eq!(operator.slot().await["candidate"]["weight"], 100);
    // Another one waits until this one is promoted or rolled back.
    move_in(&folder, "c.wasm", &answering('C', "").component());
    eventually("it is tried", async || sources(&operator).await.contains(&"c.wasm".to_owned())).await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_answer_changes_nothing() {
    let watched = TempDir::new().unwrap();
    let folder = watched.path().join("components");
    fs::create_dir(&folder).unwrap();
    let host = watching(&folder)
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "optional")
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", &bulkhead_tests::signer::Signer::new().key())
        .start()
        .await;
    let operator = operator(&host);
    move_in(&folder, "garbage.wasm", b"garbage");
    // The file beside it is not a signature.
    move_in(&folder, "signed.wasm.minisig", b"signed");
    move_in(&folder, "signed.wasm", &answering('B', "").component());
    move_in(&folder, "good.wasm", &answering('C', "").component());
    let good = candidate(&operator).await;
    assert!(good["source"].as_str().unwrap().ends_with("/good.wasm"), "{good}");
    let (_, history) = operator.get("/v1/slots/captcha/history").await;
    for name in ["garbage.wasm", "signed.wasm"] {
        let versions = history["versions"].as_array().unwrap();
        let version = versions.iter().find(|version| version["source"].as_str().unwrap().ends_with(name));
        let version = version.unwrap_or_else(|| panic!("no {name}: {history}"));
        assert_eq!(version["moves"].as_array().unwrap().last().unwrap()["stage"], "refused", "{version}");
    }
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_downtime_are_taken_once() {
    let watched = TempDir::new().unwrap();
    let folder = watched.path().join("components");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("being-written.wasm"), answering('C', "").component()).unwrap();
    let old = folder.join("old.wasm");
    fs::write(&old, answering('B', "").component()).unwrap();
    let hours = SystemTime::now() - Duration::from_secs(7200);
    File::options().write(true).open(&old).unwrap().set_modified(hours).unwrap();
    let host = watching(&folder).start().await;
    let first = operator(&host);
    assert!(candidate(&first).await["source"].as_str().unwrap().ends_with("/old.wasm"));
    first.change("rollback", json!({})).await;
    let host = watching(&folder).folder(host.stop().await).start().await;
    let second = operator(&host);
    move_in(&folder, "new.wasm", &answering('D', "").component());
    let next = candidate(&second).await;
    assert!(next["source"].as_str().unwrap().ends_with("/new.wasm"), "{next}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn early_file_is_taken_once_settled() {
    let watched = TempDir::new().unwrap();
    let file = watched.path().join("b.wasm");
    fs::write(&file, answering('B', "").component()).unwrap();
    let moment = SystemTime::now() - Duration::from_secs(55);
    File::options().write(true).open(&file).unwrap().set_modified(moment).unwrap();
    let host = watching(watched.path()).start().await;
    let candidate = candidate(&operator(&host)).await;
    assert!(candidate["source"].as_str().unwrap().ends_with("/b.wasm"), "{candidate}");
    host.stop().await;
}

/// Has `link` lead to `target` in one stroke.
fn relink(target: &str, link: &Path) {
    let beside = link.with_file_name("..next");
    symlink(target, &beside).unwrap();
    fs::rename(beside, link).unwrap();
}

/// Waits until a component is the candidate, and gives it up again; where it came from.
async fn tried(operator: &Operator, component: &[u8]) -> String {
    let digest = bulkhead_tests::artifact::digest(component);
    eventually("it is the candidate", async || operator.slot().await["candidate"]["component"] == digest)
        .await;
    let source = operator.slot().await["candidate"]["source"].as_str().unwrap().to_owned();
    operator.change("rollback", json!({})).await;
    source
}

/// A volume of a ConfigMap or Secret: each file is a link through `..data`, which is replaced.
#[tokio::test(flavor = "multi_thread")]
async fn a_volume_of_kubernetes_brings_candidates() {
    let watched = TempDir::new().unwrap();
    let folder = watched.path().join("components");
    let [b, c, d] = ['B', 'C', 'D'].map(|letter| answering(letter, "").component());
    let volume = |name: &str, files: &[(&str, &[u8])]| {
        fs::create_dir_all(folder.join(name)).unwrap();
        files.iter().for_each(|(file, bytes)| fs::write(folder.join(name).join(file), bytes).unwrap());
        relink(name, &folder.join("..data"));
    };
    volume("..1", &[("captcha.wasm", &b)]);
    symlink("..data/captcha.wasm", folder.join("captcha.wasm")).unwrap();
    let host = watching(&folder).start().await;
    let operator = operator(&host);
    tried(&operator, &b).await;
    volume("..2", &[("captcha.wasm", &c)]);
    fs::remove_dir_all(folder.join("..1")).unwrap();
    let source = tried(&operator, &c).await;
    assert!(source.ends_with("/components/captcha.wasm"), "{source}");
    // What it had before comes back, and a file that is new in the volume comes after it.
    volume("..3", &[("captcha.wasm", &b), ("other.wasm", &d)]);
    tried(&operator, &b).await;
    symlink("..data/other.wasm", folder.join("other.wasm")).unwrap();
    tried(&operator, &d).await;
    // A link that leads out of the folder brings nothing.
    fs::write(watched.path().join("outside"), answering('E', "").component()).unwrap();
    symlink("../outside", folder.join("outside.wasm")).unwrap();
    volume("..4", &[("captcha.wasm", &c), ("other.wasm", &d)]);
    tried(&operator, &c).await;
    assert!(!sources(&operator).await.contains(&"outside.wasm".to_owned()));
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

/// git-sync has a link lead to another working tree with every commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_behind_a_link_is_followed() {
    let root = TempDir::new().unwrap();
    let [b, c, d] = ['B', 'C', 'D'].map(|letter| answering(letter, "").component());
    for (tree, component) in [("one", &b), ("two", &c)] {
        fs::create_dir_all(root.path().join(tree).join("components")).unwrap();
        fs::write(root.path().join(tree).join("components/captcha.wasm"), component).unwrap();
    }
    let current = root.path().join("current");
    let host = watching(&current.join("components")).start().await;
    let operator = operator(&host);
    // The first commit comes while the host runs, and its files are new.
    relink("one", &current);
    tried(&operator, &b).await;
    relink("two", &current);
    fs::remove_dir_all(root.path().join("one")).unwrap();
    let source = tried(&operator, &c).await;
    assert!(source.ends_with("/current/components/captcha.wasm"), "{source}");
    // It is watched where it is now.
    move_in(&root.path().join("two/components"), "d.wasm", &d);
    tried(&operator, &d).await;
    host.stop().await;
}
