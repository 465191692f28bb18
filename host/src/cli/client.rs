//! The host's API for operators, from outside.

use std::{env, fs, path::PathBuf, time::Duration};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use reqwest::{
    Method, RequestBuilder, StatusCode,
    header::{HeaderMap, HeaderValue},
};
use serde_json::Value;
use url::Url;

use super::exit::{Exit, Misuse};

/// Holds the token: an argument could be seen in the list of processes.
pub(super) const TOKEN_VARIABLE: &str = "BULKHEAD_ADMIN_TOKEN";
/// Names the host.
pub(super) const URL_VARIABLE: &str = "BULKHEAD_ADMIN_URL";
/// Names the token's file.
pub(super) const TOKEN_FILE_VARIABLE: &str = "BULKHEAD_ADMIN_TOKEN_FILE";

/// The host's word for that the database which it shares with others does not answer.
const STATE_UNREACHABLE: &str = "state-unreachable";

/// The host's word for that a version answers already.
const ANSWERING: &str = "answering";

/// Where a host's operators' listener is when nothing else is configured.
const DEFAULT_URL: &str = "http://127.0.0.1:9901";

/// Longer than the largest component takes to arrive and compile.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
/// Longer than any network takes to say that nobody is there.
const CONNECT: Duration = Duration::from_secs(10);

/// Which host, and who asks.
#[derive(Debug, clap::Args)]
pub(super) struct Remote {
    /// The operators' listener of the host [default: http://127.0.0.1:9901].
    #[arg(long, value_name = "URL", env = URL_VARIABLE)]
    url: Option<String>,
    /// File with the token; without it, the variable `BULKHEAD_ADMIN_TOKEN` holds the token.
    #[arg(long, value_name = "FILE", env = TOKEN_FILE_VARIABLE)]
    token_file: Option<PathBuf>,
    /// Certificate (PEM file) that vouches for the host, beside those that the system knows.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Print JSON.
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
        /// The host's word for programs.
        code: String,
        /// The host's own words.
        message: String,
    },
}

impl Failure {
    /// An error by its JSON, which has its status where it is a job's.
    pub(super) fn described(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let status =
            error.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        let message = text("message").unwrap_or_else(|| "the host gives no reason".to_owned());
        let code = text("error").unwrap_or_default();
        Self::Refused { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), code, message }
    }

    /// Whether an error says that a version answers already.
    pub(super) fn is_answering(error: &anyhow::Error) -> bool {
        matches!(error.downcast_ref(), Some(Self::Refused { code, .. }) if code == ANSWERING)
    }

    fn of_status(self, status: StatusCode) -> Self {
        match self {
            Self::Refused { code, message, .. } => Self::Refused { status, code, message },
            unreachable @ Self::Unreachable { .. } => unreachable,
        }
    }

    /// How the command ends.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Unreachable { .. } => Exit::NoAnswer,
            Self::Refused { status, code, .. } => match status.as_u16() {
                422 => Exit::Refused,
                409 => Exit::Overtaken,
                401 | 403 | 429 => Exit::NotAllowed,
                503 if code == STATE_UNREACHABLE => Exit::StateUnreachable,
                _ => Exit::Failed,
            },
        }
    }
}

impl Remote {
    /// Asks the host at `url` where none is named.
    pub(super) fn or_at(self, url: String) -> Self {
        Self { url: self.url.or(Some(url)), ..self }
    }

    /// Where the host is.
    pub(super) fn url(&self) -> &str {
        self.url.as_deref().unwrap_or(DEFAULT_URL)
    }

    /// Whether a host answers; it is asked for nothing that needs a token.
    pub(super) fn is_there(&self) -> anyhow::Result<bool> {
        let request = self.client()?.request(Method::GET, format!("{}/health/live", self.base()?));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(self.answer(request)).is_ok())
    }

    /// The answer to a GET.
    pub(super) fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, path, |request| request)
    }

    /// The answer to a POST with JSON.
    pub(super) fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(Method::POST, path, |request| request.json(body))
    }

    /// The answer to a POST that may be a job, and its status.
    pub(super) fn start(
        &self,
        path: &str,
        query: &[(&str, &str)],
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> anyhow::Result<(StatusCode, Value)> {
        let query: String = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let path = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let answer =
            self.send(Method::POST, &path, |request| with(request.header("prefer", "respond-async")))?;
        Ok((answer.status, self.value(&answer)?))
    }

    /// The same with a component, where it comes from, and the text of its `.minisig` file.
    pub(super) fn upload(
        &self,
        path: &str,
        source: &str,
        wasm: Vec<u8>,
        signature: Option<&str>,
    ) -> anyhow::Result<(StatusCode, Value)> {
        self.start(path, &[("source", source)], |request| {
            let request = match signature {
                Some(text) => request.header("x-minisign-signature", BASE64_STANDARD.encode(text)),
                None => request,
            };
            request.header("content-type", "application/wasm").body(wasm)
        })
    }

    /// The fields and the bytes of a GET's answer.
    pub(super) fn download(&self, path: &str) -> anyhow::Result<(HeaderMap, Bytes)> {
        let answer = self.send(Method::GET, path, |request| request)?;
        Ok((answer.headers, answer.body))
    }

    fn token(&self) -> anyhow::Result<String> {
        let token = match &self.token_file {
            Some(file) => {
                fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
            }
            None => env::var(TOKEN_VARIABLE).map_err(|_| {
                Misuse(format!(
                    "no token: give --token-file or set {TOKEN_VARIABLE}; `bulkhead admin token` makes one"
                ))
            })?,
        };
        let token = token.trim();
        // No header could carry it.
        if token.is_empty() || HeaderValue::try_from(token).is_err() {
            return Err(Misuse(format!(
                "the token is empty or has a line break in it; give in --token-file or {TOKEN_VARIABLE} what `bulkhead \
                 admin token` has printed, and nothing else"
            ))
            .into());
        }
        Ok(token.to_owned())
    }

    /// Where the host listens, without a slash at the end.
    fn base(&self) -> Result<&str, Misuse> {
        let is_bare = |url: &Url| {
            let user = !url.username().is_empty() || url.password().is_some();
            url.has_host() && !user && url.query().is_none() && url.fragment().is_none()
        };
        let url = Url::parse(self.url()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        match url.filter(is_bare) {
            Some(_) => Ok(self.url().trim().trim_end_matches('/')),
            // Not told back: it may hold a password.
            None => Err(Misuse(format!(
                "--url or {URL_VARIABLE} must be a URL such as http://127.0.0.1:9901, without a user, a query and a \
                 fragment"
            ))),
        }
    }

    fn ask(
        &self,
        method: Method,
        path: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> anyhow::Result<Value> {
        self.value(&self.send(method, path, with)?)
    }

    /// An answer that is no error.
    fn send(
        &self,
        method: Method,
        path: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> anyhow::Result<Answer> {
        let url = format!("{}{path}", self.base()?);
        let token = self.token()?;
        let request = with(self.client()?.request(method, url)).bearer_auth(token);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let answer = runtime.block_on(self.answer(request))?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let failure = Failure::described(&self.value(&answer)?);
        Err(failure.of_status(answer.status).into())
    }

    fn client(&self) -> anyhow::Result<reqwest::Client> {
        let mut client = reqwest::Client::builder().timeout(PATIENCE).connect_timeout(CONNECT).no_proxy();
        if let Some(file) = &self.ca {
            let pem = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            client = client.add_root_certificate(reqwest::Certificate::from_pem(&pem)?);
        }
        // A token follows nobody elsewhere.
        Ok(client.redirect(reqwest::redirect::Policy::none()).build()?)
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Answer, Failure> {
        let unreachable = |error: reqwest::Error| {
            let cause = anyhow::Error::from(error.without_url()).root_cause().to_string();
            self.unreachable(cause)
        };
        let answer = request.send().await.map_err(unreachable)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        Ok(Answer { status, headers, body: answer.bytes().await.map_err(unreachable)? })
    }

    /// An answer's JSON. What gives other text is no host.
    fn value(&self, answer: &Answer) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&answer.body).map_err(|error| self.unreachable(error.to_string()))?)
    }

    fn unreachable(&self, cause: String) -> Failure {
        Failure::Unreachable { url: self.url().to_owned(), cause }
    }
}

/// What a host answers.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}
