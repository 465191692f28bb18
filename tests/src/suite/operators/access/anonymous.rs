//! What anybody may ask costs a guest few calls.

use bulkhead_tests::guests::StatusGuest;
use tempfile::TempDir;

use super::super::{
    components::unusable::{outcomes, status_host},
    *,
};
use crate::status;

#[tokio::test(flavor = "multi_thread")]
async fn healthchecks_share_a_call_until_a_swap() {
    let saying =
        |verdict: &str| StatusGuest { verdict: verdict.into(), ..StatusGuest::default() }.component();
    let folder = TempDir::new().unwrap();
    let host = status_host(&folder, saying("A")).await;
    let verdict = async || {
        let url = host.url(&format!("{}/healthcheck/", status::BASE));
        host.client().get(url).send().await.unwrap().text().await.unwrap()
    };
    let began = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(verdict().await, "A");
    }
    let calls = outcomes(&host, "status", "ok").await;
    // One in five seconds, and one for figures that have come meanwhile.
    assert!(calls <= 2.0 + began.elapsed().as_secs_f64() / 5.0, "{calls} calls");
    let operator = operator(&host).of("status");
    let version = operator.push(saying("B")).await;
    operator.swap(&version).await;
    assert_eq!(verdict().await, "B");
    host.stop().await;
}
