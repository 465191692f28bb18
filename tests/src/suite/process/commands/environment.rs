//! Environment variables: `BULKHEAD_*`, what Kubernetes adds to them, and the replaced services' names.

use bulkhead_tests::{child::Launch, servers::postgres::Postgres};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::captcha_http::solver;
use crate::process::{SITE, replayed, valid};

fn warnings(log: &[Value]) -> Vec<&str> {
    let warnings = log.iter().filter(|line| line["level"] == "WARN");
    warnings.map(|line| line["message"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_names_that_scripts_rely_on_work() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("elsewhere");
    let host = Launch::bulkhead(&["serve"])
        .env("BULKHEAD_SERVER__LISTEN", "127.0.0.2:0")
        .env("BULKHEAD_SERVER__ADMIN_LISTEN", "127.0.0.3:0")
        .env("BULKHEAD_DATA_DIR", data.to_str().unwrap())
        .env("BULKHEAD_LOG__FORMAT", "json")
        .ready()
        .await;
    assert!(host.url("").starts_with("http://127.0.0.2:"), "{}", host.url(""));
    assert!(host.admin_url("").starts_with("http://127.0.0.3:"), "{}", host.admin_url(""));
    assert_eq!(host.status(&host.url("/actuator/health")).await, 200);
    assert_eq!(host.status(&host.admin_url("/health/ready")).await, 200);
    assert!(data.join("captcha.sqlite").exists());
    host.stop().await;
}

#[tokio::test]
async fn kubernetes_variables_are_ignored_with_warning() {
    let folder = TempDir::new().unwrap();
    let links = [
        ("BULKHEAD_PORT", "tcp://10.0.0.1:8080"),
        ("BULKHEAD_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("BULKHEAD_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("BULKHEAD_PORT_8080_TCP_PORT", "8080"),
        ("BULKHEAD_PORT_8080_TCP_PROTO", "tcp"),
        ("BULKHEAD_SERVICE_HOST", "10.0.0.1"),
        ("BULKHEAD_SERVICE_PORT", "8080"),
        ("BULKHEAD_SERVICE_PORT_HTTP", "8080"),
    ];
    let launch = Launch::serve_with(folder.path(), SITE);
    let host = links.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).ready().await;
    assert_eq!(host.status(&host.url("/actuator/health")).await, 200);
    let log = host.stop().await;
    let [warning] = warnings(&log)[..] else { panic!("{log:?}") };
    assert!(links.iter().all(|(name, _)| warning.contains(name)), "{warning}");
}

#[tokio::test]
async fn an_unknown_variable_is_an_error() {
    let folder = TempDir::new().unwrap();
    let finished = Launch::serve(folder.path()).env("BULKHEAD_SERVER__LISTN", "127.0.0.1:0").finish().await;
    assert_eq!(finished.status.code(), Some(1));
    let error = finished.stderr;
    assert!(error.contains("BULKHEAD_SERVER__LISTN") && error.contains("did you mean listen"), "{error}");
}

/// wasmtime reads it where the host does not say what counts, and the compiler's process has no environment.
#[tokio::test]
async fn wasmtime_s_variables_change_no_code() {
    let folder = TempDir::new().unwrap();
    let launch = Launch::serve_with(folder.path(), SITE).env("WASMTIME_BACKTRACE_DETAILS", "1");
    let host = launch.ready().await;
    assert_eq!(host.status(&host.admin_url("/health/ready")).await, 200);
    host.stop().await;
}

/// The Java service's deployment, with nothing changed but the image.
#[tokio::test]
async fn the_replaced_service_s_variables_are_enough() {
    let postgres = Postgres::start();
    let folder = TempDir::new().unwrap();
    let jdbc = format!("jdbc:postgresql://127.0.0.1:{}/postgres", postgres.port());
    let url = postgres.url();
    let user = url.trim_start_matches("postgres://").split(':').next().unwrap();
    let host = Launch::bulkhead(&["serve", "--admin-listen", "127.0.0.1:0", "--log-format", "json"])
        .env("HOME", folder.path().to_str().unwrap())
        .env("BULKHEAD_DATA_DIR", folder.path().join("data").to_str().unwrap())
        .env("SERVER_PORT", "0")
        .env("SPRING_DATASOURCE_URL", &jdbc)
        .env("SPRING_DATASOURCE_USERNAME", user)
        .env("SPRING_DATASOURCE_PASSWORD", postgres.password())
        .env("CAPTCHA_HMACKEY", "the java service's key")
        .env("CAPTCHA_CAPTCHATIMEOUTSECONDS", "300")
        .env("CAPTCHA_SITES_SHOP_SECRET", "from the environment")
        .env("CAPTCHA_SITES_SHOP_DIFFICULTYMAP_0_MINVISITS", "1")
        .env("CAPTCHA_SITES_SHOP_DIFFICULTYMAP_0_COST", "3")
        .env("MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE", "health")
        .ready()
        .await;
    assert!(!folder.path().join("data/captcha.sqlite").exists());
    assert_eq!(host.status(&host.url("/actuator/health")).await, 200);
    assert_eq!(host.status(&host.url("/actuator/info")).await, 404, "not included");

    let envelope = json!({
        "siteKey": "shop", "siteSecret": "from the environment", "clientAddress": "192.0.2.7",
    });
    let (status, answer) = host.post("/api/v1/captcha/challenge", &envelope).await;
    assert_eq!(status, 200, "{answer}");
    let parameters = &answer["challenge"]["parameters"];
    for (name, value) in [("algorithm", json!("SHA-256")), ("keyPrefix", json!("00")), ("cost", json!(3))] {
        assert_eq!(parameters[name], value, "as the Java service issues them: {parameters}");
    }
    assert!(parameters.get("data").is_none(), "{parameters}");

    let mut body = envelope.clone();
    body["payload"] = solver::solve(&answer["challenge"]);
    assert_eq!(host.post("/api/v1/captcha/verify", &body).await, (200, valid()));
    assert_eq!(host.post("/api/v1/captcha/verify", &body).await, (200, replayed()));
    assert!(!host.text().contains(postgres.password()));
    host.stop().await;
    assert_eq!(postgres.sql("SELECT count(*) FROM invalidated_payload"), "1");
    assert_eq!(postgres.sql("SELECT count(*) FROM captcha_request"), "1");
}
