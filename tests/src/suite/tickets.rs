//! The ticket service over HTTP, with a toy model and a head made by hand.

pub mod answer;
mod commands;
mod errors;
mod knowledge_postgres;
mod llm;
mod retrieval;
mod triage;

use std::path::Path;

use bulkhead_inference::{
    head::{Coefficients, Head, Link, Record},
    model::{LoadOptions, Model},
};
use bulkhead_tests::{TestHost, models::ToyModel, servers::llm::FakeLlm};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The key of the language model's endpoint.
const LLM_KEY: &str = "sk-key-that-nobody-else-sees";

/// `[tickets.llm]` for an endpoint; `more` goes below.
fn llm_settings(endpoint: &FakeLlm, more: &str) -> String {
    let (url, allow) = (endpoint.url("/v1"), endpoint.url("/"));
    format!(
        "[tickets.llm]\nurl = {url:?}\nallow = [{allow:?}]\nmodel = \"small\"\napi_key = {LLM_KEY:?}\n{more}\n"
    )
}

/// Two categories, each recognised by one word of the toy vocabulary, and one for the rest.
pub const RULES: &str = r#"
    no_category_name = "other"
    no_action_name = "clerk"
    no_action_internal_note = "{category}: {reason}"

    [[categories]]
    name = "other"

    [[categories]]
    name = "harbour"
    auto_publish = true
    examples = ["ahoy mate, fair wind to the port"]

    [[categories]]
    name = "greeting"
    examples = ["hello world, good day"]

    [[actions]]
    name = "clerk"
    description = "a clerk reads it"
    type = "NoAction"

    [[actions]]
    name = "answer"
    description = "answered from the knowledge base"
    type = "AIAnswer"

    [[actions]]
    name = "fees"
    description = "the fees are told"
    type = "StaticAnswer"
    answer = "Mooring costs 12 EUR a night."

    [[action_rules]]
    category_name = "harbour"
    action_name = "fees"

    [[action_rules]]
    category_name = "greeting"
    action_name = "answer"
"#;

/// A word's vector is `[id, scale, -id, 0.5]`: the greater the mean id, the surer it is the harbour.
fn head(model: &Path) -> Head {
    let about = Model::load(model, &LoadOptions::default()).unwrap().description().clone();
    let record = Record {
        model_id: "toy".to_owned(),
        weights_sha256: about.weights_sha256,
        dtype: about.dtype,
        prompt: None,
        dims: 4,
        labels: ["harbour", "greeting"].map(str::to_owned).into(),
        link: Link::Softmax,
        sparse: None,
    };
    let coefficients = Coefficients {
        weights: vec![1.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0],
        bias: vec![0.0; 2],
        scale: vec![1.0; 2],
        shift: vec![0.0; 2],
        ..Coefficients::default()
    };
    Head::new(record, coefficients).unwrap()
}

struct Service {
    host: TestHost,
    _folder: TempDir,
}

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
}

/// The configuration of a host with all parts; `tickets` goes below `[tickets]`.
fn configured(folder: &Path, rules: &str, tickets: &str) -> String {
    let model = ToyModel { normalize: Some(false), ..ToyModel::default() }.write(folder, "toy");
    let (rules_file, head_file) = (folder.join("rules.toml"), folder.join("head.safetensors"));
    std::fs::write(&rules_file, rules).unwrap();
    head(&model).write(&head_file).unwrap();
    format!(
        "[embedding]\nmodels = [{model:?}]\nheads = {{ triage = {head_file:?} }}\n[tickets]\ntriage = {rules_file:?}\n{tickets}"
    )
}

impl Service {
    async fn start(tickets: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let config = configured(folder.path(), RULES, tickets);
        Self { host: TestHost::builder().config(&config).start().await, _folder: folder }
    }

    async fn with(config: &str) -> Self {
        Self { host: TestHost::builder().config(config).start().await, _folder: TempDir::new().unwrap() }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, text: response.text().await.unwrap() }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(self.host.client().get(self.host.url(path))).await
    }

    async fn triage(&self, body: &Value) -> Answer {
        self.send(self.host.client().post(self.host.url("/api/v1/triage")).json(body)).await
    }

    /// The decision on a text.
    async fn decision(&self, text: &str) -> Value {
        let answer = self.triage(&json!({ "text": text })).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["triage"].clone()
    }

    async fn stop(self) {
        self.host.stop().await;
    }
}
