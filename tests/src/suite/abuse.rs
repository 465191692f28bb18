//! HTTP abuse beyond the captcha service's own bodies: the right status, JSON wherever a request was
//! understood, nothing leaked, nothing of a client's in the metrics, and everything back at rest.

mod bodies;
mod framing;
mod heads;
mod http2;
mod patience;
mod proxies;
mod raw;
mod targets;

use bulkhead_tests::{TestHost, host::eventually};
use serde_json::{Value, json};

/// What hostile requests carry where it must turn up nowhere else.
const MARKER: &str = "swordfish";

const CONFIG: &str = r#"
    [captcha.sites.shop]
    secret = "shop-secret"
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    widget_calls_per_minute = 1000
"#;

/// Every template that the listener serves.
const ROUTES: [&str; 22] = [
    "/",
    "UNKNOWN",
    "/actuator",
    "/actuator/",
    "/actuator/health",
    "/actuator/health/{component}",
    "/actuator/{*path}",
    "/api/v1/answer",
    "/api/v1/triage",
    "/api/v1/{*rest}",
    "/api/v1/captcha",
    "/api/v1/captcha/",
    "/api/v1/captcha/challenge",
    "/api/v1/captcha/invalidate",
    "/api/v1/captcha/siteverify",
    "/api/v1/captcha/verify",
    "/api/v1/captcha/widget/challenge",
    "/api/v1/captcha/widget/verify",
    "/api/v1/captcha/{*rest}",
    "/actuator/metrics/{name}",
    "/embed",
    "/terminvereinbarung/api/2/status/",
];

/// A host that is to be abused.
struct Victim(TestHost);

impl Victim {
    async fn start() -> Self {
        Self::with("").await
    }

    /// With lines at the top of the configuration.
    async fn with(config: &str) -> Self {
        Self(TestHost::builder().config(config).config(CONFIG).start().await)
    }

    /// A request that deserves its answer has it.
    async fn assert_serves(&self) {
        let body = json!({"siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.1"});
        let request = self.0.client().post(self.0.url("/api/v1/captcha/challenge")).json(&body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let body: Value = answer.json().await.unwrap();
        assert!(body["challenge"]["signature"].is_string(), "{body}");
    }

    async fn faults(&self, kind: &str) -> f64 {
        self.0.metric(&format!("bulkhead_connection_errors_total{{kind=\"{kind}\"}}")).await
    }

    /// Waits until so many connections have ended with a fault: one is counted when it is closed on both sides.
    async fn assert_faults(&self, kind: &str, count: usize) {
        eventually("the faults are counted", async || self.faults(kind).await == count as f64).await;
    }

    /// Waits until no request is in progress.
    async fn assert_idle(&self) {
        eventually("no request is in progress", async || {
            self.0.metrics().await["http_server_requests_active_seconds_count"] == 0.0
        })
        .await;
    }

    async fn assert_labels_are_templates(&self) {
        let mut seen = 0;
        for sample in self.0.metrics().await.keys() {
            assert!(!sample.to_lowercase().contains(MARKER), "{sample}");
            for label in ["route", "uri"] {
                let Some(rest) = sample.split_once(&format!("{label}=\"")).map(|(_, rest)| rest) else {
                    continue;
                };
                let route = rest.split('"').next().unwrap();
                assert!(ROUTES.contains(&route), "{route} is not a template of ours: {sample}");
                seen += 1;
            }
        }
        assert!(seen > 0, "requests are counted");
    }

    /// Serves on, counts by templates only, and lets go of everything.
    async fn finish(self) {
        self.assert_serves().await;
        self.assert_labels_are_templates().await;
        self.assert_idle().await;
        // Connections that the test's own client keeps open are not the victim's fault.
        let Self(host) = self;
        host.stop().await;
    }
}

/// No answer tells of the inside, or gives back what was smuggled in.
fn assert_tells_nothing(text: &str) {
    let lower = text.to_lowercase();
    for word in ["panic", "wasm", ".rs", "src/", "hyper", "axum", "serde", "backtrace", "0x", "/tmp", MARKER]
    {
        assert!(!lower.contains(word), "{word} is told: {text}");
    }
}
