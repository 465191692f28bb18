//! A database that is known to be down: calls are refused without asking it.

use super::*;

/// Calls of each kind, one after another.
const CALLS: u64 = 100;

#[tokio::test(flavor = "multi_thread")]
async fn calls_ask_a_database_that_is_down_no_more() {
    let mut postgres = Postgres::start();
    let ledger = open(&postgres).await;
    postgres.crash();
    assert!(is_unavailable(&ledger.spent(&id(1)).await), "it is found out");
    let before = ledger.pool_stats().timeouts;
    for number in 0..CALLS {
        assert!(is_unavailable(&ledger.claim(&id(number), soon(), 1, false).await));
        assert!(is_unavailable(&ledger.spent(&id(number)).await));
        assert!(is_unavailable(&ledger.record_failure(&id(number), soon()).await));
        assert!(is_unavailable(&ledger.record_visit("shop", &[id(number)], false).await));
    }
    // Each of them would have been an attempt that is given up. Those of the probe are few.
    let attempts = ledger.pool_stats().timeouts - before;
    assert!(attempts < CALLS, "{attempts} attempts in {} calls", 4 * CALLS);

    postgres.restart();
    assert_eq!(eventually_spent(&ledger, &id(1)).await, 0);
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_ends_while_its_database_is_down() {
    let mut postgres = Postgres::start();
    let ledger = open(&postgres).await;
    postgres.crash();
    assert!(is_unavailable(&ledger.spent(&id(1)).await));
    assert_eq!(ledger.close().await, Ok(()), "no visit waits");
    assert!(is_unavailable(&ledger.spent(&id(1)).await));
}

/// Each call gives up well within a captcha call's deadline of five seconds, and counting a visit does not give up at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_lenient_ledger_answers_in_time_while_its_database_hangs() {
    const IN_TIME: Duration = Duration::from_secs(4);
    let postgres = Postgres::start();
    for visits_first in [true, false] {
        let options = Options { lenient: true, ..OPTIONS };
        let ledger =
            Ledger::open(Backend::Postgres(postgres.url()), options).await.expect("the ledger opens");
        assert_eq!(ledger.claim(&id(1), soon(), 9, false).await, Ok(true));
        postgres.freeze();
        let asked = Instant::now();
        if visits_first {
            assert_eq!(ledger.record_visit("shop", &[id(1)], false).await, Ok(Visits::default()));
        }
        assert_eq!(ledger.claim(&id(2), soon(), 1, false).await, Ok(true));
        assert!(asked.elapsed() < IN_TIME, "{:?}", asked.elapsed());
        let asked = Instant::now();
        for number in 3..100 {
            assert_eq!(ledger.claim(&id(number), soon(), 1, false).await, Ok(true));
            assert!(ledger.record_visit("shop", &[id(number)], false).await.is_ok());
        }
        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
        postgres.thaw();
        postgres.sql("DELETE FROM invalidated_payload");
    }
}
