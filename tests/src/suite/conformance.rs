//! What captchaservice 2.x's own suite asserts, fact by fact and over HTTP, and what it leaves out.
//!
//! | facts of the contract's section 8 | module |
//! | --- | --- |
//! | 1, 4 to 7, 14, 15, 20, Unicode NFC of secrets | `java_facts` |
//! | 2, 3, 17 to 19, mapped IPv6, allow-list with masks | `addresses` |
//! | 8 to 13, Prometheus output | `metrics`, `prometheus` |
//! | 16, expired challenge | `expiry` |
//! | health, readiness | `actuator`, `outage` |
//! | secured profile | `auth` |
//! | a time of day that jumps | `clocks` |
//! | real solve, missed prefix, tampered parameters, wrong key, null-member echo | `interop`, `algorithms` |
//! | concurrent replay, more than one verification, cross-site use | `limits`, `postgres` |

mod actuator;
mod addresses;
mod algorithms;
mod altcha;
mod auth;
mod auto;
mod clocks;
mod expiry;
mod exposure;
mod interop;
mod java_facts;
mod limits;
mod metrics;
mod outage;
mod postgres;
mod prometheus;
mod rotation;

use std::{path::Path, time::Duration};

use bulkhead::clock::{ClockControl, HostClock};
use bulkhead_tests::TestHost;
use reqwest::{StatusCode, header};
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

/// The configuration of captchaservice's own suite, but for its challenges' life of 5 seconds, which a
/// busy machine may take to solve one.
const JAVA: &str = r#"
    [captcha]
    hmac_key = "secret"
    [captcha.sites.test_site]
    secret = "test_secret"
    compat = true
    source_address_ipv6_net_size = 64
    whitelisted_source_addresses = ["10.0.0.0/8"]
    difficulty_map = [
        { min_visits = 1, cost = 1000 }, { min_visits = 3, cost = 2000 }, { min_visits = 4, cost = 3000 },
    ]
"#;

/// A client that is on no list.
const CLIENT: &str = "1.2.3.4";

/// The site of [`JAVA`].
const SITE: &str = "test_site";

/// A host that serves captcha. The secret of a site called `x` or `x_site` is `x_secret`.
struct Service(TestHost);

impl Service {
    async fn start(config: &str) -> Self {
        Self(TestHost::builder().config(config).start().await)
    }

    /// A service whose clock can be moved.
    async fn start_movable(config: &str) -> (Self, ClockControl) {
        let (clock, hands) = HostClock::movable();
        (Self(TestHost::builder().config(config).clock(clock).start().await), hands)
    }

    /// Goes on in the folder of a service that has stopped.
    async fn resume(config: &str, folder: TempDir) -> Self {
        Self(TestHost::builder().config(config).folder(folder).start().await)
    }

    /// Posts JSON to an endpoint of the service; status and body.
    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let url = self.0.url(&format!("/api/v1/captcha{path}"));
        let response = self.0.client().post(url).json(body).send().await.unwrap();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Asks for a challenge for the client at `address`.
    async fn challenge(&self, site: &str, address: &str) -> Value {
        let (status, body) = self.post("/challenge", &envelope(site, address)).await;
        assert_eq!(status, 200, "{body}");
        body["challenge"].clone()
    }

    /// What the next challenge of the client at `address` costs.
    async fn cost(&self, site: &str, address: &str) -> u64 {
        self.challenge(site, address).await["parameters"]["cost"].as_u64().unwrap()
    }

    /// A solved challenge.
    async fn solved(&self, site: &str, address: &str) -> Value {
        altcha::solve(&self.challenge(site, address).await)
    }

    /// Hands a payload in for [`CLIENT`]: the answer, which has status 200.
    async fn verify(&self, site: &str, payload: &Value) -> Value {
        let (status, body) = self.post("/verify", &with_payload(envelope(site, CLIENT), payload)).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    async fn get(&self, path: &str, accept: &str) -> Answer {
        Answer::of(self.0.client().get(self.0.url(path)).header(header::ACCEPT, accept)).await
    }

    /// Why a check is degraded, if it is, of a host that is ready.
    async fn degraded(&self, check: &str) -> Option<String> {
        let answer = self.0.client().get(self.0.admin_url("/health/ready")).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let ready: Value = answer.json().await.unwrap();
        let degraded = ready["degraded"].as_array()?;
        let found = degraded.iter().find(|degraded| degraded["check"] == check)?;
        Some(found["reason"].as_str().unwrap().to_owned())
    }

    /// A meter, as `captcha.events` with its query.
    async fn meter(&self, name: &str) -> Value {
        self.get(&format!("/actuator/metrics/{name}"), "*/*").await.json()
    }

    /// A statistic of a meter.
    async fn statistic(&self, name: &str, statistic: &str) -> f64 {
        let meter = self.meter(name).await;
        let measured = meter["measurements"].as_array().unwrap();
        let found = measured.iter().find(|measured| measured["statistic"] == statistic);
        found.unwrap_or_else(|| panic!("{statistic} in {meter}"))["value"].as_f64().unwrap()
    }

    async fn stop(self) -> TempDir {
        self.0.stop().await
    }
}

/// An answer, read.
struct Answer {
    status: StatusCode,
    headers: header::HeaderMap,
    text: String,
}

impl Answer {
    async fn of(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        Self { status, headers, text: response.text().await.unwrap() }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}: {}", self.status, self.text))
    }

    /// The media type without the blanks that it may have between its parameters.
    fn content_type(&self) -> String {
        self.headers.get(header::CONTENT_TYPE).map_or("", |value| value.to_str().unwrap()).replace(' ', "")
    }
}

fn secret(site: &str) -> String {
    format!("{}_secret", site.trim_end_matches("_site"))
}

fn envelope(site: &str, address: &str) -> Value {
    json!({ "siteKey": site, "siteSecret": secret(site), "clientAddress": address })
}

fn with_payload(mut envelope: Value, payload: &Value) -> Value {
    envelope["payload"] = payload.clone();
    envelope
}

fn refused(reason: &str) -> Value {
    json!({ "valid": false, "reason": reason })
}

fn valid() -> Value {
    json!({ "valid": true })
}

/// The embedded ledger in a host's folder.
async fn ledger(folder: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(folder.join("data").join("captcha.sqlite"));
    SqliteConnection::connect_with(&options.busy_timeout(Duration::from_secs(10))).await.unwrap()
}

/// A column of a ledger that its host has closed.
async fn column(folder: &TempDir, query: &'static str) -> Vec<String> {
    let mut ledger = ledger(folder.path()).await;
    sqlx::query_scalar(query).fetch_all(&mut ledger).await.unwrap()
}

/// Hashes of the clients that asked for challenges, sorted.
async fn client_hashes(folder: &TempDir) -> Vec<String> {
    column(folder, "SELECT source_address_hash FROM captcha_request ORDER BY 1").await
}

/// Asks until `holds`, a minute at most: for what a host finds out by and by.
async fn within_a_minute(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not within a minute: {what}");
}

/// Why a host does not start with this configuration.
async fn refusal(config: &str) -> String {
    match TestHost::builder().config(config).try_start().await {
        Ok(_) => panic!("the host starts with {config}"),
        Err(reason) => reason,
    }
}
