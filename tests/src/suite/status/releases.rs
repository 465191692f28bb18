//! Databases of older releases of the appointment system, and of a demonstration.

use std::path::Path;

use bulkhead_tests::{
    child::Launch,
    servers::{mariadb::MariaDb, postgres::Postgres},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    Rows, Service,
    answers::assert_valid,
    databases::{mariadb, on_mariadb, on_postgres, postgres},
    faults::assert_no_word_of_the_inside,
    run, sqlite,
};

/// Runs `change` on the known rows in each database, and `check` on what is served of them.
async fn after(change: &str, check: impl AsyncFn(&Service)) {
    let (folder, rows) = (TempDir::new().unwrap(), Rows::now());
    let file = sqlite(folder.path(), &rows.sql(&|_, text| format!("'{text}'"))).await;
    run(&folder.path().join("appointments.sqlite"), change).await;
    let (mariadb, postgres) = (mariadb(&on_mariadb(&rows)), postgres(&on_postgres(&rows)));
    mariadb.sql(change);
    postgres.sql(change);
    for database in [file, mariadb.url(), postgres.url()] {
        let service = Service::start(&database, "").await;
        check(&service).await;
        service.stop().await;
    }
}

/// Members of `processes` that are not there, of those that a whole database has.
async fn absent(service: &Service) -> Vec<&'static str> {
    let data = service.data("").await;
    assert_valid(&data);
    let members = [
        "confirmed",
        "total",
        "withExternalUserId",
        "confirmedWithExternalUserId",
        "lastInsert",
        "outdated",
        "outdatedOldest",
        "freeSlots",
        "lastCalculate",
    ];
    members.into_iter().filter(|member| data["processes"].get(member).is_none()).collect()
}

/// The codes of findings that say that a figure has no column.
async fn lacking(service: &Service) -> Vec<String> {
    let health = service.send("/healthcheck/?format=json", &[]).await;
    assert_no_word_of_the_inside(&health);
    let body = health.json();
    let codes = body["findings"].as_array().unwrap().iter();
    let codes = codes.map(|finding| finding["code"].as_str().unwrap().to_owned());
    codes.filter(|code| code.ends_with("-lacking")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_change_time_costs_outdated_slots() {
    after("ALTER TABLE oeffnungszeit DROP COLUMN updated_at", async |service| {
        assert_eq!(lacking(service).await, ["outdated-slots-lacking"], "before any statistics are asked for");
        assert_eq!(absent(service).await, ["outdated", "outdatedOldest"]);
        let samples = service.samples().await;
        assert!(!samples.contains_key("zms_slots_outdated") && samples["zms_slots_free"] == 9.0);
        assert_eq!(samples["zms_collector_success{section=\"slots\"}"], 1.0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn appointments_without_accounts_cost_two_figures_only() {
    after("ALTER TABLE buerger DROP COLUMN external_user_id", async |service| {
        assert_eq!(absent(service).await, ["withExternalUserId", "confirmedWithExternalUserId"]);
        assert_eq!(lacking(service).await, ["external-user-ids-lacking"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn former_change_column_is_read() {
    after("ALTER TABLE oeffnungszeit RENAME COLUMN updated_at TO updateTimestamp", async |service| {
        assert!(absent(service).await.is_empty());
        assert!(lacking(service).await.is_empty());
        assert_eq!(service.data("").await["processes"]["outdated"], 1);
    })
    .await;
}

/// Has `bulkhead demo appointments` fill the database that the file names.
async fn demo(url: &Path) -> Result<String, String> {
    let file = format!("file:{}", url.display());
    let arguments = ["demo", "appointments", "--rows", "500", "--seed", "7", "--database", &file];
    let finished = Launch::bulkhead(&arguments).env("HOME", "/nowhere").finish().await;
    if finished.succeeded() { Ok(finished.stdout) } else { Err(finished.stderr) }
}

/// Fills a database, which is then served; a second time, and without rights, it is refused. Gives the figures that do
/// not depend on the server.
async fn assert_filled(folder: &Path, url: &str) -> Value {
    let file = folder.join("url");
    std::fs::write(&file, url).unwrap();
    let said = demo(&file).await.unwrap();
    assert!(said.starts_with("500 appointments in ") && !said.contains("do-not-print-me"), "{said}");
    let again = demo(&file).await.unwrap_err();
    assert!(again.contains("has the table") || again.contains("exists; remove it"), "{again}");
    let service = Service::start(url, "").await;
    let data = service.data("").await;
    assert_valid(&data);
    let processes = &data["processes"];
    assert_eq!((&processes["total"], &data["mail"]["queueCount"]), (&json!(500), &json!(14)));
    let health = service.send("/healthcheck/?format=json", &[]).await.json();
    assert!(matches!(health["level"].as_str(), Some("OK" | "WARN")), "{health}");
    service.stop().await;
    let figures = ["confirmed", "deleted", "withExternalUserId", "outdated", "freeSlots"];
    let figures = figures.map(|name| processes[name].clone());
    json!([figures, data["useraccounts"]])
}

#[tokio::test(flavor = "multi_thread")]
async fn demonstration_is_equal_in_every_database() {
    let folder = TempDir::new().unwrap();
    let (mariadb, postgres) = (MariaDb::start(), Postgres::start());
    mariadb.sql("GRANT ALL ON zms.* TO reader@'127.0.0.1'");
    let file = format!("sqlite:{}", folder.path().join("demo.sqlite").display());
    let expected = assert_filled(folder.path(), &file).await;
    for url in [mariadb.url(), postgres.url()] {
        assert_eq!(assert_filled(folder.path(), &url).await, expected);
    }
}

/// Without the right to create tables nothing is left behind, and the refusal says what is missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_demonstration_leaves_nothing_half_done() {
    let (folder, mariadb) = (TempDir::new().unwrap(), MariaDb::start());
    mariadb.sql("GRANT CREATE, DROP, SELECT, INDEX ON zms.* TO reader@'127.0.0.1'");
    let file = folder.path().join("url");
    std::fs::write(&file, mariadb.url()).unwrap();
    let refused = demo(&file).await.unwrap_err();
    assert!(refused.contains("cannot fill the database"), "{refused}");
    assert!(!refused.contains("error returned from database"), "{refused}");
    assert!(!refused.contains(mariadb.password()), "{refused}");
    assert_eq!(mariadb.sql("SHOW TABLES"), "");
}

/// Displayed, the driver's error has a line of the server's source code.
#[tokio::test(flavor = "multi_thread")]
async fn demonstration_reports_database_reason() {
    let (folder, postgres) = (TempDir::new().unwrap(), Postgres::start());
    let file = folder.path().join("url");
    std::fs::write(&file, format!("{}_not", postgres.url())).unwrap();
    let refused = demo(&file).await.unwrap_err();
    assert!(refused.contains(r#"database "postgres_not" does not exist; check the URL"#), "{refused}");
}
