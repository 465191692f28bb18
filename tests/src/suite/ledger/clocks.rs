//! Hosts whose clocks differ from the database's: its clock decides.

use bulkhead::clock::{ClockControl, HostClock};

use super::*;

/// A host whose clock can be moved.
async fn host(postgres: &Postgres) -> (Ledger, ClockControl) {
    let (clock, hands) = HostClock::movable();
    let options = LedgerOptions { clock, ..options() };
    (Ledger::open(Backend::Postgres(postgres.url()), options).await.expect("the ledger opens"), hands)
}

const SIX_MINUTES: Duration = Duration::from_secs(360);

#[tokio::test(flavor = "multi_thread")]
async fn claims_expire_by_the_database_s_clock() {
    let postgres = Postgres::start();
    let ((ahead, hands), (behind, back)) = (host(&postgres).await, host(&postgres).await);
    hands.set_ahead(SIX_MINUTES);
    back.set_back(SIX_MINUTES);
    assert_eq!(behind.claim(&id(1), soon(), 1, false).await, Ok(true));
    assert_eq!(ahead.claim(&id(1), soon(), 1, false).await, Ok(false));
    assert_eq!(ahead.spent(&id(1)).await, Ok(1));
    assert_eq!(ahead.claim(&id(2), soon(), 1, false).await, Ok(true), "over by its own clock only");
    assert_eq!(behind.claim(&id(2), soon(), 1, false).await, Ok(false));
    assert_eq!(behind.claim(&id(3), soon() - 200, 1, false).await, Ok(false), "good by its own clock only");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_far_off_does_not_sweep() {
    let postgres = Postgres::start();
    open(&postgres).await.close().await.expect("the tables are made");
    let expired = "INSERT INTO bulkhead_site_visits VALUES ('shop', now() - interval '1 h', 7)";
    let rows = || postgres.sql("SELECT count(*) FROM bulkhead_site_visits");
    postgres.sql(expired);
    let (ledger, hands) = host(&postgres).await;
    eventually(|| rows() == "0").await;
    for (seconds, sweeps) in [(0, true), (50, true), (70, false)] {
        for is_ahead in [true, false] {
            let turn = |by| if is_ahead { hands.set_ahead(by) } else { hands.set_back(by) };
            turn(Duration::from_secs(seconds));
            eventually_unlocked(&postgres).await;
            postgres.sql(expired);
            assert_eq!(ledger.sweep().await.expect("an answer").is_some(), sweeps, "{seconds} s off");
            assert_eq!(rows() == "0", sweeps, "{seconds} s off");
            ledger.ping().await.expect("the database answers");
            let fault = ledger.clock_fault().unwrap_or_default();
            let side = if is_ahead { "s ahead of the database's" } else { "s behind the database's" };
            assert_eq!(fault.contains(side), seconds > 5, "{fault}");
            if is_ahead {
                hands.set_back(Duration::from_secs(seconds));
            } else {
                hands.set_ahead(Duration::from_secs(seconds));
            }
        }
    }
    // A host that takes a live row for expired does not delete it.
    postgres
        .sql("INSERT INTO invalidated_payload VALUES (gen_random_uuid(), 'live', now() + interval '10 s')");
    hands.set_ahead(Duration::from_secs(50));
    eventually_unlocked(&postgres).await;
    assert!(ledger.sweep().await.expect("an answer").is_some());
    assert_eq!(postgres.sql("SELECT payload_hash FROM invalidated_payload"), "live");
}

/// Waits until no host sweeps.
async fn eventually_unlocked(postgres: &Postgres) {
    let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted";
    eventually(|| postgres.sql(held) == "0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn visits_count_from_database_time_on() {
    let postgres = Postgres::start();
    let (ahead, hands) = host(&postgres).await;
    hands.set_ahead(10 * SIX_MINUTES);
    ahead.record_visit("shop", &[id(1)], false).await.expect("a count");
    ahead.close().await.expect("the visits are written");
    let off = "SELECT abs(extract(epoch FROM expires_at - now()) - 1800) < 60,
        abs(extract(epoch FROM request_at - now())) < 60 FROM captcha_request";
    assert_eq!(postgres.sql(off), "t|t");
    let bucket = "SELECT extract(epoch FROM expires_at - now()) BETWEEN 1740 AND 1860,
        extract(epoch FROM expires_at)::bigint % 30 = 0, visits FROM bulkhead_site_visits";
    assert_eq!(postgres.sql(bucket), "t|t|1");
    assert_eq!(
        open(&postgres).await.record_visit("shop", &[id(1)], false).await,
        Ok(Visits { client: 1, site: 1 })
    );
}
