//! A machine that cannot set aside the address space of the instance pool.

use std::path::Path;

use bulkhead_tests::child::{Launch, program};
use futures_util::future::join_all;
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{SITE, envelope, solved, valid, verdict};

/// Far below what the pool reserves, ample for everything else. KiB.
const LIMIT: u32 = 4 << 20;

/// `serve` under a limit of its address space.
fn limited(folder: &Path, config: &str) -> Launch {
    let program = program();
    let limit = LIMIT.to_string();
    // The shell's own variables, so that no path is quoted.
    let script = r#"ulimit -v "$1"; shift; exec "$@""#;
    let arguments = ["-c", script, "limited", &limit, program.to_str().unwrap(), "serve"];
    let file = folder.join("bulkhead.toml");
    std::fs::write(&file, config).unwrap();
    let launch = Launch::new(Path::new("/bin/sh"), &arguments).ephemeral();
    let launch = launch.args(&["--data-dir", folder.join("data").to_str().unwrap()]);
    launch.args(&["--config", file.to_str().unwrap()])
}

#[tokio::test]
async fn small_address_space_warns_once() {
    let folder = TempDir::new().unwrap();
    let host = limited(folder.path(), SITE).ready().await;
    let payload = solved(&host).await;
    assert_eq!(verdict(&host, &payload).await, valid());
    // As many at once as the slot takes, each with a memory of its own.
    let body = envelope();
    let calls = (0..32).map(|_| host.post("/api/v1/captcha/challenge", &body));
    for (status, answer) in join_all(calls).await {
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(host.status(&host.admin_url("/health/ready")).await, 200);
    let log = host.stop().await;
    let warnings: Vec<&Value> = log.iter().filter(|line| line["level"] != "INFO").collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0]["level"], "WARN");
    let message = warnings[0]["message"].as_str().unwrap();
    assert!(message.contains("address space") && message.contains("on demand"), "{message}");
}

#[tokio::test]
async fn impossible_pool_ends_the_start() {
    let folder = TempDir::new().unwrap();
    let finished = limited(folder.path(), "sandbox.allocator = \"pooling\"").finish().await;
    assert_eq!(finished.status.code(), Some(1));
    for remedy in ["max_concurrent", "sandbox.allocator = \"on-demand\""] {
        assert!(finished.stderr.contains(remedy), "{}", finished.stderr);
    }
}
