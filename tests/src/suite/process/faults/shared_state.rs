//! `kill -9` of a host that follows another one on one PostgreSQL.

use std::{fs, time::Duration};

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    guests::answering,
    host::eventually,
    operator::{self, Operator},
    servers::postgres::Postgres,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{SITE, envelope};

const KILLS: u64 = 8;

/// The letter that a host answers with.
async fn letter(host: &Bulkhead) -> char {
    let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
    assert_eq!(status, 200, "{body}");
    body["challenge"]["letter"].as_str().unwrap().chars().next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_while_following_leaves_one_version() {
    let postgres = Postgres::start();
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let start = async |folder: &TempDir, url: &str| {
        let file = folder.path().join("a.wasm");
        fs::write(&file, answering('A', "").component()).unwrap();
        let config = format!("{}[slots.captcha]\ncomponent = {file:?}\n{SITE}", operator::tokens());
        let launch = Launch::serve_with(folder.path(), &config);
        launch
            .env("CAPTCHA_HMAC_KEY", bulkhead_tests::host::HMAC_KEY)
            .env("BULKHEAD_CAPTCHA__DATABASE", url)
            .env("BULKHEAD_SHARING__POLL_MS", "200")
            .ready()
            .await
    };
    let (url, nowhere) = (postgres.url(), postgres.url_at(1));
    let leader = start(&folders[0], &url).await;
    let operator = Operator::new(&leader.admin_url(""), operator::DEPLOY);
    let mut follower = start(&folders[1], &url).await;
    let versions = [
        (operator.push(answering('B', "").component()).await, 'B'),
        (operator.push(answering('C', "").component()).await, 'C'),
    ];
    let mut before = 'A';
    for round in 0..KILLS {
        let (version, after) = &versions[(round % 2) as usize];
        operator.swap(version).await;
        // Anywhere in what follows, another place each round.
        tokio::time::sleep(Duration::from_millis(4 * round)).await;
        follower.signal(Signal::KILL);
        follower.ended().await;

        // Without the database it has the one or the other, whole.
        follower = start(&folders[1], &nowhere).await;
        let found = letter(&follower).await;
        assert!([before, *after].contains(&found), "{found} between {before} and {after}");
        follower.signal(Signal::KILL);
        follower.ended().await;

        follower = start(&folders[1], &url).await;
        assert_eq!(letter(&follower).await, *after, "what all should have, from the start");
        before = *after;
    }
    let shared = async |host: &Bulkhead| -> Value {
        let slot = Operator::new(&host.admin_url(""), operator::DEPLOY).slot().await;
        slot["shared"].clone()
    };
    eventually("both have the last generation", async || {
        let (one, other) = (shared(&leader).await, shared(&follower).await);
        one["applied"] == json!(KILLS) && other["applied"] == json!(KILLS)
    })
    .await;
    leader.stop().await;
    follower.stop().await;
}
