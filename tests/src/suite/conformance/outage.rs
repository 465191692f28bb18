//! A database that goes away under a host, and comes back.

use std::time::{Duration, Instant};

use base64::{Engine, prelude::BASE64_STANDARD};
use bulkhead_tests::servers::postgres::Postgres;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{CLIENT, SITE, Service, envelope, postgres, refused, valid, with_payload, within_a_minute};

/// What was accepted without the database.
const CLAIMS: &str = "captcha_claims_without_ledger_total";

/// A fault of the host in the service's shape, which is not a verdict and tells nothing.
fn assert_fault(status: u16, body: &Value, database: &Postgres) {
    assert_eq!((status, &body["code"]), (503, &json!("busy")), "{body}");
    let text = body.to_string();
    for member in ["valid", "verified", "success", "invalidated", "challenge"] {
        assert!(body.get(member).is_none(), "{text}");
    }
    for inside in [database.password(), "postgres", "sqlx", "connection"] {
        assert!(!text.contains(inside), "{inside} in {text}");
    }
}

async fn state(service: &Service, path: &str) -> (u16, Value) {
    let answer = service.get(path, "*/*").await;
    (answer.status.as_u16(), answer.json()["status"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn outage_flips_readiness_without_a_verdict() {
    let mut database = Postgres::start();
    let details = "[management.endpoint.health]\nshow_details = \"always\"\n";
    let service = Service::start(&format!("{}{details}", postgres::config(&database.url()))).await;
    let payload = service.solved(SITE, CLIENT).await;
    let own = service.solved("own", CLIENT).await;
    let widget = BASE64_STANDARD.encode(service.solved(SITE, CLIENT).await.to_string());
    let (_, answer) = service.post("/widget/verify?siteKey=test_site", &json!({ "payload": widget })).await;
    let token = answer["payload"].as_str().unwrap().to_owned();
    assert_eq!(state(&service, "/actuator/health/readiness").await, (200, json!("UP")));

    database.crash();
    let encoded = BASE64_STANDARD.encode(own.to_string());
    for (path, body) in [
        ("/challenge", envelope(SITE, CLIENT)),
        ("/verify", with_payload(envelope(SITE, CLIENT), &payload)),
        ("/verify", with_payload(envelope("own", CLIENT), &own)),
        ("/invalidate", with_payload(envelope(SITE, CLIENT), &payload)),
        ("/siteverify", json!({ "secret": "own_secret", "response": encoded, "remoteip": CLIENT })),
        ("/siteverify", json!({ "secret": "test_secret", "response": token })),
        (
            "/widget/verify?siteKey=test_site",
            json!({ "payload": BASE64_STANDARD.encode(payload.to_string()) }),
        ),
    ] {
        let (status, body) = service.post(path, &body).await;
        assert_fault(status, &body, &database);
    }
    let errors = service.statistic("captcha.events?tag=event_type:verify_error", "COUNT").await;
    assert_eq!(errors, 5.0, "each verification that came to no verdict");
    assert!(service.statistic("hikaricp.connections.timeout", "COUNT").await > 0.0);

    within_a_minute("readiness flips once the grace is over", async || {
        state(&service, "/actuator/health/readiness").await == (503, json!("OUT_OF_SERVICE"))
    })
    .await;
    assert_eq!(state(&service, "/actuator/health/db").await, (503, json!("DOWN")));
    assert_eq!(state(&service, "/actuator/health").await, (503, json!("DOWN")));
    assert_eq!(state(&service, "/actuator/health/liveness").await, (200, json!("UP")));
    let ready = service.0.client().get(service.0.admin_url("/health/ready")).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    let text = ready.text().await.unwrap();
    assert!(text.contains("captcha ledger") && !text.contains(database.password()), "{text}");
    assert_eq!(
        service.0.client().get(service.0.admin_url("/health/live")).send().await.unwrap().status(),
        200
    );

    database.restart();
    within_a_minute("the host is ready again", async || {
        state(&service, "/actuator/health").await == (200, json!("UP"))
    })
    .await;
    assert_eq!(service.verify(SITE, &payload).await, valid(), "an outage spends nothing");
    assert_eq!(service.verify("own", &own).await, valid());
    let (_, answer) =
        service.post("/siteverify", &json!({ "secret": "test_secret", "response": token })).await;
    assert_eq!(answer["success"], true, "{answer}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lenient_service_continues_without_database() {
    let mut database = Postgres::start();
    let lenient = "[captcha]\non_ledger_failure = \"allow\"\n";
    let config = postgres::config(&database.url()).replacen("[captcha]\n", lenient, 1);
    let service = Service::start(&config).await;
    let spent = service.solved(SITE, CLIENT).await;
    assert_eq!(service.verify(SITE, &spent).await, valid());
    assert_eq!(service.0.metrics().await[CLAIMS], 0.0);

    database.crash();
    let mut payloads = Vec::new();
    for site in [SITE, "own"] {
        let payload = service.solved(site, CLIENT).await;
        assert_eq!(service.verify(site, &payload).await, valid(), "{site}");
        payloads.push((site, payload));
    }
    let limit = "own allows three verifications";
    for _ in 0..2 {
        assert_eq!(service.verify("own", &payloads[1].1).await, valid(), "{limit}");
    }
    for (site, payload) in &payloads {
        assert_eq!(service.verify(site, payload).await, refused("replayed"), "{site}");
    }
    assert_eq!(service.0.metrics().await[CLAIMS], 4.0);
    within_a_minute("operators are shown it, and requests still come", async || {
        let reason = service.degraded("captcha ledger").await;
        reason.is_some_and(|reason| reason.contains("captcha.on_ledger_failure"))
    })
    .await;

    database.restart();
    within_a_minute("the database is back", async || service.degraded("captcha ledger").await.is_none())
        .await;
    for (site, payload) in &payloads {
        assert_eq!(
            service.verify(site, payload).await,
            refused("replayed"),
            "{site}: not on record, but known"
        );
    }
    assert_eq!(service.verify(SITE, &spent).await, refused("replayed"));
    let durable = service.solved(SITE, CLIENT).await;
    assert_eq!(service.verify(SITE, &durable).await, valid());
    assert_eq!(service.0.metrics().await[CLAIMS], 4.0);
    service.stop().await;
}

/// Its connections stay open, so that nothing tells the host that no answer will come.
#[tokio::test(flavor = "multi_thread")]
async fn lenient_service_answers_beside_hanging_database() {
    const DEADLINE: Duration = Duration::from_secs(5);
    let database = Postgres::start();
    let lenient = "[captcha]\non_ledger_failure = \"allow\"\n";
    let config = postgres::config(&database.url()).replacen("[captcha]\n", lenient, 1);
    let service = Service::start(&config).await;
    let mut payloads = Vec::new();
    for _ in 0..4 {
        payloads.push(service.solved(SITE, CLIENT).await);
    }

    database.freeze();
    let asked = Instant::now();
    let challenges = join_all((0..4).map(|_| service.challenge(SITE, CLIENT)));
    let verdicts = join_all(payloads.iter().map(|payload| service.verify(SITE, payload)));
    let (challenges, verdicts) = tokio::join!(challenges, verdicts);
    assert!(asked.elapsed() < DEADLINE, "{:?}", asked.elapsed());
    assert!(challenges.iter().all(Value::is_object), "{challenges:?}");
    assert_eq!(verdicts, vec![valid(); 4], "the calls of the first seconds too");

    // From now on nobody waits.
    let asked = Instant::now();
    for payload in &payloads {
        assert_eq!(service.verify(SITE, payload).await, refused("replayed"));
    }
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());

    database.thaw();
    within_a_minute("the database is back", async || {
        let payload = service.solved(SITE, CLIENT).await;
        let before = service.0.metrics().await[CLAIMS];
        service.verify(SITE, &payload).await == valid() && service.0.metrics().await[CLAIMS] == before
    })
    .await;
    for payload in &payloads {
        assert_eq!(service.verify(SITE, payload).await, refused("replayed"));
    }
    service.stop().await;
}

/// What was accepted without the database is on record nowhere else, however long the database has been back.
#[tokio::test(flavor = "multi_thread")]
async fn lenient_hosts_accept_alike_after_an_outage() {
    let mut database = Postgres::start();
    let lenient = "[captcha]\non_ledger_failure = \"allow\"\n";
    let config = postgres::config(&database.url()).replacen("[captcha]\n", lenient, 1);
    let (one, other) = (Service::start(&config).await, Service::start(&config).await);
    let payload = one.solved(SITE, CLIENT).await;
    database.crash();
    assert_eq!(one.verify(SITE, &payload).await, valid());
    assert_eq!(one.verify(SITE, &payload).await, refused("replayed"));
    database.restart();
    for service in [&one, &other] {
        within_a_minute("the database is back", async || {
            let payload = service.solved(SITE, CLIENT).await;
            let before = service.0.metrics().await[CLAIMS];
            service.verify(SITE, &payload).await == valid() && service.0.metrics().await[CLAIMS] == before
        })
        .await;
    }
    assert_eq!(one.verify(SITE, &payload).await, refused("replayed"));
    assert_eq!(other.verify(SITE, &payload).await, valid());
    assert_eq!(other.verify(SITE, &payload).await, refused("replayed"));
    for service in [one, other] {
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_outage_leaves_readiness_alone() {
    let mut database = Postgres::start();
    let details = "[management.endpoint.health]\nshow_details = \"always\"\n";
    let service = Service::start(&format!("{}{details}", postgres::config(&database.url()))).await;
    database.crash();
    within_a_minute("the outage is noticed", async || {
        state(&service, "/actuator/health/db").await == (503, json!("DOWN"))
    })
    .await;
    assert_eq!(state(&service, "/actuator/health/readiness").await, (200, json!("UP")), "within the grace");
    database.restart();
    within_a_minute("the database is back", async || {
        state(&service, "/actuator/health/db").await == (200, json!("UP"))
    })
    .await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_database_flips_readiness_meanwhile() {
    const READ_ONLY: &str = "ALTER SYSTEM SET default_transaction_read_only = ";
    let database = Postgres::start();
    let service = Service::start(&postgres::config(&database.url())).await;
    assert_eq!(state(&service, "/actuator/health/readiness").await, (200, json!("UP")));
    database.sql(&format!("{READ_ONLY}on"));
    database.sql("SELECT pg_reload_conf()");
    within_a_minute("readiness flips once the grace is over", async || {
        state(&service, "/actuator/health/readiness").await == (503, json!("OUT_OF_SERVICE"))
    })
    .await;
    assert_eq!(state(&service, "/actuator/health").await, (503, json!("DOWN")));
    let ready = service.0.client().get(service.0.admin_url("/health/ready")).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    database.sql(&format!("{READ_ONLY}off"));
    database.sql("SELECT pg_reload_conf()");
    within_a_minute("the host is ready again", async || {
        state(&service, "/actuator/health/readiness").await == (200, json!("UP"))
    })
    .await;
    service.stop().await;
}
