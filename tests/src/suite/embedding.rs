//! The embedding service over HTTP, with models made by hand.

mod access;
mod clients;
mod errors;
mod fairness;
mod load;
mod models;
mod openai;
mod operations;
mod parity;
mod probe;
mod published;
mod rerank;
mod tei;
mod variables;

use bulkhead_tests::{TestHost, models::ToyModel};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host with toy models: `first` (the default), and `second` with another table.
struct Service {
    host: TestHost,
    _models: TempDir,
}

/// An answer: status, headers, body.
struct Answer {
    status: u16,
    headers: reqwest::header::HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{} {}", self.status, self.text))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// An error in the shape of its route: OpenAI's, that of all other routes, or the host's where there is no route.
    fn assert_error(&self, status: u16, code: &str) -> String {
        let body = self.json();
        let (found, message) = match &body["error"] {
            Value::Object(error) => {
                assert_eq!(members(&body), ["error"], "{body}");
                assert_eq!(members(&body["error"]), ["code", "message", "param", "type"], "{body}");
                (&error["code"], &error["message"])
            }
            code if body.get("errors").is_some() => {
                assert_eq!(members(&body), ["error", "error_type", "errors", "message"], "{body}");
                assert_eq!(body["errors"], json!([{ "message": body["message"] }]), "{body}");
                (code, &body["message"])
            }
            code => {
                assert_eq!(members(&body), ["error", "message"], "{body}");
                (code, &body["message"])
            }
        };
        assert_eq!((self.status, found.as_str()), (status, Some(code)), "{body}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert!(self.header("x-request-id").is_some());
        message.as_str().unwrap().to_owned()
    }
}

/// The names of an object's members, sorted.
fn members(value: &Value) -> Vec<String> {
    let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    names.sort();
    names
}

const FIRST: ToyModel = ToyModel { scale: 1.0, normalize: Some(false), prompts: Value::Null };

fn second() -> ToyModel {
    ToyModel { scale: 2.0, prompts: json!({ "query": "ahoy ", "passage": "mate " }), ..ToyModel::default() }
}

impl Service {
    /// With `config` below `[embedding]` and both models.
    async fn start(config: &str) -> Self {
        let models = TempDir::new().unwrap();
        let first = ToyModel { prompts: json!({}), ..FIRST }.write(models.path(), "first");
        let second = second().write(models.path(), "second");
        let text = format!("[embedding]\nmodels = [{first:?}, {second:?}]\n{config}");
        let host = TestHost::builder().config(&text).start().await;
        Self { host, _models: models }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, text: response.text().await.unwrap() }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(self.host.client().get(self.host.url(path))).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.host.client().post(self.host.url(path)).json(body)).await
    }

    /// Posts a text as JSON, whatever it is.
    async fn post_text(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.host.client().post(self.host.url(path));
        self.send(request.header("content-type", "application/json").body(body)).await
    }

    /// Waits until a series of the service's own metrics is as it should be.
    async fn wait_for(&self, series: &str, is_right: impl Fn(f64) -> bool) {
        for _ in 0..3000 {
            let text = self.get("/metrics").await.text;
            let value = text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
            if value.is_some_and(&is_right) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("{series} does not become what it should");
    }

    async fn stop(self) {
        self.host.stop().await;
    }
}

/// The numbers of a vector, as f32.
fn vector(value: &Value) -> Vec<f32> {
    serde_json::from_value(value.clone()).unwrap()
}
