//! Fact 16 and expired challenges: what is over is refused, and swept.

use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use super::{CLIENT, JAVA, SITE, Service, altcha, ledger, refused, valid, within_a_minute};

#[tokio::test]
async fn challenge_issued_as_expired_is_refused() {
    let service = Service::start(JAVA).await;
    for expires in [json!(altcha::now() - 2), json!(1), json!(altcha::now() as f64 - 1.5)] {
        let payload = altcha::solve(&altcha::java_challenge("secret", &json!({ "expiresAt": expires })));
        assert_eq!(service.verify(SITE, &payload).await, refused("expired"), "{expires}");
        let body = super::with_payload(super::envelope(SITE, CLIENT), &payload);
        let (status, answer) = service.post("/invalidate", &body).await;
        assert_eq!((status, answer), (200, json!({ "invalidated": false })), "{expires}");
    }
    service.stop().await;
}

#[tokio::test]
async fn challenge_is_good_until_its_timeout() {
    let config = r#"
        [captcha]
        hmac_key = "secret"
        captcha_timeout_seconds = 300
        [captcha.sites.compat]
        secret = "compat_secret"
        compat = true
        difficulty_map = [{ min_visits = 1, cost = 1 }]
        [captcha.sites.own]
        secret = "own_secret"
        difficulty_map = [{ min_visits = 1, cost = 1 }]
        [captcha.sites.old]
        secret = "old_secret"
        protocol = "v1"
        difficulty_map = [{ min_visits = 1, cost = 10 }]
    "#;
    let (service, hands) = Service::start_movable(config).await;
    let (from, mut payloads) = (altcha::now(), Vec::new());
    for site in ["compat", "own", "old"] {
        payloads.push((site, service.solved(site, CLIENT).await));
    }
    let until = altcha::now() + 300;
    for (site, payload) in &payloads[..2] {
        let expires = payload["challenge"]["parameters"]["expiresAt"].as_u64().unwrap();
        assert!((from + 300..=until).contains(&expires), "{site}: {expires}");
    }
    hands.advance(std::time::Duration::from_secs(301));
    for (site, payload) in &payloads {
        assert_eq!(service.verify(site, payload).await, refused("expired"), "{site}");
    }
    service.stop().await;
}

/// Two rows of each table that have expired, and two that have not.
async fn fill(ledger: &mut SqliteConnection) {
    for (id, seconds) in [(1_u8, -3600), (2, -1), (3, 3600), (4, 7200)] {
        let expires = (i64::try_from(altcha::now()).unwrap() + seconds) * 1000;
        let hash = format!("{id:064x}");
        sqlx::query(
            "INSERT INTO captcha_request (id, request_at, source_address_hash, is_whitelisted, expires_at)
            VALUES (?, 0, ?, 0, ?)",
        )
        .bind(vec![id; 16])
        .bind(&hash)
        .bind(expires)
        .execute(&mut *ledger)
        .await
        .unwrap();
        sqlx::query("INSERT INTO invalidated_payload (id, payload_hash, expires_at) VALUES (?, ?, ?)")
            .bind(vec![id; 16])
            .bind(&hash)
            .bind(expires)
            .execute(&mut *ledger)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn fact_16_exactly_what_expired_is_deleted() {
    let folder = Service::start(JAVA).await.stop().await;
    let mut before = ledger(folder.path()).await;
    fill(&mut before).await;
    before.close().await.unwrap();

    let service = Service::resume(JAVA, folder).await;
    let mut ledger = ledger(service.0.folder()).await;
    let left =
        "SELECT hex(id) FROM captcha_request UNION ALL SELECT hex(id) FROM invalidated_payload ORDER BY 1";
    let (three, four) = ("03".repeat(16), "04".repeat(16));
    let mut rows = Vec::new();
    within_a_minute("the sweep at the start has been", async || {
        rows = sqlx::query_scalar::<_, String>(left).fetch_all(&mut ledger).await.unwrap();
        rows.len() <= 4
    })
    .await;
    assert_eq!(rows, [three.clone(), three, four.clone(), four]);
    service.stop().await;
}

#[tokio::test]
async fn spent_challenge_is_remembered_beyond_expiry() {
    let service = Service::start(JAVA).await;
    let payload = service.solved(SITE, CLIENT).await;
    let expires = payload["challenge"]["parameters"]["expiresAt"].as_i64().unwrap();
    assert_eq!(service.verify(SITE, &payload).await, valid());
    let folder = service.stop().await;
    let rows = super::column(&folder, "SELECT CAST(expires_at AS TEXT) FROM invalidated_payload").await;
    let until: i64 = rows[0].parse().unwrap();
    assert!(until > expires * 1000, "{until} is not beyond {expires}");
}
