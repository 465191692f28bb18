//! `kill -9` during verifies: what was answered holds, and nothing is granted twice.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bulkhead_tests::child::{Bulkhead, Launch};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{sync::Notify, task::JoinSet, time::timeout};

use crate::process::{SITE, envelope, replayed, solved, valid, verdict};

const KILLS: usize = 6;
/// Fresh payloads a round; each is submitted by every client.
const PAYLOADS: usize = 64;
const CLIENTS: usize = 8;
/// Fails a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often each payload was answered with `valid: true`, over all rounds.
#[derive(Default)]
struct Grants {
    counts: Mutex<BTreeMap<usize, u32>>,
    another: Notify,
}

impl Grants {
    fn add(&self, payload: usize) {
        *self.counts.lock().unwrap().entry(payload).or_default() += 1;
        self.another.notify_one();
    }

    fn granted(&self) -> Vec<usize> {
        self.counts.lock().unwrap().keys().copied().collect()
    }

    /// Waits until `count` payloads have been granted.
    async fn reach(&self, count: usize) {
        while self.granted().len() < count {
            timeout(PATIENCE, self.another.notified()).await.expect("payloads are granted");
        }
    }
}

/// Submits payloads, over and over, until the host is gone.
async fn submit(client: reqwest::Client, url: String, payloads: Vec<(usize, Value)>, grants: Arc<Grants>) {
    loop {
        for (id, payload) in &payloads {
            let mut body = envelope();
            body["payload"] = payload.clone();
            let Ok(answer) = client.post(&url).json(&body).send().await else { return };
            let Ok(verdict) = answer.json::<Value>().await else { return };
            if verdict == valid() {
                grants.add(*id);
            } else {
                assert_eq!(verdict, replayed(), "payload {id}");
            }
        }
    }
}

/// Clients submit at once, each beginning at another payload, until the host is killed in their midst.
async fn storm(mut host: Bulkhead, payloads: &[(usize, Value)], grants: &Arc<Grants>, enough: usize) {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let mut own = payloads.to_vec();
        own.rotate_left(number * payloads.len() / CLIENTS);
        let url = host.url("/api/v1/captcha/verify");
        clients.spawn(submit(host.client().clone(), url, own, Arc::clone(grants)));
    }
    grants.reach(enough).await;
    host.signal(Signal::KILL);
    host.ended().await;
    timeout(PATIENCE, clients.join_all()).await.expect("every client notices");
}

async fn assert_spent(host: &Bulkhead, payloads: &[(usize, Value)], grants: &Grants) {
    for id in grants.granted() {
        assert_eq!(verdict(host, &payloads[id].1).await, replayed(), "payload {id} was lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn crash_neither_loses_nor_repeats_claims() {
    let folder = TempDir::new().unwrap();
    let grants = Arc::new(Grants::default());
    let mut payloads: Vec<(usize, Value)> = Vec::new();
    for round in 0..KILLS {
        let host = Launch::serve_with(folder.path(), SITE).ready().await;
        assert_spent(&host, &payloads, &grants).await;
        for id in payloads.len()..payloads.len() + PAYLOADS {
            payloads.push((id, solved(&host).await));
        }
        // Early, late and in between: while the first claims are written, and among replays.
        let enough = grants.granted().len() + 1 + round * PAYLOADS / (2 * KILLS);
        // Payloads whose answer was lost in a crash are submitted again with the fresh ones.
        storm(host, &payloads, &grants, enough).await;
    }
    let host = Launch::serve_with(folder.path(), SITE).ready().await;
    assert_spent(&host, &payloads, &grants).await;
    host.stop().await;
    let counts = grants.counts.lock().unwrap();
    assert!(counts.len() >= KILLS, "every round granted something");
    let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "granted more than once: {twice:?}");
}
