//! A database that is slow, half there, or away.

use std::time::Duration;

use futures_util::future::join_all;
use tempfile::TempDir;

use super::{
    Answer, Rows, Service,
    databases::{mariadb, on_mariadb, on_postgres, postgres},
    run, sqlite,
};

/// Figures that go stale at once, so that every request asks the database.
pub const RESTLESS: &str = "
    statement_timeout_seconds = 1
    [status.refresh]
    database_seconds = 1
    processes_seconds = 1
    slots_seconds = 1
    mail_seconds = 1
    sources_seconds = 1
    sessions_seconds = 1
";

pub async fn within_a_minute(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not within a minute: {what}");
}

pub fn assert_no_word_of_the_inside(answer: &Answer) {
    for inside in ["do-not-print-me", "reader", "127.0.0.1:", "sqlx", "Connection refused", "os error"] {
        assert!(!answer.text.contains(inside), "{inside} in {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_callers_cost_one_scan() {
    let rows = Rows::now();
    let server = mariadb(&on_mariadb(&rows));
    let service = Service::start(&server.url(), "").await;
    let answers = join_all((0..100).map(|_| service.get("/status/"))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(service.attempts("processes").await, (1.0, 0.0));
    assert_eq!(service.attempts("slots").await, (1.0, 0.0));
    let connections = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'reader'";
    assert!(server.sql(connections).parse::<u32>().unwrap() <= 2);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_database_is_bridged_then_reported() {
    let rows = Rows::now();
    let mut server = mariadb(&on_mariadb(&rows));
    let service = Service::start(&server.url(), &format!("max_stale_seconds = 8\n{RESTLESS}")).await;
    let before = service.data("").await;
    server.stop();
    within_a_minute("the failure shows in the metrics", async || {
        service.get("/status/").await;
        let samples = service.samples().await;
        samples["zms_collector_success{section=\"mail\"}"] == 0.0
    })
    .await;
    within_a_minute("figures that are too old are no longer shown", async || {
        let answer = service.get("/status/").await;
        match answer.status {
            200 => assert_eq!(answer.json()["data"]["version"], before["version"]),
            _ => assert_no_word_of_the_inside(&answer),
        }
        answer.status == 503
    })
    .await;
    let refusal = service.get("/status/").await;
    refusal.assert_refusal(503, Some(r"BO\Zmsbackend\Exception\Pdo\PDOFailed"));
    assert!(refusal.header("retry-after").parse::<u32>().unwrap() > 0);
    let health = service.send("/healthcheck/", &[]).await;
    assert_eq!(health.status, 500);
    assert!(health.text.contains("FATAL"), "{}", health.text);
    assert_no_word_of_the_inside(&health);
    let samples = service.samples().await;
    assert!(samples.keys().all(|name| !name.starts_with("zms_processes")), "an outage is not zero");
    let session = service.send("/status/", &[("x-authkey", "unknown")]).await;
    assert_eq!(session.status, 503, "nobody can be known now: {}", session.text);
    assert_no_word_of_the_inside(&session);

    server.restart();
    within_a_minute("the figures are back", async || service.get("/status/").await.status == 200).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_appointments_delay_their_figures_only() {
    let rows = Rows::now();
    let server = mariadb(&on_mariadb(&rows));
    let held = server.hold("LOCK TABLES buerger WRITE");
    within_a_minute("the lock is held", async || {
        let sleeping = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SLEEP(600)%'
            AND INFO NOT LIKE '%PROCESSLIST%'";
        server.sql(sleeping) != "0"
    })
    .await;
    let service = Service::start(&server.url(), RESTLESS).await;
    // While the scan waits for the lock the quick figures, and accounts, are there.
    let (metrics, health, session) = tokio::join!(
        service.get("/status/metrics"),
        service.send("/healthcheck/", &[]),
        service.send("/status/?includeProcessStats=0", &[("x-authkey", super::rows::SESSION)]),
    );
    assert_eq!((metrics.status, session.status), (200, 200), "{} {}", metrics.text, session.text);
    assert!(!health.text.contains("not known"), "{}", health.text);
    let data = service.data("").await;
    assert!(data["processes"].get("confirmed").is_none(), "{data}");
    assert_eq!(data["processes"]["freeSlots"], 9);
    assert_eq!(data["mail"]["queueCount"], 2);
    let samples = service.samples().await;
    assert_eq!(samples["zms_collector_success{section=\"processes\"}"], 0.0);
    assert_eq!(samples["zms_collector_success{section=\"slots\"}"], 1.0);
    drop(held);
    within_a_minute("the figures are there", async || service.data("").await["processes"]["confirmed"] == 2)
        .await;
    service.stop().await;
}

/// A network that swallows packets: nothing is refused and nothing comes.
#[tokio::test(flavor = "multi_thread")]
async fn silent_database_is_given_up() {
    let rows = Rows::now();
    let server = postgres(&on_postgres(&rows));
    let service = Service::start(&server.url(), RESTLESS).await;
    service.data("").await;
    server.freeze();
    within_a_minute("the silence shows in the metrics", async || {
        assert_eq!(service.get("/status/").await.status, 200, "what is known is shown");
        service.samples().await["zms_collector_success{section=\"mail\"}"] == 0.0
    })
    .await;
    server.thaw();
    within_a_minute("it is collected again", async || {
        service.get("/status/").await;
        service.samples().await["zms_collector_success{section=\"mail\"}"] == 1.0
    })
    .await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_migrated_database_gives_its_figures() {
    let folder = TempDir::new().unwrap();
    let rows = Rows::now();
    let database = sqlite(folder.path(), &rows.sql(&|_, text| format!("'{text}'"))).await;
    let file = folder.path().join("appointments.sqlite");
    run(&file, "ALTER TABLE buerger DROP COLUMN status; DROP TABLE mailqueue").await;
    let mariadb = mariadb(&on_mariadb(&rows));
    mariadb.sql("ALTER TABLE buerger DROP COLUMN status; DROP TABLE mailqueue");
    for database in [database, mariadb.url()] {
        let service = Service::start(&database, "").await;
        let data = service.data("").await;
        assert!(data["processes"].get("confirmed").is_none() && data.get("mail").is_none(), "{data}");
        assert_eq!(data["processes"]["freeSlots"], 9);
        let health = service.send("/healthcheck/", &[]).await;
        assert!(health.text.contains("FATAL - the figures of mail are not known"), "{}", health.text);
        assert!(health.text.contains("WARN - the figures of processes are not known"), "{}", health.text);
        for section in ["slots", "sessions"] {
            assert!(!health.text.contains(&format!("the figures of {section} are")), "{}", health.text);
        }
        assert_no_word_of_the_inside(&health);
        service.stop().await;
    }
}
