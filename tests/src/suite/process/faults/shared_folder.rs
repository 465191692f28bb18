//! Two hosts on one data folder.

use bulkhead_tests::child::Launch;
use futures_util::future::join;
use tempfile::TempDir;

use crate::process::{SITE, replayed, solved, valid, verdict};

/// Whichever comes first makes the secrets, the other takes them; a payload is spent for both.
#[tokio::test]
async fn concurrent_starts_share_secrets_and_ledger() {
    for _ in 0..3 {
        let folder = TempDir::new().unwrap();
        let start = || Launch::serve_with(folder.path(), SITE).ready();
        let (one, other) = join(start(), start()).await;
        for (issuer, verifier) in [(&one, &other), (&other, &one)] {
            let payload = solved(issuer).await;
            assert_eq!(verdict(verifier, &payload).await, valid());
            assert_eq!(verdict(issuer, &payload).await, replayed());
        }
        for _ in 0..20 {
            let payload = solved(&one).await;
            let mut verdicts = <[_; 2]>::from(join(verdict(&one, &payload), verdict(&other, &payload)).await);
            verdicts.sort_by_key(|verdict| *verdict == valid());
            assert_eq!(verdicts, [replayed(), valid()]);
        }
        one.stop().await;
        other.stop().await;
    }
}
