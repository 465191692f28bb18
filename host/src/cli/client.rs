//! The host's API for operators, from outside.

use std::{env, fs, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;

/// Holds the token: an argument could be seen in the list of processes.
pub(super) const TOKEN_VARIABLE: &str = "BULKHEAD_ADMIN_TOKEN";
/// Names the host.
pub(super) const URL_VARIABLE: &str = "BULKHEAD_ADMIN_URL";
/// Names the token's file.
pub(super) const TOKEN_FILE_VARIABLE: &str = "BULKHEAD_ADMIN_TOKEN_FILE";

/// Longer than the largest component takes to arrive and compile.
const PATIENCE: Duration = Duration::from_secs(600);
/// Longer than any network takes to say that nobody is there.
const CONNECT: Duration = Duration::from_secs(10);

/// Which host, and who asks.
#[derive(Debug, clap::Args)]
pub(super) struct Remote {
    /// The operators' listener of the host.
    #[arg(long, value_name = "URL", env = URL_VARIABLE, default_value = "http://127.0.0.1:9901")]
    url: String,
    /// File with the token; without it, the variable `BULKHEAD_ADMIN_TOKEN` holds the token.
    #[arg(long, value_name = "FILE", env = TOKEN_FILE_VARIABLE)]
    token_file: Option<PathBuf>,
    /// Certificate (PEM file) that vouches for the host, beside those that the system knows.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Print the host's answer as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Why the host did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// No answer.
    #[error("no answer from {url}: {cause}; see that the host runs, and give --url or {URL_VARIABLE}")]
    Unreachable {
        /// Whom it was asked of.
        url: String,
        /// The innermost cause.
        cause: String,
    },
    /// An answer that is an error.
    #[error("{message}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The host's own words.
        message: String,
    },
}

impl Failure {
    /// 3: the component may not answer, or not under this configuration; 4: another generation, or no state for this; 5:
    /// not allowed; 6: no answer; 1: anything else.
    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Unreachable { .. } => ExitCode::from(6),
            Self::Refused { status, .. } => match status.as_u16() {
                422 => ExitCode::from(3),
                409 => ExitCode::from(4),
                401 | 403 | 429 => ExitCode::from(5),
                _ => ExitCode::FAILURE,
            },
        }
    }
}

impl Remote {
    /// The answer to a GET.
    pub(super) fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, path, |request| request)
    }

    /// The answer to a POST with JSON.
    pub(super) fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(Method::POST, path, |request| request.json(body))
    }

    /// The answer to a POST with a component, where it comes from, and the text of its `.minisig` file.
    pub(super) fn upload(
        &self,
        path: &str,
        source: &str,
        wasm: Vec<u8>,
        signature: Option<&str>,
    ) -> anyhow::Result<Value> {
        let query: String =
            form_urlencoded::Serializer::new(String::new()).append_pair("source", source).finish();
        self.ask(Method::POST, &format!("{path}?{query}"), |request| {
            let request = match signature {
                Some(text) => request.header("x-minisign-signature", BASE64_STANDARD.encode(text)),
                None => request,
            };
            request.header("content-type", "application/wasm").body(wasm)
        })
    }

    fn token(&self) -> anyhow::Result<String> {
        let token = match &self.token_file {
            Some(file) => {
                fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
            }
            None => env::var(TOKEN_VARIABLE).map_err(|_| {
                anyhow::anyhow!(
                    "no token: give --token-file or set {TOKEN_VARIABLE}; `bulkhead admin token` makes one"
                )
            })?,
        };
        Ok(token.trim().to_owned())
    }

    fn ask(
        &self,
        method: Method,
        path: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> anyhow::Result<Value> {
        let token = self.token()?;
        let mut client = reqwest::Client::builder().timeout(PATIENCE).connect_timeout(CONNECT).no_proxy();
        if let Some(file) = &self.ca {
            let pem = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            client = client.add_root_certificate(reqwest::Certificate::from_pem(&pem)?);
        }
        // A token follows nobody elsewhere.
        let client = client.redirect(reqwest::redirect::Policy::none()).build()?;
        let url = format!("{}{path}", self.url.trim_end_matches('/'));
        let request = with(client.request(method, url)).bearer_auth(token);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(self.answer(request))?)
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let unreachable = |error: reqwest::Error| {
            let cause = anyhow::Error::from(error.without_url()).root_cause().to_string();
            Failure::Unreachable { url: self.url.clone(), cause }
        };
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let body: Value = answer.json().await.map_err(unreachable)?;
        if status.is_success() {
            return Ok(body);
        }
        let said = body.get("message").and_then(Value::as_str).unwrap_or("the host gives no reason");
        Err(Failure::Refused { status, message: said.to_owned() })
    }
}
