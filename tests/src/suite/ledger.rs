//! The ledger on PostgreSQL: a real server, stopped, crashed and frozen.

mod away;
mod clocks;

use bulkhead::storage::{Backend, Ledger, LedgerOptions, Rows, StorageError, Swept, Visits};
use bulkhead_tests::servers::postgres::Postgres;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn options() -> LedgerOptions {
    LedgerOptions::new(Duration::from_secs(1800), 4)
}

/// What the Java service's `V001__Init.sql` leaves behind, with Flyway's history.
pub(crate) const JAVA: &str = "
    CREATE TABLE flyway_schema_history (installed_rank integer PRIMARY KEY, version varchar(50), script varchar(1000));
    INSERT INTO flyway_schema_history VALUES (1, '001', 'V001__Init.sql');
    CREATE TABLE captcha_request (
        id uuid NOT NULL, request_at timestamp with time zone, source_address_hash varchar(64) NOT NULL,
        is_whitelisted boolean NOT NULL, expires_at timestamp with time zone NOT NULL,
        CONSTRAINT pk_captcharequest PRIMARY KEY (id));
    CREATE TABLE invalidated_payload (
        id uuid NOT NULL, payload_hash varchar(64) NOT NULL, expires_at timestamp with time zone NOT NULL,
        CONSTRAINT pk_invalidatedpayload PRIMARY KEY (id));
    CREATE INDEX idx_captcha_request_source_address_hash ON captcha_request (source_address_hash);
    CREATE INDEX idx_captcha_request_source_address_hash_expires_at
        ON captcha_request (source_address_hash, expires_at);
    CREATE INDEX idx_invalidated_payload_payload_hash ON invalidated_payload (payload_hash);
    CREATE INDEX idx_invalidated_payload_payload_hash_expires_at ON invalidated_payload (payload_hash, expires_at);";

async fn open(postgres: &Postgres) -> Ledger {
    Ledger::open(Backend::Postgres(postgres.url()), options()).await.expect("the ledger opens")
}

fn id(number: u64) -> String {
    format!("{number:064x}")
}

/// Unix seconds, a minute from now.
fn soon() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs() + 60
}

fn is_unavailable<T>(answer: &Result<T, StorageError>) -> bool {
    matches!(answer, Err(StorageError::Unavailable(_)))
}

/// Waits until `holds`, half a minute at most.
async fn eventually(holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < until, "it never came true");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Asks until the database is back.
async fn eventually_spent(ledger: &Ledger, id: &str) -> u32 {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match ledger.spent(id).await {
            Ok(spent) => return spent,
            Err(error) if Instant::now() > until => panic!("the ledger does not recover: {error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sharing_hosts_grant_exactly_the_limit() {
    let postgres = Postgres::start();
    // Even where the database's default would let a claim miss another that was committed while it waited.
    postgres.sql("ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'");
    let hosts = [open(&postgres).await, open(&postgres).await, open(&postgres).await];
    for challenge in 100..110 {
        let tasks: Vec<_> = (0..30)
            .map(|number| {
                let ledger = hosts[number % hosts.len()].clone();
                tokio::spawn(async move {
                    ledger.claim(&id(challenge), soon(), 3, false).await.expect("an answer")
                })
            })
            .collect();
        let mut granted = 0;
        for task in tasks {
            granted += u32::from(task.await.expect("the task ends"));
        }
        assert_eq!(granted, 3);
        assert_eq!(hosts[0].spent(&id(challenge)).await, Ok(3));
    }
    assert_eq!(postgres.sql("SELECT count(DISTINCT id) FROM invalidated_payload"), "30");

    let [one, other, _] = hosts;
    assert_eq!(one.claim(&id(2), soon(), 5, false).await, Ok(true));
    assert_eq!(other.claim(&id(2), soon(), 5, true).await, Ok(true));
    assert_eq!(one.spent(&id(2)).await, Ok(5));
    assert_eq!(one.claim(&id(2), soon(), 5, true).await, Ok(false));
    assert_eq!(one.claim(&id(3), soon() - 200, 1, false).await, Ok(false));
    assert_eq!(one.claim(&id(4), u64::MAX, 1, false).await, Ok(true));
    assert_eq!(one.spent(&id(4)).await, Ok(1));

    assert_eq!(one.record_failure(&id(1), soon()).await, Ok(1));
    assert_eq!(other.record_failure(&id(1), soon()).await, Ok(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn visits_count_before_and_after_writing() {
    let postgres = Postgres::start();
    // Calls that wait longer than a busy machine takes for all of them at once.
    let patient = LedgerOptions { answer_timeout: Duration::from_secs(30), ..options() };
    let other = Ledger::open(Backend::Postgres(postgres.url()), patient).await.expect("the ledger opens");
    let one = open(&postgres).await;
    assert_eq!(one.record_visit("shop", &[id(1)], true).await, Ok(Visits { client: 0, site: 0 }));
    assert_eq!(one.record_visit("shop", &[id(2), id(1)], false).await, Ok(Visits { client: 1, site: 1 }));
    one.close().await.expect("the visits are written");
    assert_eq!(postgres.sql("SELECT is_whitelisted FROM captcha_request ORDER BY 1"), "f\nt");
    assert_eq!(
        postgres
            .sql("SELECT DISTINCT round(extract(epoch FROM expires_at - request_at)) FROM captcha_request"),
        "1800"
    );
    assert_eq!(other.record_visit("shop", &[id(1), id(2)], false).await, Ok(Visits { client: 2, site: 2 }));

    let tasks: Vec<_> = (0..1500)
        .map(|_| {
            let ledger = other.clone();
            tokio::spawn(async move { ledger.record_visit("forum", &[id(3)], false).await.expect("a count") })
        })
        .collect();
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(task.await.expect("the task ends").client);
    }
    seen.sort_unstable();
    assert!(seen.iter().copied().eq(0..1500), "each visit has a number of its own");
}

#[tokio::test]
async fn java_database_is_taken_over_unchanged() {
    let postgres = Postgres::start();
    postgres.sql(JAVA);
    postgres.sql(&format!(
        "INSERT INTO captcha_request
            SELECT gen_random_uuid(), now(), '{0}', false, now() + '1 min' FROM generate_series(1, 2);
        INSERT INTO invalidated_payload VALUES (gen_random_uuid(), '{0}', now() + '1 min')",
        id(1)
    ));
    let columns = "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name NOT LIKE 'bulkhead%' ORDER BY 1, 2";
    let indexes = "SELECT indexdef FROM pg_indexes
        WHERE schemaname = 'public' AND tablename NOT LIKE 'bulkhead%' ORDER BY 1";
    let before = (postgres.sql(columns), postgres.sql(indexes));

    let ledger = open(&postgres).await;
    assert_eq!(ledger.record_visit("shop", &[id(1)], false).await, Ok(Visits { client: 2, site: 0 }));
    assert_eq!(ledger.spent(&id(1)).await, Ok(1));
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(false));
    ledger.close().await.expect("the visits are written");
    assert_eq!((postgres.sql(columns), postgres.sql(indexes)), before);
    assert_eq!(postgres.sql("SELECT script FROM flyway_schema_history"), "V001__Init.sql");

    // What we create ourselves has the same shape.
    postgres.sql("DROP TABLE captcha_request, invalidated_payload");
    drop(open(&postgres).await);
    assert_eq!((postgres.sql(columns), postgres.sql(indexes)), before);
}

#[tokio::test]
async fn user_without_create_rights_uses_existing_tables() {
    let postgres = Postgres::start();
    drop(open(&postgres).await);
    postgres.sql(
        "CREATE USER clerk PASSWORD 'clerk'; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk",
    );
    let url = format!("postgres://clerk:clerk@127.0.0.1:{}/postgres", postgres.port());
    let ledger = Ledger::open(Backend::Postgres(url), options()).await.expect("the ledger opens");
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
    assert!(ledger.sweep().await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_host_sweeps_exactly_the_expired() {
    let postgres = Arc::new(Postgres::start());
    open(&postgres).await.close().await.expect("the tables are made");
    postgres.sql(&format!(
        "INSERT INTO captcha_request SELECT gen_random_uuid(), now(), '{0}', false, now() + sign(n) * interval '1 h'
            FROM generate_series(-2500, 2500) AS n WHERE n <> 0;
        INSERT INTO invalidated_payload VALUES
            (gen_random_uuid(), '{0}', now() - interval '1 h'), (gen_random_uuid(), '{0}', now() + interval '1 h');
        INSERT INTO bulkhead_failure VALUES ('{0}', 1, now() - interval '1 h');
        INSERT INTO bulkhead_site_visits VALUES ('shop', now() - interval '1 h', 7)",
        id(1)
    ));
    let rows = "SELECT (SELECT count(*) FROM captcha_request), (SELECT count(*) FROM invalidated_payload),
        (SELECT count(*) FROM bulkhead_failure), (SELECT count(*) FROM bulkhead_site_visits)";
    assert_eq!(postgres.sql(rows), "5000|2|1|1");

    // At the start, and while another host is at it, not at all.
    let ledger = open(&postgres).await;
    eventually(|| postgres.sql(rows) == "2500|1|0|0").await;
    eventually(|| ledger.rows() == Rows { captcha_request: 2500, invalidated_payload: 1 }).await;
    postgres.sql("INSERT INTO bulkhead_site_visits VALUES ('shop', now() - interval '1 h', 7)");
    // "bulkhead" and one, the lock of the host that sweeps.
    let lock = "SELECT pg_advisory_lock(x'62756c6b68656165'::bigint); SELECT pg_sleep(5)";
    let held = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND application_name = 'psql'";
    let holder = tokio::task::spawn_blocking({
        let postgres = postgres.clone();
        move || postgres.sql(lock)
    });
    eventually(|| postgres.sql(held) == "1").await;
    assert_eq!(ledger.sweep().await, Ok(None));
    assert_eq!(postgres.sql(rows), "2500|1|0|1");
    holder.await.expect("the lock was held");
    // The server may end the session after its client has ended.
    eventually(|| postgres.sql(held) == "0").await;
    let swept = Swept { site_visits: 1, ..Swept::default() };
    assert_eq!(ledger.sweep().await, Ok(Some(swept)));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_database_is_found_again_later() {
    let mut postgres = Postgres::start();
    let ledger = open(&postgres).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
    assert_eq!(ledger.record_visit("shop", &[id(1)], false).await, Ok(Visits::default()));

    postgres.crash();
    let asked = Instant::now();
    let answer = ledger.claim(&id(2), soon(), 1, false).await;
    assert!(is_unavailable(&answer), "{answer:?}");
    assert!(!format!("{answer:?}").contains(postgres.password()));
    assert!(is_unavailable(&ledger.ping().await));
    assert!(is_unavailable(&ledger.record_visit("shop", &[id(1)], false).await));
    assert!(asked.elapsed() < Duration::from_secs(20), "no call waits for ever");

    postgres.restart();
    assert_eq!(eventually_spent(&ledger, &id(1)).await, 1);
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(false));
    assert_eq!(ledger.ping().await, Ok(()));
    // The visit that waited while the database was down is not lost.
    ledger.close().await.expect("the visits are written");
    assert_eq!(postgres.sql("SELECT count(*) FROM captcha_request"), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_database_holds_neither_call_nor_connection() {
    let postgres = Postgres::start();
    let ledger = open(&postgres).await;
    let all_at_once = || async {
        let tasks: Vec<_> = (0..options().connections)
            .map(|number| {
                let ledger = ledger.clone();
                tokio::spawn(async move { ledger.spent(&id(number.into())).await })
            })
            .collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.expect("the task ends"));
        }
        answers
    };
    assert!(all_at_once().await.iter().all(Result::is_ok));
    postgres.freeze();
    let asked = Instant::now();
    assert!(all_at_once().await.iter().all(is_unavailable));
    assert!(asked.elapsed() < Duration::from_secs(20), "no call waits for ever");
    postgres.thaw();
    assert_eq!(eventually_spent(&ledger, &id(1)).await, 0);
    assert!(all_at_once().await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_wrong_password_is_not_repeated() {
    let postgres = Postgres::start();
    let url = postgres.url().replace(postgres.password(), "wrong-one");
    let refused = Ledger::open(Backend::Postgres(url), options()).await.expect_err("a refusal");
    assert!(is_unavailable(&Err::<(), _>(refused.clone())));
    assert!(!format!("{refused} {refused:?}").contains("wrong-one"), "{refused}");
}

#[tokio::test]
async fn counts_use_the_indexes() {
    let postgres = Postgres::start();
    drop(open(&postgres).await);
    postgres.sql(
        "INSERT INTO captcha_request SELECT gen_random_uuid(), now(), lpad(to_hex(n), 64, '0'), false, now() + '1 h'
            FROM generate_series(1, 50000) AS n;
        INSERT INTO invalidated_payload SELECT gen_random_uuid(), lpad(to_hex(n), 64, '0'), now() + '1 h'
            FROM generate_series(1, 50000) AS n;
        ANALYZE",
    );
    let ledger = open(&postgres).await;
    assert_eq!(ledger.record_visit("shop", &[id(7), id(8)], false).await, Ok(Visits { client: 2, site: 0 }));
    assert_eq!(ledger.spent(&id(7)).await, Ok(1));
    assert_eq!(ledger.claim(&id(7), soon(), 1, false).await, Ok(false));
    ledger.close().await.expect("the visits are written");
    let scans = "SELECT count(*) FROM pg_stat_user_tables
        WHERE relname IN ('captcha_request', 'invalidated_payload') AND idx_scan > 0";
    eventually(|| postgres.sql(scans) == "2").await;
}
