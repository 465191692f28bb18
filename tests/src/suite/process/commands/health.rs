//! `bulkhead health`, as a container's check runs it.

use bulkhead_tests::child::{Bulkhead, Finished, Launch};
use tempfile::TempDir;

use crate::process::SITE;

async fn health(host: &Bulkhead, arguments: &[&str]) -> Finished {
    let launch = Launch::bulkhead(&["health", "--url", &host.admin_url("")]);
    launch.args(arguments).finish().await
}

#[tokio::test]
async fn ready_host_is_up_without_token() {
    let folder = TempDir::new().unwrap();
    let host = Launch::serve_with(folder.path(), SITE).ready().await;
    for arguments in [&[][..], &["--live"]] {
        let asked = health(&host, arguments).await;
        assert!(asked.succeeded() && asked.stdout.starts_with("up\n"), "{}{}", asked.stdout, asked.stderr);
    }
    let asked = health(&host, &["--json"]).await;
    assert!(asked.succeeded() && asked.stdout.contains("\"status\": \"UP\""), "{}", asked.stdout);
    host.stop().await;
}

#[tokio::test]
async fn host_without_database_is_down() {
    let folder = TempDir::new().unwrap();
    let launch = Launch::serve_with(folder.path(), SITE)
        .env("CAPTCHA_HMAC_KEY", "a key of more than 32 characters, for tests")
        .env("BULKHEAD_CAPTCHA__DATABASE", "postgres://user@127.0.0.1:1/x");
    let host = launch.ready().await;
    let asked = health(&host, &[]).await;
    assert_eq!(asked.status.code(), Some(1), "{}", asked.stdout);
    assert!(asked.stdout.starts_with("down\nfailing "), "{}", asked.stdout);
    assert!(asked.stderr.contains("not ready"), "{}", asked.stderr);
    assert!(health(&host, &["--live"]).await.succeeded());
    host.stop().await;
}

#[tokio::test]
async fn missing_host_gives_no_answer() {
    let asked = Launch::bulkhead(&["health", "--url", "http://127.0.0.1:9"]).finish().await;
    assert_eq!(asked.status.code(), Some(6), "{}", asked.stderr);
}

/// As on a small system.
#[tokio::test]
async fn only_tls_needs_certificate_authorities() {
    for (url, code, named) in
        [("http://127.0.0.1:9", 6, "no answer from"), ("https://127.0.0.1:9", 1, "--ca")]
    {
        let asked = Launch::bulkhead(&["health", "--url", url]);
        let asked = asked.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/absent").finish().await;
        assert_eq!(asked.status.code(), Some(code), "{}", asked.stderr);
        assert!(asked.stderr.contains(named), "{}", asked.stderr);
    }
}

#[tokio::test]
async fn plain_port_asked_over_tls_is_named() {
    let folder = TempDir::new().unwrap();
    let host = Launch::serve_with(folder.path(), SITE).ready().await;
    let url = host.admin_url("").replace("http://", "https://");
    let asked = Launch::bulkhead(&["health", "--url", &url]).finish().await;
    assert_eq!(asked.status.code(), Some(6), "{}", asked.stderr);
    assert!(asked.stderr.contains("does not speak TLS, so use http://"), "{}", asked.stderr);
    host.stop().await;
}

#[tokio::test]
async fn url_of_other_place_is_named() {
    let folder = TempDir::new().unwrap();
    let host = Launch::serve_with(folder.path(), SITE).ready().await;
    for url in [host.url(""), host.admin_url("/health/ready")] {
        let asked = Launch::bulkhead(&["health", "--url", &url]).finish().await;
        assert_eq!(asked.status.code(), Some(1), "{}", asked.stderr);
        assert!(asked.stderr.contains("the operators' listener alone"), "{}", asked.stderr);
    }
    host.stop().await;
}

#[tokio::test]
async fn authority_without_certificate_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, "no certificate\n").unwrap();
    let asked = Launch::bulkhead(&["health", "--url", "https://127.0.0.1:9", "--ca", file.to_str().unwrap()]);
    let asked = asked.finish().await;
    assert_eq!(asked.status.code(), Some(2), "{}", asked.stderr);
    assert!(asked.stderr.contains("ca.pem has no certificate in PEM"), "{}", asked.stderr);
}
