//! A database that is known to be down: calls are refused without asking it.

use super::*;

/// Calls of each kind, one after another.
const CALLS: u64 = 100;

#[tokio::test(flavor = "multi_thread")]
async fn calls_leave_a_stopped_database_alone() {
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

/// Calls for a few seconds, each of which is refused without a wait: the outage neither ends nor begins again.
async fn assert_refused_at_once(ledger: &Ledger) {
    const AT_ONCE: Duration = Duration::from_secs(1);
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        let asked = Instant::now();
        assert!(is_unavailable(&ledger.claim(&id(900), soon(), 1, false).await));
        assert!(is_unavailable(&ledger.spent(&id(900)).await));
        assert!(is_unavailable(&ledger.record_visit("shop", &[id(900)], false).await));
        assert!(asked.elapsed() < AT_ONCE, "{:?}", asked.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// How many of the server's processes are about a statement that starts like this.
fn at_work(postgres: &Postgres, statement: &str) -> String {
    postgres.sql(&format!(
        "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'bulkhead' AND state = 'active' AND starts_with(query, '{statement}')"
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_table_is_one_outage() {
    let postgres = Arc::new(Postgres::start());
    let ledger = open(&postgres).await;
    let holder = tokio::task::spawn_blocking({
        let postgres = postgres.clone();
        move || {
            postgres.sql(
                "BEGIN; LOCK TABLE invalidated_payload IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(12); COMMIT",
            )
        }
    });
    let held = "SELECT count(*) FROM pg_locks WHERE relation = 'invalidated_payload'::regclass
        AND mode = 'AccessExclusiveLock' AND granted";
    eventually(|| postgres.sql(held) == "1").await;
    assert!(is_unavailable(&ledger.claim(&id(1), soon(), 1, false).await), "it is found out");
    assert_refused_at_once(&ledger).await;
    assert_eq!(at_work(&postgres, "INSERT INTO invalidated_payload (expires_at)"), "1", "one attempt waits");
    assert!(!holder.is_finished(), "the lock is held all the time");

    holder.await.expect("the lock was held");
    assert_eq!(eventually_spent(&ledger, &id(2)).await, 0);
    assert_eq!(ledger.claim(&id(2), soon(), 1, false).await, Ok(true));
    let rows = "SELECT (SELECT count(*) FROM captcha_request), (SELECT count(*) FROM invalidated_payload),
        (SELECT count(*) FROM bulkhead_failure), (SELECT count(*) FROM bulkhead_site_visits)";
    assert_eq!(postgres.sql(rows), "0|1|1|0", "attempts leave the one row that health checks share");
}

/// It answers who reads, and holds up each commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_standby_is_one_outage() {
    let postgres = Postgres::start();
    let ledger = open(&postgres).await;
    postgres.sql("ALTER SYSTEM SET synchronous_standby_names = 'lost'");
    postgres.sql("SELECT pg_reload_conf()");
    let mut last = 1;
    while ledger.claim(&id(last), soon(), 1, false).await == Ok(true) {
        last += 1;
        assert!(last < 500, "it is found out");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_refused_at_once(&ledger).await;
    assert_eq!(at_work(&postgres, "INSERT INTO bulkhead_failure"), "1", "one attempt waits");

    postgres.sql("ALTER SYSTEM RESET synchronous_standby_names");
    postgres.sql("SELECT pg_reload_conf()");
    assert_eq!(eventually_spent(&ledger, &id(last)).await, 1, "written after the host had given up");
    assert_eq!(ledger.claim(&id(last), soon(), 1, false).await, Ok(false));
    assert_eq!(ledger.claim(&id(last + 1), soon(), 1, false).await, Ok(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_database_answers_reads() {
    let mut postgres = Postgres::start();
    let ledger = open(&postgres).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
    postgres.sql("ALTER SYSTEM SET default_transaction_read_only = on");
    postgres.crash();
    assert!(is_unavailable(&ledger.spent(&id(1)).await), "it is found out");
    postgres.restart();
    assert_eq!(eventually_spent(&ledger, &id(1)).await, 1);
    let refused = ledger.claim(&id(2), soon(), 1, false).await.expect_err("a refusal");
    assert!(refused.to_string().contains("read-only transaction"), "{refused}");
    assert_eq!(ledger.spent(&id(1)).await, Ok(1), "a refusal is not an outage");
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_ends_beside_a_stopped_database() {
    let mut postgres = Postgres::start();
    let ledger = open(&postgres).await;
    postgres.crash();
    assert!(is_unavailable(&ledger.spent(&id(1)).await));
    assert_eq!(ledger.close().await, Ok(()), "no visit waits");
    assert!(is_unavailable(&ledger.spent(&id(1)).await));
}

/// Each call gives up well within a captcha call's deadline of five seconds, and counting a visit does not give up at all.
#[tokio::test(flavor = "multi_thread")]
async fn lenient_ledger_answers_beside_hanging_database() {
    const IN_TIME: Duration = Duration::from_secs(4);
    let postgres = Postgres::start();
    for visits_first in [true, false] {
        let options = LedgerOptions { lenient: true, ..options() };
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
