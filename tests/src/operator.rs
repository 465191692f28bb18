//! An operator of a host under test.

use std::time::Duration;

use serde_json::{Value, json};

/// Tokens of tests by scope, with what the configuration needs of them.
pub const READ: &str = "bulkhead_a-token-that-may-read";
pub const DEPLOY: &str = "bulkhead_a-token-that-may-deploy";
pub const ADMIN: &str = "bulkhead_a-token-that-may-everything";

/// The configuration of the tokens above; operators are called as their scopes.
pub fn tokens() -> String {
    use sha2::{Digest as _, Sha256};
    let token = |scope: &str, token: &str| {
        let hash = hex::encode(Sha256::digest(token));
        format!("[admin.tokens.{scope}]\nscope = \"{scope}\"\nhash = \"sha256:{hash}\"\n")
    };
    [token("read", READ), token("deploy", DEPLOY), token("admin", ADMIN)].concat()
}

/// Longer than any push on a busy machine; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(300);

/// Asks a slot's API: the captcha slot's, unless another is named.
#[derive(Clone)]
pub struct Operator {
    client: reqwest::Client,
    admin: String,
    token: Option<String>,
    slot: &'static str,
}

impl Operator {
    /// `admin` is the base of the operators' listener.
    pub fn new(admin: &str, token: &str) -> Self {
        let (admin, token) = (admin.to_owned(), Some(token.to_owned()));
        let client = reqwest::Client::builder().timeout(PATIENCE).build().unwrap();
        Self { client, admin, token, slot: "captcha" }
    }

    /// The same for another slot.
    pub fn of(self, slot: &'static str) -> Self {
        Self { slot, ..self }
    }

    /// A URL below the slot.
    fn url(&self, path: &str) -> String {
        format!("{}/v1/slots/{}{path}", self.admin, self.slot)
    }

    /// One without a token.
    pub fn nobody(admin: &str) -> Self {
        Self { token: None, ..Self::new(admin, "") }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> reqwest::Result<(u16, Value)> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let answer = request.send().await?;
        Ok((answer.status().as_u16(), answer.json().await?))
    }

    /// A GET below the listener.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.send(self.client.get(format!("{}{path}", self.admin))).await.unwrap()
    }

    /// A POST below the slot; fails where the host goes away.
    pub async fn try_post(&self, path: &str, body: &Value) -> reqwest::Result<(u16, Value)> {
        self.send(self.client.post(self.url(path)).json(body)).await
    }

    /// A POST below the listener.
    pub async fn post_at(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send(self.client.post(format!("{}{path}", self.admin)).json(body)).await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.try_post(path, body).await.unwrap()
    }

    /// Pushes a component; status and answer.
    pub async fn try_push(&self, wasm: Vec<u8>) -> (u16, Value) {
        let url = self.url("/versions?source=test.wasm");
        let request = self.client.post(url).header("content-type", "application/wasm").body(wasm);
        self.send(request).await.unwrap()
    }

    /// The same with the text of a `.minisig` file.
    pub async fn try_push_signed(&self, wasm: Vec<u8>, signature: &str) -> (u16, Value) {
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        let url = self.url("/versions");
        let request = self.client.post(url).header("content-type", "application/wasm").body(wasm);
        self.send(request.header("x-minisign-signature", BASE64_STANDARD.encode(signature))).await.unwrap()
    }

    /// Starts a push that goes on after its request; status, the job's path, the answer.
    pub async fn start_push(&self, wasm: Vec<u8>) -> (u16, String, Value) {
        let url = format!("{}/v1/slots/captcha/versions?source=test.wasm", self.admin);
        let request = self.client.post(url).header("content-type", "application/wasm").body(wasm);
        let request = request.header("prefer", "respond-async").bearer_auth(self.token.as_ref().unwrap());
        let answer = request.send().await.unwrap();
        let path = answer.headers().get("location").map_or("", |path| path.to_str().unwrap()).to_owned();
        (answer.status().as_u16(), path, answer.json().await.unwrap())
    }

    /// Pushes a component that may answer; the version's id.
    pub async fn push(&self, wasm: Vec<u8>) -> String {
        let (status, version) = self.try_push(wasm).await;
        assert_eq!(status, 201, "{version}");
        version["id"].as_str().unwrap().to_owned()
    }

    /// What the slot does now.
    pub async fn slot(&self) -> Value {
        let (status, slot) = self.send(self.client.get(self.url(""))).await.unwrap();
        assert_eq!(status, 200, "{slot}");
        slot
    }

    pub async fn generation(&self) -> u64 {
        self.slot().await["generation"].as_u64().unwrap()
    }

    /// Makes a change in whatever generation there is; the slot as it is then.
    pub async fn change(&self, what: &str, mut body: Value) -> Value {
        body["generation"] = self.generation().await.into();
        let (status, slot) = self.post(&format!("/{what}"), &body).await;
        assert_eq!(status, 200, "{slot}");
        slot
    }

    pub async fn swap(&self, version: &str) -> Value {
        self.change("swap", json!({ "version": version, "reason": "test" })).await
    }

    /// Where a version stands.
    pub async fn stage(&self, version: &str) -> String {
        let (_, history) = self.send(self.client.get(self.url("/history"))).await.unwrap();
        let versions = history["versions"].as_array().unwrap();
        let version = versions.iter().find(|known| known["id"] == version);
        let moves = version.unwrap_or_else(|| panic!("{history}"))["moves"].as_array().unwrap();
        moves.last().unwrap()["stage"].as_str().unwrap().to_owned()
    }
}
