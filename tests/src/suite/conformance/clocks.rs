//! A time of day that jumps: on one host, and among hosts on one database.

use std::time::Duration;

use bulkhead::clock::HostClock;
use bulkhead_tests::{TestHost, servers::postgres::Postgres};
use serde_json::{Value, json};

use super::{CLIENT, JAVA, SITE, Service, ledger, postgres, refused, valid, within_a_minute};

const DECADE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Sites beside the one of [`JAVA`].
const SITES: &str = r#"
    [captcha.sites.own]
    secret = "own_secret"
    difficulty_map = [{ min_visits = 1, cost = 10 }]
    [captcha.sites.old]
    secret = "old_secret"
    protocol = "v1"
    difficulty_map = [{ min_visits = 1, cost = 10 }]
"#;

/// Solves a challenge of each site and has it accepted.
async fn accepted(service: &Service) -> Vec<(&'static str, Value)> {
    let mut payloads = Vec::new();
    for site in [SITE, "own", "old"] {
        let payload = service.solved(site, CLIENT).await;
        assert_eq!(service.verify(site, &payload).await, valid(), "{site}");
        payloads.push((site, payload));
    }
    payloads
}

async fn assert_replayed(service: &Service, payloads: &[(&str, Value)]) {
    for (site, payload) in payloads {
        assert_eq!(service.verify(site, payload).await, refused("replayed"), "{site}");
    }
}

#[tokio::test]
async fn ten_years_of_drift_accept_nothing_twice() {
    let config = format!("{JAVA}{SITES}");
    let (clock, hands) = HostClock::movable();
    let start = |folder| {
        let builder = TestHost::builder().config(&config).clock(clock.clone());
        async move {
            Service(match folder {
                Some(folder) => builder.folder(folder).start().await,
                None => builder.start().await,
            })
        }
    };
    let service = start(None).await;
    let before = accepted(&service).await;
    let folder = service.stop().await;

    hands.set_ahead(DECADE);
    let service = start(Some(folder)).await;
    let mut rows = ledger(service.0.folder()).await;
    within_a_minute("the sweep at the start has been", async || {
        let left = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM invalidated_payload");
        left.fetch_one(&mut rows).await.unwrap() == 0
    })
    .await;
    let ahead = accepted(&service).await;
    assert_replayed(&service, &ahead).await;

    hands.set_back(DECADE);
    assert_replayed(&service, &before).await;
    assert_replayed(&service, &ahead).await;
    let after = accepted(&service).await;
    assert_replayed(&service, &after).await;
    let fault = service.degraded("captcha ledger clock").await;
    assert!(fault.is_some_and(|fault| fault.contains("went back")));

    // The result of a widget's verification is good once too.
    let (_, challenge) = service.post("/challenge", &super::envelope("own", CLIENT)).await;
    let solved = super::altcha::solve(&challenge["challenge"]);
    let body = json!({ "payload": base64(&solved) });
    let (_, answer) = service.post("/widget/verify?siteKey=own", &body).await;
    let question = json!({ "secret": "own_secret", "response": answer["payload"] });
    assert_eq!(service.post("/siteverify", &question).await.1["success"], true);
    assert_eq!(service.post("/siteverify", &question).await.1["success"], false);

    let folder = service.stop().await;
    let service = start(Some(folder)).await;
    assert_replayed(&service, &before).await;
    assert_replayed(&service, &ahead).await;
    assert_replayed(&service, &after).await;
    accepted(&service).await;
    service.stop().await;
}

/// A machine without a battery starts in 1970, and its clock is set while it serves.
#[tokio::test]
async fn clock_of_1970_accepts_nothing_twice() {
    let config = format!("{JAVA}{SITES}");
    let (clock, hands) = HostClock::movable();
    let since_epoch = clock.unix();
    let start = |builder: bulkhead_tests::host::Builder| builder.config(&config).clock(clock.clone()).start();
    let service = Service(start(TestHost::builder()).await);
    let before = accepted(&service).await;
    let folder = service.stop().await;

    hands.set_back(since_epoch);
    let service = Service(start(TestHost::builder().folder(folder)).await);
    assert_replayed(&service, &before).await;
    let open = service.solved("own", CLIENT).await;
    let early = accepted(&service).await;
    assert_replayed(&service, &early).await;

    hands.set_ahead(since_epoch);
    assert_eq!(service.verify("own", &open).await["valid"], false, "it is over");
    for (site, payload) in before.iter().chain(&early) {
        assert_eq!(service.verify(site, payload).await["valid"], false, "{site}");
    }
    let fresh = accepted(&service).await;
    assert_replayed(&service, &fresh).await;
    service.stop().await;
}

fn base64(payload: &Value) -> String {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    BASE64_STANDARD.encode(payload.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn fast_clock_forgets_nothing_that_others_accept() {
    let database = Postgres::start();
    let config = postgres::config(&database.url());
    let right = Service::start(&config).await;
    let mut spent = Vec::new();
    for _ in 0..6 {
        let payload = right.solved(SITE, CLIENT).await;
        assert_eq!(right.verify(SITE, &payload).await, valid());
        spent.push(payload);
    }
    // Long enough for all of their rows, by its own clock.
    let (clock, hands) = HostClock::movable();
    hands.set_ahead(Duration::from_secs(3600));
    // It sweeps at its start.
    let ahead = Service(TestHost::builder().config(&config).clock(clock).start().await);
    within_a_minute("it says that its clock is wrong", async || {
        let fault = ahead.degraded("captcha ledger clock").await;
        fault.is_some_and(|fault| fault.contains(" s ahead of the database's"))
    })
    .await;
    assert_eq!(database.sql("SELECT count(*) FROM invalidated_payload"), "6");
    for payload in &spent {
        assert_eq!(right.verify(SITE, payload).await, refused("replayed"));
    }
    hands.set_back(Duration::from_secs(3598));
    within_a_minute("its clock is good enough", async || {
        ahead.degraded("captcha ledger clock").await.is_none()
    })
    .await;
    for host in [right, ahead] {
        host.stop().await;
    }
}
