//! Tests of spends and failures.

use super::*;

async fn claims_at_once(ledger: &Ledger, count: usize, limit: u32) -> usize {
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let ledger = ledger.clone();
            tokio::spawn(async move { ledger.claim(&id(1), soon(), limit, false).await.unwrap() })
        })
        .collect();
    let mut granted = 0;
    for task in tasks {
        granted += usize::from(task.await.unwrap());
    }
    granted
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_claims_respect_the_limit() {
    let folder = TempDir::new().unwrap();
    for ledger in [sqlite(&folder).await, memory().await] {
        assert_eq!(claims_at_once(&ledger, 200, 3).await, 3);
        assert_eq!(ledger.spent(&id(1)).await, Ok(3));
        assert_eq!(ledger.spent(&id(2)).await, Ok(0));
        ledger.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_of_many_challenges_are_exact() {
    let folder = TempDir::new().unwrap();
    let ledger = sqlite(&folder).await;
    assert_eq!(ledger.claim(&id(0), soon(), 2, false).await, Ok(true));
    let claim = |number: u64| {
        let ledger = ledger.clone();
        // Of every seventh challenge all uses at once.
        let all = number % 7 == 6;
        tokio::spawn(async move { ledger.claim(&id(number), soon(), 2, all).await.unwrap() })
    };
    let tasks: Vec<_> = (0..4).flat_map(|_| (0..40).map(claim).collect::<Vec<_>>()).collect();
    let mut granted = [0; 40];
    for (number, task) in tasks.into_iter().enumerate() {
        granted[number % 40] += usize::from(task.await.unwrap());
    }
    for (number, granted) in (0..).zip(granted) {
        let expected = if number == 0 || number % 7 == 6 { 1 } else { 2 };
        assert_eq!(granted, expected, "{number}");
        assert_eq!(ledger.spent(&id(number)).await, Ok(2), "{number}");
    }
    ledger.close().await.unwrap();
}

#[tokio::test]
async fn claim_of_all_takes_the_rest() {
    let folder = TempDir::new().unwrap();
    for ledger in [sqlite(&folder).await, memory().await] {
        assert_eq!(ledger.claim(&id(1), soon(), 5, false).await, Ok(true));
        assert_eq!(ledger.claim(&id(1), soon(), 5, true).await, Ok(true));
        assert_eq!(ledger.spent(&id(1)).await, Ok(5));
        assert_eq!(ledger.claim(&id(1), soon(), 5, true).await, Ok(false));
        assert_eq!(ledger.claim(&id(1), soon(), 5, false).await, Ok(false));
        // A lower limit than before, and none at all.
        assert_eq!(ledger.claim(&id(1), soon(), 2, true).await, Ok(false));
        assert_eq!(ledger.claim(&id(2), soon(), 0, true).await, Ok(false));
    }
}

#[tokio::test]
async fn an_expired_challenge_is_never_granted() {
    let folder = TempDir::new().unwrap();
    for ledger in [sqlite(&folder).await, memory().await] {
        let late = now().cast_unsigned() / 1000 - SKEW.as_secs();
        assert_eq!(ledger.claim(&id(1), late - 1, 1, false).await, Ok(false));
        // Inside the skew it is granted once, and remembered.
        assert_eq!(ledger.claim(&id(1), late + 30, 1, false).await, Ok(true));
        assert_eq!(ledger.claim(&id(1), late + 30, 1, false).await, Ok(false));
        // No expiry to speak of.
        assert_eq!(ledger.claim(&id(2), u64::MAX, 1, false).await, Ok(true));
        assert_eq!(ledger.spent(&id(2)).await, Ok(1));
    }
}

#[tokio::test]
async fn granted_claim_survives_a_kill() {
    let folder = TempDir::new().unwrap();
    let ledger = sqlite(&folder).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
    // As after a kill: what the files hold at this moment.
    let copy = TempDir::new().unwrap();
    for name in ["ledger.sqlite", "ledger.sqlite-wal"] {
        std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    drop(ledger);
    for folder in [&copy, &folder] {
        let ledger = sqlite(folder).await;
        assert_eq!(ledger.spent(&id(1)).await, Ok(1));
        assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(false));
    }
}

#[tokio::test]
async fn failures_are_counted_by_challenge() {
    let folder = TempDir::new().unwrap();
    for ledger in [sqlite(&folder).await, memory().await] {
        assert_eq!(ledger.record_failure(&id(1), soon()).await, Ok(1));
        assert_eq!(ledger.record_failure(&id(1), soon()).await, Ok(2));
        assert_eq!(ledger.record_failure(&id(2), soon()).await, Ok(1));
    }
}

#[tokio::test]
async fn locked_database_is_unavailable_until_free() {
    let folder = TempDir::new().unwrap();
    let ledger = sqlite(&folder).await;
    let mut raw = raw(&file(&folder)).await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut raw).await.unwrap();
    let refused = ledger.claim(&id(1), soon(), 1, false).await;
    assert!(matches!(refused, Err(StorageError::Unavailable(_))), "{refused:?}");
    sqlx::raw_sql("ROLLBACK").execute(&mut raw).await.unwrap();
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
    assert_eq!(ledger.ping().await, Ok(()));
}
