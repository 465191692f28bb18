//! The captcha service over HTTP: the contract of captchaservice 2.x, the widget's endpoints,
//! `siteverify`, and what a hostile client sends.

mod abuse;
mod access;
mod contract;
mod denied;
mod operations;
mod signature;
mod siteverify;
pub(crate) mod solver;
mod widget;
mod widget_files;

use bulkhead_tests::TestHost;
use reqwest::{RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};

/// `compat` is as captchaservice is, `web` is for widgets, `narrow` is for two calls a minute.
const CONFIG: &str = r#"
    [captcha]
    hmac_key = "a master key for the test suite only"

    [captcha.sites.compat]
    secret = "compat-secret-caf\u00e9"
    compat = true
    difficulty_map = [{ min_visits = 1, cost = 1 }, { min_visits = 3, cost = 2 }]
    whitelisted_source_addresses = ["10.0.0.0/8"]

    [captcha.sites.web]
    secret = ["web-secret-old", "web-secret-new"]
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    allowed_origins = ["https://www.example.org"]
    widget_calls_per_minute = 1000

    [captcha.sites.narrow]
    secret = "narrow-secret"
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    allowed_origins = ["https://narrow.example.org"]
    widget_calls_per_minute = 2
"#;

const COMPAT_SECRET: &str = "compat-secret-caf\u{e9}";

/// A host that serves the sites of [`CONFIG`].
struct Captcha(TestHost);

impl Captcha {
    async fn start() -> Self {
        Self(TestHost::builder().config(CONFIG).start().await)
    }

    fn url(&self, path: &str) -> String {
        self.0.url(&format!("/api/v1/captcha{path}"))
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.0.client().get(self.url(path))
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.0.client().post(self.url(path))
    }

    /// Posts JSON; status and body.
    async fn call(&self, path: &str, body: &Value) -> (u16, Value) {
        read(self.post(path).json(body)).await
    }

    /// A challenge of the site `compat`, solved.
    async fn solved(&self) -> Value {
        let (status, body) = self.call("/challenge", &envelope(json!({}))).await;
        assert_eq!(status, 200, "{body}");
        solver::solve(&body["challenge"])
    }

    /// A challenge from the widget's endpoint, solved, as the widget would post it.
    async fn solved_by_widget(&self, site: &str) -> Value {
        let path = format!("/widget/challenge?siteKey={site}");
        let (status, challenge) = read(self.get(&path)).await;
        assert_eq!(status, 200, "{challenge}");
        json!({ "payload": solver::encode(&solver::solve(&challenge)) })
    }

    async fn stop(self) {
        self.0.stop().await;
    }
}

/// The site `compat`'s envelope, with members changed or, where null, left out.
fn envelope(changes: Value) -> Value {
    let mut body = json!({
        "siteKey": "compat", "siteSecret": COMPAT_SECRET, "clientAddress": "192.0.2.7",
    });
    let members = body.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(members.remove(name)),
            value => drop(members.insert(name.clone(), value.clone())),
        }
    }
    body
}

/// Sends a request; its answer must be JSON and must not be cached.
async fn read(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    assert_headers(&response);
    let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    if !status.is_success() {
        assert_error_shape(status, &body);
    }
    (status.as_u16(), body)
}

fn assert_headers(response: &Response) {
    let headers = response.headers();
    assert_eq!(headers[header::CACHE_CONTROL], "no-cache, no-store, must-revalidate");
    assert_eq!(headers[header::CONTENT_TYPE], "application/json");
}

fn assert_error_shape(status: StatusCode, body: &Value) {
    let names: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(names, ["code", "error", "message", "path", "status", "timestamp"], "{body}");
    assert_eq!(body["status"], status.as_u16());
    assert_eq!(body["error"], status.canonical_reason().unwrap());
    assert!(body["path"].as_str().unwrap().starts_with("/api/v1/captcha"), "{body}");
    let timestamp = body["timestamp"].as_str().unwrap();
    assert!(timestamp.len() == 24 && timestamp.ends_with('Z'), "{timestamp}");
    for word in ["panic", "wasm", "src/", ".rs", "secret-"] {
        assert!(!body["message"].as_str().unwrap().contains(word), "{body}");
    }
}

#[tokio::test]
async fn usual_calls_grow_no_memory() {
    // What an instance has from its start: the stack, the first region of its allocator and a page of data.
    const FROM_START: usize = (1 << 20) + (128 << 10) + (64 << 10);
    // The least that its allocator grows the memory by.
    const GROWTH: usize = 512 << 10;
    let captcha = Captcha::start().await;
    let body = envelope(json!({ "payload": captcha.solved().await }));
    assert_eq!(captcha.call("/verify", &body).await, (200, json!({ "valid": true })));
    let used = captcha.0.metric("bulkhead_memory_high_water_bytes{slot=\"captcha\"}").await as usize;
    assert!((FROM_START..FROM_START + GROWTH).contains(&used), "{used} bytes");
    captcha.stop().await;
}
