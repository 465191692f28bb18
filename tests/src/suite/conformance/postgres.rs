//! Hosts on PostgreSQL: the Java service's database taken over, and one database under two hosts.

use std::sync::Arc;

use bulkhead_tests::{TestHost, servers::postgres::Postgres};
use serde_json::json;

use super::{CLIENT, JAVA, SITE, Service, altcha, refusal, refused, valid, within_a_minute};
use crate::ledger;

/// Sites beside the one of [`JAVA`].
const SITES: &str = r#"
    [captcha.sites.own]
    secret = "own_secret"
    max_verifies_per_payload = 3
    binding = "network"
    difficulty_map = [{ min_visits = 1, cost = 10 }, { min_visits = 3, cost = 20 }]
"#;

/// A host that keeps its ledger there.
async fn host(postgres: &Postgres) -> Service {
    Service::start(&config(&postgres.url())).await
}

pub fn config(url: &str) -> String {
    format!("{}{SITES}", JAVA.replacen("[captcha]\n", &format!("[captcha]\ndatabase = \"{url}\"\n"), 1))
}

#[tokio::test(flavor = "multi_thread")]
async fn java_database_is_taken_over_unchanged() {
    let postgres = Postgres::start();
    postgres.sql(ledger::JAVA);
    let spent = altcha::solve(&altcha::java_challenge("secret", &json!({})));
    let open = altcha::solve(&altcha::java_challenge("secret", &json!({})));
    let signature = spent["challenge"]["signature"].as_str().unwrap();
    postgres.sql(&format!(
        "INSERT INTO captcha_request SELECT gen_random_uuid(), now(), '{client}', false, now() + n * interval '1 min'
            FROM unnest(ARRAY[-1, 10, 10]) AS n;
        INSERT INTO invalidated_payload VALUES (gen_random_uuid(), '{payload}', now() + interval '10 min')",
        client = altcha::hash(CLIENT),
        payload = altcha::hash(signature),
    ));
    let history = "SELECT * FROM flyway_schema_history";
    let before = postgres.sql(history);

    let service = host(&postgres).await;
    assert_eq!(service.cost(SITE, CLIENT).await, 2000, "two unexpired requests are on record");
    assert_eq!(service.cost(SITE, "1.2.3.5").await, 1000);
    assert_eq!(service.verify(SITE, &spent).await, refused("replayed"), "spent at the Java service");
    assert_eq!(service.verify(SITE, &open).await, valid(), "issued by the Java service");
    service.stop().await;

    assert_eq!(postgres.sql(history), before);
    let rows = format!(
        "SELECT count(*) FROM captcha_request WHERE source_address_hash = '{}'",
        altcha::hash(CLIENT)
    );
    let live = format!("{rows} AND expires_at > now()");
    assert_eq!(postgres.sql(&live), "3", "ours stands beside them, under the same hash");
    let signature = open["challenge"]["signature"].as_str().unwrap();
    let payload = format!(
        "SELECT count(*) FROM invalidated_payload WHERE payload_hash = '{}' AND expires_at > now()",
        altcha::hash(signature)
    );
    assert_eq!(postgres.sql(&payload), "1", "where the Java service looks for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_accept_a_payload_as_configured() {
    let postgres = Postgres::start();
    let hosts = [Arc::new(host(&postgres).await), Arc::new(host(&postgres).await)];
    for (site, allowed) in [(SITE, 1), ("own", 3)] {
        for _ in 0..3 {
            let payload = Arc::new(hosts[0].solved(site, CLIENT).await);
            let calls: Vec<_> = (0..16)
                .map(|number| {
                    let (service, payload) = (Arc::clone(&hosts[number % 2]), Arc::clone(&payload));
                    tokio::spawn(async move { service.verify(site, &payload).await })
                })
                .collect();
            let mut accepted = 0;
            for call in calls {
                let answer = call.await.unwrap();
                assert!(answer == valid() || answer == refused("replayed"), "{answer}");
                accepted += u32::from(answer == valid());
            }
            assert_eq!(accepted, allowed, "{site}");
        }
    }
    assert_eq!(postgres.sql("SELECT count(*) FROM invalidated_payload"), "12");
    for host in hosts {
        Arc::into_inner(host).unwrap().stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sharing_hosts_agree_about_clients_and_challenges() {
    let postgres = Postgres::start();
    let (one, other) = (host(&postgres).await, host(&postgres).await);
    // Issued and bound to a network at one, judged at the other.
    let payload = one.solved("own", CLIENT).await;
    assert_eq!(other.verify("own", &payload).await, valid());
    one.challenge("own", CLIENT).await;
    let written = "SELECT count(*), count(DISTINCT source_address_hash) FROM captcha_request";
    within_a_minute("the visits are written", async || postgres.sql(written) == "2|1").await;
    assert_eq!(other.cost("own", CLIENT).await, 20);
    assert_ne!(
        postgres.sql("SELECT DISTINCT source_address_hash FROM captcha_request"),
        altcha::hash(CLIENT)
    );

    let challenge = one.challenge(SITE, CLIENT).await;
    let url = "/api/v1/captcha/widget/challenge?siteKey=test_site";
    assert_eq!(other.get(url, "*/*").await.status, 200);
    let body = super::with_payload(super::envelope(SITE, CLIENT), &altcha::solve(&challenge));
    assert_eq!(one.post("/invalidate", &body).await.1, json!({ "invalidated": true }));
    assert_eq!(other.post("/verify", &body).await.1, refused("replayed"));
    for host in [one, other] {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gauges_show_what_other_hosts_wrote() {
    let postgres = Postgres::start();
    let (one, other) = (host(&postgres).await, host(&postgres).await);
    let payload = one.solved(SITE, CLIENT).await;
    assert_eq!(one.verify(SITE, &payload).await, valid());
    within_a_minute("the other host counts them", async || {
        let rows =
            async |table| other.statistic(&format!("captcha.active.rows?tag=table:{table}"), "VALUE").await;
        rows("captcha_request").await == 1.0 && rows("invalidated_payload").await == 1.0
    })
    .await;
    postgres.sql("DELETE FROM invalidated_payload");
    within_a_minute("they are gone", async || {
        other.statistic("captcha.invalidated.payloads", "VALUE").await == 0.0
    })
    .await;
    for host in [one, other] {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_database_is_named_without_password() {
    let mut postgres = Postgres::start();
    let (url, password) = (postgres.url(), postgres.password());
    let wrong = refusal(&config(&url.replace(password, "not-the-password"))).await;
    assert!(wrong.contains("captcha.database") && !wrong.contains("not-the-password"), "{wrong}");
    postgres.stop();
    // It may come back: the host serves what needs no database, and asks for no requests meanwhile.
    let service = Service::start(&config(&url)).await;
    let ready = service.0.client().get(service.0.admin_url("/health/ready")).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    let down = ready.text().await.unwrap();
    assert!(down.contains("captcha ledger") && !down.contains(password), "{down}");
    postgres.restart();
    within_a_minute("the host is ready", async || {
        let ready = service.0.client().get(service.0.admin_url("/health/ready")).send().await.unwrap();
        ready.status() == 200
    })
    .await;
    let payload = service.solved(SITE, CLIENT).await;
    assert_eq!(service.verify(SITE, &payload).await, valid());
    service.stop().await;
}

#[tokio::test]
async fn a_shared_database_needs_a_shared_key() {
    let config = "[captcha]\ndatabase = \"postgres://u:do-not-print-me@localhost/x\"\n";
    let reason = refusal(config).await;
    assert!(reason.contains("set captcha.hmac_key") && !reason.contains("do-not-print-me"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_of_java_service_name_its_database() {
    let postgres = Postgres::start();
    let builder = TestHost::builder().config(JAVA.replace("hmac_key = \"secret\"", "").as_str());
    let jdbc = format!("jdbc:postgresql://127.0.0.1:{}/postgres", postgres.port());
    let builder = builder.env("SPRING_DATASOURCE_URL", &jdbc).env("CAPTCHA_HMAC_KEY", "secret");
    let builder = builder.env("SPRING_DATASOURCE_USERNAME", "bulkhead");
    let service = Service(builder.env("SPRING_DATASOURCE_PASSWORD", postgres.password()).start().await);
    let challenge = service.challenge(SITE, CLIENT).await;
    assert_eq!(challenge["signature"], altcha::sign("secret", &challenge["parameters"]));
    service.stop().await;
    assert_eq!(postgres.sql("SELECT count(*) FROM captcha_request"), "1");
}
