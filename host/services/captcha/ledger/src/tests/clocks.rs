//! Tests of jumps of the time of day: nothing is granted twice, and challenges issued after a correction are granted.

use super::*;

/// Life of a challenge.
const LIFE: Duration = Duration::from_secs(1200);

impl Ledger {
    /// Issues a challenge as the service does, and returns its expiry.
    fn issue(&self, number: u64) -> u64 {
        let expires_at = self.clock().unix().as_secs() + LIFE.as_secs();
        self.remember_issued(expires_at, || Some(id(number)));
        expires_at
    }

    async fn grants(&self, number: u64, expires_at: u64) -> bool {
        self.claim(&id(number), expires_at, 1, false).await.unwrap()
    }
}

async fn assert_nothing_twice(ledger: &Ledger, control: &ClockControl) {
    let (spent, open) = (ledger.issue(1), ledger.issue(2));
    assert!(ledger.grants(1, spent).await && !ledger.grants(1, spent).await);

    control.set_ahead(DECADE);
    ledger.sweep().await.unwrap().unwrap();
    assert!(!ledger.grants(2, open).await, "its time is over");
    let ahead = ledger.issue(3);
    assert!(ledger.grants(3, ahead).await && !ledger.grants(3, ahead).await);
    assert_eq!(ledger.clock_fault(), None);

    control.set_back(DECADE);
    assert!(ledger.clock_fault().unwrap().contains("went back"));
    assert!(!ledger.grants(1, spent).await, "spent, though its row is deleted");
    assert!(!ledger.grants(2, open).await, "it may have been spent");
    assert!(!ledger.grants(3, ahead).await, "spent in the years ahead");
    for number in 10..13 {
        let fresh = ledger.issue(number);
        assert!(ledger.grants(number, fresh).await && !ledger.grants(number, fresh).await);
    }

    // Once more: what was granted after the correction is forgotten too.
    let fresh = ledger.issue(20);
    assert!(ledger.grants(20, fresh).await);
    control.set_ahead(DECADE);
    ledger.sweep().await.unwrap().unwrap();
    control.set_back(DECADE);
    assert!(!ledger.grants(20, fresh).await);
}

#[tokio::test]
async fn jump_ahead_and_back_grants_nothing_twice() {
    let folder = TempDir::new().unwrap();
    for backend in [Backend::Sqlite(file(&folder)), Backend::Memory] {
        let (ledger, control) = movable(backend).await;
        assert_nothing_twice(&ledger, &control).await;
        ledger.close().await.unwrap();
    }
}

#[tokio::test]
async fn clock_behind_after_restart_grants_nothing_twice() {
    let folder = TempDir::new().unwrap();
    let (ledger, control) = movable(Backend::Sqlite(file(&folder))).await;
    let spent = ledger.issue(1);
    assert!(ledger.grants(1, spent).await);
    control.set_ahead(DECADE);
    assert_eq!(ledger.sweep().await.unwrap().unwrap().invalidated_payload, 1);
    ledger.close().await.unwrap();

    let ledger = sqlite(&folder).await;
    assert!(!ledger.grants(1, spent).await);
    let fresh = ledger.issue(2);
    assert!(ledger.grants(2, fresh).await && !ledger.grants(2, fresh).await);
    assert!(ledger.clock_fault().is_some());
}

#[tokio::test]
async fn wrong_clock_can_be_corrected() {
    // A machine without a battery starts in the past, is corrected, and is wrong again after a restart.
    let (ledger, control) = movable(Backend::Memory).await;
    control.set_back(DECADE);
    let early = ledger.issue(1);
    assert!(ledger.grants(1, early).await);
    control.set_ahead(DECADE);
    let spent = ledger.issue(2);
    assert!(ledger.grants(2, spent).await);
    ledger.sweep().await.unwrap().unwrap();
    control.advance(2 * LIFE);
    ledger.sweep().await.unwrap().unwrap();
    control.set_back(DECADE);
    for (number, expires_at) in [(1, early), (2, spent)] {
        assert!(!ledger.grants(number, expires_at).await, "{number}");
    }
    let fresh = ledger.issue(3);
    assert!(ledger.grants(3, fresh).await);
}

#[tokio::test]
async fn clock_of_1970_grants_nothing_twice() {
    let folder = TempDir::new().unwrap();
    for backend in [Backend::Sqlite(file(&folder)), Backend::Memory] {
        let (ledger, control) = movable(backend).await;
        let since_epoch = ledger.clock().unix();
        let before = ledger.issue(1);
        assert!(ledger.grants(1, before).await);
        ledger.sweep().await.unwrap().unwrap();
        control.set_back(since_epoch);
        let (spent, open) = (ledger.issue(2), ledger.issue(3));
        assert!(ledger.grants(2, spent).await && !ledger.grants(2, spent).await);
        assert!(!ledger.grants(1, before).await, "spent before the boot");

        control.set_ahead(since_epoch);
        for (number, expires_at) in [(1, before), (2, spent), (3, open)] {
            assert!(!ledger.grants(number, expires_at).await, "{number} is over or spent");
        }
        assert_eq!(ledger.clock_fault(), None);
        let fresh = ledger.issue(4);
        assert!(ledger.grants(4, fresh).await && !ledger.grants(4, fresh).await);

        // Wrong once more, after what has expired is deleted.
        ledger.sweep().await.unwrap().unwrap();
        control.set_back(since_epoch);
        assert!(ledger.clock_fault().is_some());
        for (number, expires_at) in [(1, before), (2, spent), (3, open), (4, fresh)] {
            assert!(!ledger.grants(number, expires_at).await, "{number} may have been spent");
        }
        let early = ledger.issue(5);
        assert!(ledger.grants(5, early).await);
        ledger.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_small_correction_changes_nothing() {
    let (ledger, control) = movable(Backend::Memory).await;
    let open = ledger.issue(1);
    ledger.sweep().await.unwrap().unwrap();
    control.set_back(SKEW / 2);
    assert_eq!(ledger.clock_fault(), None);
    assert!(ledger.grants(1, open).await, "it cannot have been forgotten");
}
