//! `bulkhead captcha import` says what a host could not start from.

use std::fs;

use bulkhead_tests::child::{Finished, Launch};
use tempfile::TempDir;

async fn import(name: &str, text: &[u8]) -> Finished {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    Launch::bulkhead(&["captcha", "import", file.to_str().unwrap()]).env("HOME", "/").finish().await
}

#[tokio::test]
async fn what_it_writes_passes_config_check() {
    let yaml = "captcha:\n  hmac-key: k\n  sites:\n    a:\n      secret: s\n      difficulty-map: [{min-visits: 1, cost: 1_000}]\n";
    let properties = "captcha.hmac-key=k\ncaptcha.sites.a.secret=s\n\
                      captcha.sites.a.difficulty-map[0].min-visits=1\ncaptcha.sites.a.difficulty-map[0].cost=1000\n";
    let (yaml, properties) = (
        import("application.yml", yaml.as_bytes()).await,
        import("application.properties", properties.as_bytes()).await,
    );
    assert!(yaml.succeeded() && properties.succeeded(), "{}\n{}", yaml.stderr, properties.stderr);
    assert_eq!(yaml.stdout, properties.stdout);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("bulkhead.toml");
    fs::write(&file, &yaml.stdout).unwrap();
    let check = Launch::bulkhead(&["config", "check", "--config", file.to_str().unwrap()]).env("HOME", "/");
    assert!(check.finish().await.succeeded());
}

#[tokio::test]
async fn unusable_import_ends_with_3() {
    let finished = import("application.yml", b"captcha.sites.a.max-verifies-per-payload: 2\n").await;
    assert_eq!(finished.status.code(), Some(3), "{}", finished.stderr);
    for said in
        ["site a has no secret", "no host can start from the result", "captcha.sites.a.secret: must be given"]
    {
        assert!(finished.stderr.contains(said), "{said}\n{}", finished.stderr);
    }
    assert!(finished.stdout.contains("max_verifies_per_payload = 2"), "{}", finished.stdout);
}

#[tokio::test]
async fn what_is_not_read_ends_with_1() {
    for (name, text) in [("a.yml", &b"a: [1\n"[..]), ("a.yml", b"a: \xff"), ("a.properties", b"a=\\u12")] {
        let finished = import(name, text).await;
        assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
        assert!(finished.stderr.contains(name) && finished.stdout.is_empty(), "{}", finished.stderr);
    }
    let latin = import("a.properties", b"captcha.sites.a.secret=caf\xe9\n").await;
    assert!(latin.succeeded() && latin.stdout.contains("caf\u{e9}"), "{}", latin.stdout);
    assert!(latin.stderr.contains("ISO 8859-1"), "{}", latin.stderr);
}
