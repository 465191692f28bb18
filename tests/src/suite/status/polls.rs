//! What a poll gets: figures of its own time, their age, and what is found in them.

use std::{path::Path, time::Duration};

use tempfile::TempDir;

use super::{
    Rows, Service, TOKEN,
    answers::{HEALTH, assert_fits, assert_same_members},
    faults::RESTLESS,
    golden, run, sqlite,
};

const TOKENED: (&str, &str) = ("x-token", TOKEN);
/// A mail more.
const MAIL: &str = "INSERT INTO mailqueue (createTimestamp, subject) VALUES (1700000000, 'c')";

/// Lets figures become due, whose time to live is a second.
async fn become_due() {
    tokio::time::sleep(Duration::from_millis(1100)).await;
}

async fn queue_a_mail(folder: &Path) {
    run(&folder.join("appointments.sqlite"), MAIL).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_shows_in_the_next_poll() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), RESTLESS).await;
    assert_eq!(service.data("").await["mail"]["queueCount"], 2);
    queue_a_mail(folder.path()).await;
    become_due().await;
    assert_eq!(service.data("").await["mail"]["queueCount"], 3);
    queue_a_mail(folder.path()).await;
    become_due().await;
    assert_eq!(service.samples().await["zms_mail_queue_length"], 4.0);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_is_held_against_fresh_figures() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), RESTLESS).await;
    let mut answer = service.get("/status/?gql={mail{queueCount}}").await;
    for (name, validator) in [("if-none-match", "etag"), ("if-modified-since", "last-modified")] {
        let (known, before) = (answer.header(validator).to_owned(), answer.header("etag").to_owned());
        queue_a_mail(folder.path()).await;
        become_due().await;
        answer = service.send("/status/?gql={mail{queueCount}}", &[TOKENED, (name, &known)]).await;
        assert_eq!(answer.status, 200, "{name} {known}");
        assert_ne!(answer.header("etag"), before, "{name}");
    }
    assert_eq!(answer.json()["data"]["mail"]["queueCount"], 4);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn poll_after_an_outage_has_figures() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("appointments.sqlite");
    let service = Service::start(&format!("sqlite:{}", file.display()), RESTLESS).await;
    let refusal = service.get("/status/").await;
    refusal.assert_refusal(503, Some(r"BO\Zmsbackend\Exception\Pdo\PDOFailed"));
    let retry_after = Duration::from_secs(refusal.header("retry-after").parse().unwrap());
    let rows = Rows::now().sql(&|_, text| format!("'{text}'"));
    sqlite(folder.path(), &rows).await;
    tokio::time::sleep(retry_after + Duration::from_millis(200)).await;
    let health = service.send("/healthcheck/", &[]).await;
    assert!(!health.text.contains("FATAL"), "{}", health.text);
    let answer = service.get("/status/").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_have_an_age_and_ages_advance() {
    let folder = TempDir::new().unwrap();
    let kept = "max_stale_seconds = 3600\nrefresh.mail_seconds = 3600\nrefresh.processes_seconds = 3600";
    let service = golden(folder.path(), kept).await;
    let age = async || service.get("/status/metrics").await.header("age").parse::<u64>().unwrap();
    let oldest = async || service.samples().await["zms_mail_queue_oldest_seconds"];
    let (first_age, first_oldest) = (age().await, oldest().await);
    assert!(first_age < 60 && first_oldest >= 480.0, "{first_age} {first_oldest}");
    super::faults::within_a_minute("both grow", async || {
        age().await > first_age && oldest().await > first_oldest
    })
    .await;
    assert_eq!(service.attempts("mail").await, (1.0, 0.0), "although nothing is collected again");
    service.stop().await;

    let nothing = Service::start(&format!("sqlite:{}", folder.path().join("none").display()), "").await;
    let answer = nothing.get("/status/metrics").await;
    assert!(
        answer.status == 200 && !answer.headers.contains_key("age"),
        "figures that are not known have no age"
    );
    nothing.stop().await;
}

#[tokio::test]
async fn a_health_check_names_its_findings() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    let answer = service.send("/healthcheck/?format=json", &[]).await;
    assert_eq!((answer.status, answer.header("content-type")), (500, "application/json"));
    let body = answer.json();
    assert_fits(HEALTH, &body);
    assert_same_members(HEALTH, &body);
    assert_eq!(body["level"], "CRIT");
    let line = body["text"].as_str().unwrap();
    assert!(line.starts_with("CRIT - last DLDB import") && line.contains("; WARN - "), "{line}");
    let codes: Vec<_> = body["findings"].as_array().unwrap().iter().map(|found| &found["code"]).collect();
    let expected =
        ["import-very-late", "mail-late", "replication-log-off", "cluster-not-ready", "calculation-late"];
    assert_eq!(codes, expected);
    let refusal = service.send("/healthcheck/?format=xml", &[]).await;
    let meta = refusal.assert_refusal(400, Some(r"BO\Zmsbackend\Exception\BadRequest"));
    assert_eq!(meta["message"], "format must be text (the default) or json");
    service.stop().await;
}

#[tokio::test]
async fn figures_that_are_not_known_have_codes() {
    let folder = TempDir::new().unwrap();
    let service = Service::start(&format!("sqlite:{}", folder.path().join("none").display()), "").await;
    let body = service.send("/healthcheck/?format=json", &[]).await.json();
    assert_fits(HEALTH, &body);
    assert_eq!(body["level"], "FATAL");
    let codes: Vec<_> = body["findings"].as_array().unwrap().iter().map(|found| &found["code"]).collect();
    assert_eq!(codes, ["sources-unknown", "mail-unknown", "database-unknown", "sessions-unknown"]);
    service.stop().await;
}
