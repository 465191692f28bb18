//! The same figures from every database, in both spellings.

use bulkhead_tests::servers::{mariadb::MariaDb, postgres::Postgres};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    Service,
    answers::assert_valid,
    rows::{EXPIRED, Rows, SESSION},
    sqlite,
};

/// Puts the tables and rows into a MariaDB server.
pub fn with_mariadb_rows(server: MariaDb, rows: &str) -> MariaDb {
    server.sql(&format!(
        "{}{rows}",
        include_str!("../../../../host/services/status/appointments/src/demo/schema/mariadb.sql")
    ));
    server
}

/// Puts the tables and rows into a PostgreSQL server.
pub fn with_postgres_rows(server: Postgres, rows: &str) -> Postgres {
    server.sql(&format!(
        "{}{rows}",
        include_str!("../../../../host/services/status/appointments/src/demo/schema/postgres.sql")
    ));
    server
}

/// A MariaDB server over rows.
pub fn mariadb(rows: &str) -> MariaDb {
    with_mariadb_rows(MariaDb::start(), rows)
}

/// A PostgreSQL server over rows.
pub fn postgres(rows: &str) -> Postgres {
    with_postgres_rows(Postgres::start(), rows)
}

/// Rows as MariaDB takes them.
pub fn on_mariadb(rows: &Rows) -> String {
    rows.sql(&|seconds, _| format!("FROM_UNIXTIME({seconds})"))
}

/// Rows as PostgreSQL takes them.
pub fn on_postgres(rows: &Rows) -> String {
    rows.sql(&|_, text| format!("'{text}'"))
}

fn typed(rows: &Rows) -> Value {
    json!({
        "processes": {
            "blocked": 1, "called": 0, "confirmed": 2, "pending": 1, "deleted": 1, "missed": 0, "parked": 0,
            "reserved": 1, "preconfirmed": 1, "queued": 1, "processing": 1, "other": 1, "total": 10,
            "withExternalUserId": 3, "confirmedWithExternalUserId": 2, "sinceMidnight": 5, "last7days": 6,
            "lastInsert": rows.local(0), "lastInsertTimestamp": rows.now, "outdated": 1,
            "outdatedOldest": rows.local(0), "freeSlots": 9,
            "lastCalculate": "2016-04-01 00:00:00", "lastCalculateSlot": "2016-04-01 00:00:00",
        },
        "sources": { "dldb": { "last": "2022-04-12T13:22:45+02:00" } },
        "useraccounts": { "activeSessions": 1, "departments": { "1": {
            "activeSessions": 1, "name": "Testbehörde",
            "scopes": { "10": { "activeSessions": 1, "name": "Bürgerbüro" } },
        } } },
    })
}

fn legacy(rows: &Rows) -> Value {
    json!({
        "processes": {
            "blocked": "1", "called": "0", "confirmed": "2", "pending": "1", "deleted": "1", "missed": "0",
            "parked": "0", "reserved": "1", "withExternalUserId": "3", "confirmedWithExternalUserId": "2",
            "sinceMidnight": "5", "last7days": "6", "lastInsert": rows.local(0), "outdated": 1,
            "outdatedOldest": rows.local(0), "freeSlots": "9", "lastCalculate": "2016-04-01 00:00:00",
        },
        "sources": { "dldb": { "last": "2022-04-12T13:22:45+02:00" } },
        "useraccounts": typed(rows)["useraccounts"].clone(),
    })
}

/// Figures that do not depend on the server, and mails, whose age goes on.
async fn assert_known(database: &str, rows: &Rows, server: &Value) {
    for (wire, expected) in [("typed", typed(rows)), ("legacy", legacy(rows))] {
        let service = Service::start(database, &format!("wire = \"{wire}\"")).await;
        let data = service.data("").await;
        for (section, expected) in expected.as_object().unwrap() {
            assert_eq!(&data[section], expected, "{wire} {section}");
        }
        let mail = &data["mail"];
        assert_eq!(mail["queueCount"], 2);
        let (oldest, newest) =
            (mail["oldestSeconds"].as_i64().unwrap(), mail["newestSeconds"].as_i64().unwrap());
        assert!(oldest >= 480 && newest >= -100 && oldest - newest == 580, "{mail}");
        for (member, expected) in server.as_object().unwrap() {
            assert_eq!(&data["database"][member], expected, "{wire} {member}");
        }
        if wire == "typed" {
            assert_valid(&data);
            let samples = service.samples().await;
            assert_eq!(samples["zms_processes{status=\"confirmed\"}"], 2.0);
            assert!(samples["zms_collector_success{section=\"processes\"}"] == 1.0);
        }
        let health = service.send("/healthcheck/", &[]).await;
        assert_eq!(health.status, 500, "the import is years old");
        assert!(health.text.starts_with("CRIT") && health.text.contains("WARN"), "{}", health.text);
        for (key, status) in [(SESSION, 200), (EXPIRED, 401)] {
            let answer = service.send("/status/?includeProcessStats=0", &[("x-authkey", key)]).await;
            assert_eq!(answer.status, status, "{}", answer.text);
        }
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn known_rows_in_sqlite() {
    let folder = TempDir::new().unwrap();
    let rows = Rows::now();
    let database = sqlite(folder.path(), &rows.sql(&|_, text| format!("'{text}'"))).await;
    let server = json!({ "clusterStatus": "OFF", "logbin": "OFF", "problems": "" });
    assert_known(&database, &rows, &server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn known_rows_in_mariadb() {
    let rows = Rows::now();
    let server = mariadb(&on_mariadb(&rows));
    let problems = "tmp_table_size should be at least 32MB; max_heap_table_size should be at least 32MB";
    let expected = json!({ "clusterStatus": "OFF", "logbin": "OFF", "problems": problems });
    assert_known(&server.url(), &rows, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn known_rows_in_postgresql() {
    let rows = Rows::now();
    let server = postgres(&on_postgres(&rows));
    let expected = json!({ "clusterStatus": "OFF", "logbin": "ON", "problems": "" });
    assert_known(&server.url(), &rows, &expected).await;
}

/// Without a row everywhere: counters are 0, sums of nothing are absent on the old wire.
#[tokio::test(flavor = "multi_thread")]
async fn empty_tables_in_every_database() {
    let folder = TempDir::new().unwrap();
    let (mariadb, postgres) = (mariadb(""), postgres(""));
    for database in [sqlite(folder.path(), "").await, mariadb.url(), postgres.url()] {
        let service = Service::start(&database, "wire = \"legacy\"").await;
        let data = service.data("").await;
        let expected = json!({
            "blocked": "0", "called": "0", "confirmed": "0", "pending": "0", "deleted": "0", "missed": "0",
            "parked": "0", "reserved": "0", "withExternalUserId": "0", "confirmedWithExternalUserId": "0",
            "outdated": 0,
        });
        assert_eq!(data["processes"], expected);
        assert_eq!(data["mail"], json!({ "queueCount": 0 }));
        assert_eq!(data["useraccounts"], json!({ "activeSessions": 0 }));
        assert!(data.get("sources").is_none());
        service.stop().await;
    }
}

/// The reader may read and no more, and the session may not write whatever the user may.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written() {
    let rows = Rows::now();
    let server = mariadb(&on_mariadb(&rows));
    let writes = "SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN
        ('COM_INSERT', 'COM_UPDATE', 'COM_DELETE', 'COM_REPLACE', 'HANDLER_WRITE_ROWS')";
    let before = server.sql(writes);
    let service = Service::start(&server.url(), "").await;
    service.data("").await;
    service.samples().await;
    service.stop().await;
    assert_eq!(server.sql(writes), before);
}
