//! Databases of a demonstration.

use std::path::Path;

use bulkhead_tests::servers::{mariadb::MariaDb, postgres::Postgres};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Service, answers::assert_valid};
use crate::process::child::Launch;

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
    assert_eq!(service.send("/healthcheck/", &[]).await.status, 200);
    service.stop().await;
    let figures = ["confirmed", "deleted", "withExternalUserId", "outdated", "freeSlots"];
    let figures = figures.map(|name| processes[name].clone());
    json!([figures, data["useraccounts"]])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demonstration_is_the_same_in_every_database() {
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
    assert!(!refused.contains(mariadb.password()), "{refused}");
    assert_eq!(mariadb.sql("SHOW TABLES"), "");
}
