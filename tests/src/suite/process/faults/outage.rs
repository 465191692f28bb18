//! What the log says of an outage of the ledger's database: that it begins and that it ends, not each call.

use bulkhead_tests::{child::Launch, host::eventually, servers::postgres::Postgres};
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{SITE, envelope, solved, valid, verdict};

const CALLS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn outage_logs_begin_and_end() {
    let (mut postgres, folder) = (Postgres::start(), TempDir::new().unwrap());
    let host = Launch::serve_with(folder.path(), SITE)
        .env("CAPTCHA_HMAC_KEY", "a-key-of-more-than-32-characters-for-hosts")
        .env("BULKHEAD_CAPTCHA__DATABASE", &postgres.url())
        .env("BULKHEAD_SHARING__ENABLED", "false")
        .ready()
        .await;
    let payload = solved(&host).await;
    assert_eq!(verdict(&host, &payload).await, valid());

    postgres.crash();
    for _ in 0..CALLS {
        let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
        assert_eq!(status, 503, "{body}");
    }
    postgres.restart();
    eventually("calls are answered again", async || {
        host.post("/api/v1/captcha/challenge", &envelope()).await.0 == 200
    })
    .await;
    assert_eq!(verdict(&host, &solved(&host).await).await, valid());

    let log = host.stop().await;
    let says = |line: &Value, text: &str| line["message"].as_str().unwrap_or_default().contains(text);
    let begun = log.iter().filter(|line| says(line, "the ledger's PostgreSQL does not answer")).count();
    let ended = log.iter().filter(|line| says(line, "the ledger's PostgreSQL answers again")).count();
    assert_eq!((begun, ended), (1, 1));
    let errors: Vec<_> = log.iter().filter(|line| line["level"] == "ERROR").collect();
    // A call whose connection broke under it may have a line before the outage is known, and a slow machine a reminder.
    assert!(errors.len() <= 3, "{errors:?}");
}
