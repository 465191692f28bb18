//! `kill -9` during swaps: what answers is exactly the old version or the new one.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bulkhead_tests::{
    child::{Launch, PATIENCE},
    guests::answering,
    operator::{self, Operator},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::process::{SITE, envelope};

const KILLS: u64 = 12;

/// The letters of components by their digests, as the host's API names them.
type Letters = [(String, char); 3];

/// Swaps from one version to the other until the host is gone; the last generation that was answered.
async fn swap_on(operator: Operator, versions: [String; 2], answered: Arc<AtomicU64>) {
    loop {
        let generation = answered.load(Ordering::Acquire);
        let version = &versions[(generation % 2) as usize];
        let body = json!({ "version": version, "generation": generation });
        match operator.try_post("/swap", &body).await {
            Ok((200, slot)) => answered.store(slot["generation"].as_u64().unwrap(), Ordering::Release),
            // The version that answered when the host was killed may be the one that is next.
            Ok((409, error)) if error["error"] == "answering" => {
                let other =
                    json!({ "version": versions[((generation + 1) % 2) as usize], "generation": generation });
                let Ok((status, slot)) = operator.try_post("/swap", &other).await else { return };
                assert_eq!(status, 200, "{slot}");
                answered.store(slot["generation"].as_u64().unwrap(), Ordering::Release);
            }
            Ok((status, error)) => panic!("{status} {error}"),
            Err(_) => return,
        }
    }
}

fn letter_of(letters: &Letters, component: &Value) -> char {
    letters.iter().find(|(digest, _)| component == digest).unwrap_or_else(|| panic!("{component}")).1
}

/// The lines of the audit log, every one of which is whole.
fn audit(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("data/slots/audit.jsonl")).unwrap();
    assert!(text.ends_with('\n'));
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parse).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_leaves_old_or_new_version() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.wasm");
    let components = ['A', 'B', 'C'].map(|letter| answering(letter, "").component());
    fs::write(&file, &components[0]).unwrap();
    let config = format!("{}[slots.captcha]\ncomponent = {file:?}\n{SITE}", operator::tokens());
    let start = async || Launch::serve_with(folder.path(), &config).ready().await;

    let mut host = start().await;
    let deploy = |admin: &str| Operator::new(admin, operator::DEPLOY);
    let first = deploy(&host.admin_url(""));
    let versions = [first.push(components[1].clone()).await, first.push(components[2].clone()).await];
    let (_, history) = first.get("/v1/slots/captcha/history").await;
    let digest = |at: usize| history["versions"][at]["component"].as_str().unwrap().to_owned();
    let letters: Letters = [(digest(0), 'A'), (digest(1), 'B'), (digest(2), 'C')];
    let answered = Arc::new(AtomicU64::new(0));
    for round in 0..KILLS {
        let before = answered.load(Ordering::Acquire);
        let swapping =
            tokio::spawn(swap_on(deploy(&host.admin_url("")), versions.clone(), Arc::clone(&answered)));
        let first = async {
            while answered.load(Ordering::Acquire) == before {
                assert!(!swapping.is_finished(), "{}", host.text());
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, first).await.expect("a swap is answered");
        // Anywhere in a swap, another place each round.
        tokio::time::sleep(Duration::from_micros(700 * round)).await;
        host.signal(Signal::KILL);
        host.ended().await;
        timeout(PATIENCE, swapping).await.expect("the operator notices").unwrap();

        host = start().await;
        let slot = deploy(&host.admin_url("")).slot().await;
        let (known, generation) = (answered.load(Ordering::Acquire), slot["generation"].as_u64().unwrap());
        assert!((known..=known + 1).contains(&generation), "{generation} after {known} was answered");
        assert!(slot["empty"].is_null(), "{slot}");
        let expected = letter_of(&letters, &slot["active"]["component"]);
        let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
        assert_eq!((status, &body["challenge"]["letter"]), (200, &json!(expected.to_string())), "{body}");
        let last = audit(folder.path()).into_iter().rfind(|entry| entry["stage"] == "active").unwrap();
        assert_eq!((&last["generation"], &last["version"]), (&slot["generation"], &slot["active"]["id"]));
        answered.store(generation, Ordering::Release);
    }
    let wanted = ["audit.jsonl", "captcha", "lock", "reserve"].map(str::to_owned);
    let mut found: Vec<_> = fs::read_dir(folder.path().join("data/slots"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, wanted);
    host.stop().await;
}
