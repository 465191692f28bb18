//! A data disk that is full in earnest: the ledger claims nothing that it cannot keep.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::Path,
};

use bulkhead_tests::child::Launch;
use tempfile::TempDir;

use crate::process::{SITE, envelope, replayed, solved, valid, verdict};

/// Takes all the room that is left on a disk.
pub fn fill(file: &Path) {
    let mut file = File::create(file).unwrap();
    let error = (0..1 << 20).find_map(|_| file.write_all(&[1; 4096]).err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

#[tokio::test]
async fn ledger_on_full_disk_claims_nothing() {
    let folder = TempDir::new().unwrap();
    let host = Launch::serve_with_small_disk(folder.path(), SITE, 64 << 20).ready().await;
    let payload = solved(&host).await;
    let filler = host.root().join(folder.path().strip_prefix("/").unwrap()).join("data/filler");
    fill(&filler);
    let mut body = envelope();
    body["payload"] = payload.clone();
    for _ in 0..3 {
        let (status, answer) = host.post("/api/v1/captcha/verify", &body).await;
        assert_eq!(status, 503, "{answer}");
    }
    assert!(crate::process::degraded(&host).await.contains(&"data disk".to_owned()));
    fs::remove_file(&filler).unwrap();
    assert_eq!(verdict(&host, &payload).await, valid());
    assert_eq!(verdict(&host, &payload).await, replayed());
    host.stop().await;
}
