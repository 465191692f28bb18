//! Neither secrets nor addresses are ever printed, not even at the level `trace`.

use std::net::{IpAddr, Ipv4Addr};

use bulkhead_tests::child::{Bulkhead, Launch};
use bulkhead_tests::servers::llm::{
    Behaviour::{Says, Status},
    FakeLlm, category,
};
use reqwest::{Method, header};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{SITE, valid};
use crate::{captcha_http::solver, tickets::RULES};

/// Every secret has this in it, those that clients make up too.
const SECRET: &str = "MARKER";
/// What clients put into paths and queries; only an answer may repeat a path.
const PRIVATE: &str = "PRIVATE";
const API_KEY: &str = "MARKER-api-key-of-more-than-32-characters";
/// Addresses of clients: as the connection has it, as a proxy has it, as a back end has it.
const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);
const FORWARDED: &str = "198.51.100.23";
const STATED: &str = "203.0.113.77";

const CONFIG: &str = r#"
    [server]
    trusted_proxies = ["127.0.0.0/8"]
    [captcha]
    hmac_key = "MARKER-hmac-key"
    previous_hmac_keys = ["MARKER-previous-hmac-key"]
    auth = "api-key"
    api_keys = ["MARKER-api-key-of-more-than-32-characters"]
    [captcha.sites.shop]
    secret = ["MARKER-old-secret", "MARKER-new-secret"]
    algorithm = "SHA-256"
    binding = "exact"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    allowed_origins = ["*"]
"#;

/// Calls as a client at [`PEER`] behind a proxy, and keeps the answers.
struct Client {
    http: reqwest::Client,
    told: String,
}

impl Client {
    fn new() -> Self {
        let http = reqwest::Client::builder()
            .local_address(IpAddr::V4(PEER))
            .timeout(std::time::Duration::from_secs(60))
            .build()
            .unwrap();
        Self { http, told: String::new() }
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> (u16, Value) {
        let request = request.header("x-forwarded-for", FORWARDED).header(header::COOKIE, "a=MARKER-cookie");
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        self.told.push_str(&format!("{:?}\n", answer.headers()));
        let text = answer.text().await.unwrap();
        self.told.push_str(&text);
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    async fn post(&mut self, url: String, token: &str, body: &Value) -> (u16, Value) {
        self.send(self.http.post(url).bearer_auth(token).json(body)).await
    }

    async fn get(&mut self, url: String) -> u16 {
        self.send(self.http.get(url)).await.0
    }
}

fn envelope(secret: &str) -> Value {
    json!({ "siteKey": "shop", "siteSecret": secret, "clientAddress": STATED })
}

async fn right_and_wrong_calls(host: &Bulkhead, client: &mut Client) {
    let url = |path: &str| host.url(&format!("/api/v1/captcha{path}"));
    for secret in ["MARKER-old-secret", "MARKER-new-secret"] {
        let mut body = envelope(secret);
        let (status, answer) = client.post(url("/challenge"), API_KEY, &body).await;
        assert_eq!(status, 200, "{answer}");
        body["payload"] = solver::solve(&answer["challenge"]);
        assert_eq!(client.post(url("/verify"), API_KEY, &body).await, (200, valid()));
        assert_eq!(client.post(url("/invalidate"), API_KEY, &body).await.0, 200);
        body["siteSecret"] = "MARKER-wrong-secret".into();
        assert_eq!(client.post(url("/verify"), API_KEY, &body).await.0, 401);
        assert_eq!(client.post(url("/verify"), "MARKER-wrong-api-key", &body).await.0, 401);
    }
    for broken in [json!({ "siteSecret": "MARKER" }), json!("MARKER"), json!({ "siteKey": ["MARKER"] })] {
        assert_eq!(client.post(url("/challenge"), API_KEY, &broken).await.0, 400);
    }
    let secret = json!({ "secret": "MARKER-wrong-secret", "response": "MARKER", "remoteip": STATED });
    assert_eq!(client.post(url("/siteverify"), API_KEY, &secret).await.0, 200);
    assert_eq!(client.get(url("/widget/challenge?siteKey=shop")).await, 200);
    assert_eq!(client.get(url("/widget/challenge?siteKey=PRIVATE")).await, 404);
}

async fn odd_calls(host: &Bulkhead, client: &mut Client) {
    for path in
        ["/PRIVATE", "/api/v1/captcha/PRIVATE?token=PRIVATE", "/actuator/PRIVATE", "/actuator/health?PRIVATE"]
    {
        let request = client.http.request(Method::GET, host.url(path));
        client.send(request.header(header::AUTHORIZATION, "Basic MARKER")).await;
    }
    let request = client.http.request(Method::from_bytes(b"MARKER").unwrap(), host.url("/PRIVATE"));
    client.send(request).await;
    for path in ["", "/info", "/metrics", "/metrics/captcha.events", "/scrape", "/prometheus", "/health/db"] {
        client.get(host.url(&format!("/actuator{path}"))).await;
    }
    for path in ["/metrics", "/health/ready", "/health/live"] {
        assert_eq!(client.get(host.admin_url(path)).await, 200);
    }
}

#[tokio::test]
async fn nothing_secret_is_logged_counted_or_answered() {
    let folder = TempDir::new().unwrap();
    let launch = Launch::serve_with(folder.path(), CONFIG).args(&["--log-level", "trace"]);
    let mut host = launch.ready().await;
    let mut client = Client::new();
    right_and_wrong_calls(&host, &mut client).await;
    assert!(client.told.contains("wrong-credentials"), "answers are kept");
    assert!(!client.told.contains(PRIVATE), "{}", client.told);
    odd_calls(&host, &mut client).await;
    assert!(client.told.contains("captcha_events_total"), "metrics are kept");
    host.signal(rustix::process::Signal::TERM);
    assert!(host.ended().await.success());

    let log = host.text();
    assert!(log.contains("\"TRACE\"") && log.contains("answered"), "everything is logged:\n{log}");
    let addresses = [PEER.to_string(), FORWARDED.to_owned(), STATED.to_owned()];
    for hidden in addresses.iter().map(String::as_str).chain([SECRET]) {
        assert!(!client.told.contains(hidden), "{hidden} was answered");
    }
    for hidden in addresses.iter().map(String::as_str).chain([SECRET, PRIVATE]) {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(hidden)).collect();
        assert!(lines.is_empty(), "{hidden} was logged: {lines:#?}");
    }
}

/// Neither the key of a language model nor what a ticket says, nor what the model says of it.
#[tokio::test(flavor = "multi_thread")]
async fn tickets_and_model_key_are_not_logged() {
    let endpoint = FakeLlm::start([Status(500, None), Says("PRIVATE words".to_owned()), {
        Says(category("harbour", 0.9, "PRIVATE"))
    }])
    .await;
    let folder = TempDir::new().unwrap();
    let rules = folder.path().join("rules.toml");
    std::fs::write(&rules, RULES).unwrap();
    let (url, allow) = (endpoint.url("/v1"), endpoint.url("/"));
    let config = format!(
        "[tickets]\ntriage = {rules:?}\ntriage_strategy = \"llm\"\n[tickets.llm]\nurl = {url:?}\nallow = [{allow:?}]\n\
         model = \"small\"\napi_key = \"MARKER-llm-key\"\nretries = 0\n[services.embedding]\nenabled = false"
    );
    let launch = Launch::serve_with(folder.path(), &config).args(&["--log-level", "trace"]);
    let mut host = launch.ready().await;
    for _ in 0..3 {
        let ticket = json!({ "text": "mein Name ist PRIVATE, ahoy" });
        assert_eq!(host.post("/api/v1/triage", &ticket).await.0, 200);
    }
    assert_eq!(endpoint.received().len(), 3);
    host.signal(rustix::process::Signal::TERM);
    assert!(host.ended().await.success());
    let log = host.text();
    assert!(log.contains("\"TRACE\"") && log.contains("answered"), "everything is logged:\n{log}");
    for hidden in [SECRET, PRIVATE] {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(hidden)).collect();
        assert!(lines.is_empty(), "{hidden} was logged: {lines:#?}");
    }
}

/// A database that is down is waited for, and its URL kept back.
#[tokio::test]
async fn url_of_stopped_database_is_hidden() {
    let folder = TempDir::new().unwrap();
    let launch = Launch::serve_with(folder.path(), SITE).args(&["--log-level", "trace"]);
    let mut host = launch
        .env("CAPTCHA_HMAC_KEY", "MARKER-key-of-more-than-32-characters")
        .env("BULKHEAD_CAPTCHA__DATABASE", "postgres://user:MARKER@127.0.0.1:1/x")
        .ready()
        .await;
    host.line("the shared state is unreachable; this host keeps its own state").await;
    let away = "the ledger's PostgreSQL does not answer; until it does, captcha.on_ledger_failure decides what comes of calls, \
                which do not wait for it; check captcha.database";
    host.line(away).await;
    assert_eq!(host.status(&host.admin_url("/health/ready")).await, 503);
    host.signal(rustix::process::Signal::TERM);
    assert!(host.ended().await.success());
    assert!(!host.text().contains(SECRET), "{}", host.text());
}

/// Errors say where a secret stands and what is wrong, never what it is.
#[tokio::test]
async fn faulty_secrets_are_not_shown() {
    let folder = TempDir::new().unwrap();
    for (config, key) in [
        ("captcha.auth = \"api-key\"\ncaptcha.api_keys = [\"MARKER\"]", "captcha.api_keys"),
        ("captcha.hmac_key = { a = \"MARKER\" }", "captcha.hmac_key"),
        ("captcha.hmac_key = \"file:/nowhere/at/all\"", "captcha.hmac_key"),
        ("captcha.hmac_key = \"credential:hmac-key\"", "LoadCredential=hmac-key:PATH"),
        ("captcha.hmac_key = \"credential:../MARKER\"", "captcha.hmac_key"),
        ("captcha.sites.a.secret = [\"MARKER-1\", \"MARKER-2\", \"MARKER-3\"]", "captcha.sites.a.secret"),
        ("captcha.database = \"mysql://user:MARKER@127.0.0.1/x\"", "captcha.database"),
        ("captcha.hmac_key = \"MARKER", "line 1"),
    ] {
        let launch = Launch::serve_with(folder.path(), config).args(&["--log-level", "trace"]);
        let finished = launch.env("SPRING_DATASOURCE_PASSWORD", "MARKER").finish().await;
        assert_eq!(finished.status.code(), Some(1), "{config}");
        let text = finished.stdout + &finished.stderr;
        assert!(text.contains(key), "{config} gave {text}");
        assert!(!text.contains(SECRET), "{config} gave {text}");
    }
}

/// A secret that can be guessed is the operator's to change; no start and no upgrade fails by it.
#[tokio::test]
async fn a_short_site_secret_is_warned_about() {
    let folder = TempDir::new().unwrap();
    let short = SITE.replace("the secret of the shop", "shop-secret");
    let warning = "captcha.sites.shop.secret: has fewer than 16 characters";
    let host = Launch::serve_with(folder.path(), &short).ready().await;
    let log = host.stop().await;
    let warned = log.iter().filter(|line| line["level"] == "WARN");
    let warned = warned.filter(|line| line["message"].as_str().unwrap().contains(warning));
    assert_eq!(warned.count(), 1, "{log:?}");
    let file = folder.path().join("bulkhead.toml");
    let checked = Launch::bulkhead(&["config", "check", "--config", file.to_str().unwrap()]);
    let checked = checked.env("HOME", folder.path().to_str().unwrap()).finish().await;
    let said = format!("{}{}", checked.stdout, checked.stderr);
    assert!(checked.succeeded() && said.contains(warning) && !said.contains("shop-secret"), "{said}");
}

/// systemd hands the folder over in a variable; a file of the name in it is the secret.
#[tokio::test]
async fn credential_of_unit_is_read() {
    let folder = TempDir::new().unwrap();
    let credentials = folder.path().join("credentials");
    std::fs::create_dir(&credentials).unwrap();
    let config = SITE.replace("\"the secret of the shop\"", "\"credential:shop\"");
    std::fs::write(folder.path().join("bulkhead.toml"), &config).unwrap();
    let file = folder.path().join("bulkhead.toml");
    let check = || {
        Launch::bulkhead(&["config", "check", "--config", file.to_str().unwrap()])
            .env("HOME", folder.path().to_str().unwrap())
            .env("CREDENTIALS_DIRECTORY", credentials.to_str().unwrap())
    };
    let missing = check().finish().await;
    assert!(!missing.succeeded(), "{}", missing.stdout);
    for said in ["captcha.sites.shop.secret", "LoadCredential=shop:PATH"] {
        assert!(missing.stderr.contains(said), "{}", missing.stderr);
    }
    std::fs::write(credentials.join("shop"), "a secret of more than 16 characters\n").unwrap();
    let found = check().finish().await;
    assert!(found.succeeded(), "{}", found.stderr);
}
