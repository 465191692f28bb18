//! A client for the operators' API of a running host.

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

use super::{TOKEN_FILE_VARIABLE, TOKEN_VARIABLE, URL_VARIABLE, exit::UsageError, remote_error::RemoteError};

/// The URL of the operators' listener with the default configuration.
const DEFAULT_URL: &str = "http://127.0.0.1:9901";

/// Time limit of a request: longer than the largest component takes to arrive and compile.
pub const TIMEOUT: Duration = Duration::from_secs(600);
/// Time limit of a connection attempt: longer than any network takes to report that no one listens.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Names a host and the token to use.
#[derive(Debug, clap::Args)]
pub struct Remote {
    /// The operators' listener of the host [default: http://127.0.0.1:9901].
    #[arg(long, value_name = "URL", env = URL_VARIABLE)]
    url: Option<String>,
    /// File with the token [default: the variable `BULKHEAD_ADMIN_TOKEN` holds the token].
    #[arg(long, value_name = "FILE", env = TOKEN_FILE_VARIABLE)]
    token_file: Option<PathBuf>,
    /// CA certificate of the host (PEM file), in addition to those of the system.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl Remote {
    /// Sets the URL to `url` if no flag or variable sets it.
    pub fn or_at(self, url: String) -> Self {
        Self { url: self.url.or(Some(url)), ..self }
    }

    /// Returns the URL of the host's operators' listener.
    pub fn url(&self) -> &str {
        self.url.as_deref().unwrap_or(DEFAULT_URL)
    }

    /// Returns whether a host answers, with a request that needs no token.
    ///
    /// # Errors
    /// Fails if the arguments are wrong.
    pub fn is_there(&self) -> anyhow::Result<bool> {
        let request = self.client()?.request(Method::GET, format!("{}/health/live", self.base()?));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(self.answer(request)).is_ok())
    }

    /// Asks for a host's health with a request that needs no token and takes at most `limit`. Returns whether the answer
    /// says that it is up, and the answer's JSON.
    ///
    /// # Errors
    /// Fails if the arguments are wrong, or something else than health is answered.
    pub fn health(&self, path: &str, limit: Duration) -> anyhow::Result<(bool, Value)> {
        let request = self.client()?.request(Method::GET, format!("{}{path}", self.base()?)).timeout(limit);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let answer = runtime.block_on(self.answer(request))?;
        let health = self.value(&answer)?;
        match answer.status {
            StatusCode::OK => Ok((true, health)),
            StatusCode::SERVICE_UNAVAILABLE => Ok((false, health)),
            StatusCode::NOT_FOUND => anyhow::bail!(
                "{}{path} does not exist; give the URL of the operators' listener alone, with --url or {URL_VARIABLE}",
                self.base()?
            ),
            status => Err(RemoteError::from_json(&health).with_status(status).into()),
        }
    }

    /// Sends a GET request and returns the answer's JSON.
    ///
    /// # Errors
    /// Fails if the host does not answer, or refuses the request.
    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, path, |request| request)
    }

    /// Sends a POST request with JSON and returns the answer's JSON.
    ///
    /// # Errors
    /// Fails if the host does not answer, or refuses the request.
    pub fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(Method::POST, path, |request| request.json(body))
    }

    /// Sends a POST request that may start a job. Returns the answer's status and JSON.
    ///
    /// # Errors
    /// Fails if the host does not answer, or refuses the request.
    pub fn start(
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

    /// Does the same with a component, its source, and the text of its `.minisig` file.
    ///
    /// # Errors
    /// Fails if the host does not answer, or refuses the request.
    pub fn upload(
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

    /// Sends a GET request and returns the answer's header fields and bytes.
    ///
    /// # Errors
    /// Fails if the host does not answer, or refuses the request.
    pub fn download(&self, path: &str) -> anyhow::Result<(HeaderMap, Bytes)> {
        let answer = self.send(Method::GET, path, |request| request)?;
        Ok((answer.headers, answer.body))
    }

    fn token(&self) -> anyhow::Result<String> {
        let token = match &self.token_file {
            Some(file) => {
                fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
            }
            None => env::var(TOKEN_VARIABLE).map_err(|_| {
                UsageError(format!(
                    "no token: give --token-file or set {TOKEN_VARIABLE}; `bulkhead admin token` makes one"
                ))
            })?,
        };
        let token = token.trim();
        // No header field could carry such a token.
        if token.is_empty() || HeaderValue::try_from(token).is_err() {
            return Err(UsageError(format!(
                "the token is empty or has a line break in it; give in --token-file or {TOKEN_VARIABLE} what `bulkhead \
                 admin token` has printed, and nothing else"
            ))
            .into());
        }
        Ok(token.to_owned())
    }

    /// Returns the host's URL without a slash at the end.
    fn base(&self) -> Result<&str, UsageError> {
        let is_bare = |url: &Url| {
            let user = !url.username().is_empty() || url.password().is_some();
            url.has_host() && !user && url.query().is_none() && url.fragment().is_none()
        };
        let url = Url::parse(self.url()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        match url.filter(is_bare) {
            Some(_) => Ok(self.url().trim().trim_end_matches('/')),
            // The text does not repeat the URL, which may have a password.
            None => Err(UsageError(format!(
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

    /// Sends a request with the token, and returns the answer if it is a success.
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
        let error = RemoteError::from_json(&self.value(&answer)?);
        Err(error.with_status(answer.status).into())
    }

    fn client(&self) -> anyhow::Result<reqwest::Client> {
        let mut client =
            reqwest::Client::builder().timeout(TIMEOUT).connect_timeout(CONNECT_TIMEOUT).no_proxy();
        if let Some(file) = &self.ca {
            let pem = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            let found = reqwest::Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if found.is_empty() {
                let text =
                    format!("--ca: {} has no certificate in PEM; give that of the host's CA", file.display());
                return Err(UsageError(text).into());
            }
            client = found.into_iter().fold(client, reqwest::ClientBuilder::add_root_certificate);
        }
        // A small system has no certificate authorities; without TLS none is needed.
        if Url::parse(self.url()).is_ok_and(|url| url.scheme() == "http") {
            client = client.tls_certs_only([]);
        }
        // Redirects are not followed, so that the token is sent to no other host.
        let client = client.redirect(reqwest::redirect::Policy::none()).build();
        client.context(
            "cannot check certificates: install ca-certificates, or give that of the host's CA with --ca",
        )
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Answer, RemoteError> {
        let unreachable = |error: reqwest::Error| {
            let cause = anyhow::Error::from(error.without_url()).root_cause().to_string();
            self.unreachable(cause)
        };
        let answer = request.send().await.map_err(unreachable)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        Ok(Answer { status, headers, body: answer.bytes().await.map_err(unreachable)? })
    }

    /// Parses an answer's JSON. A server that answers with other text is not a host.
    fn value(&self, answer: &Answer) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&answer.body).map_err(|error| self.unreachable(error.to_string()))?)
    }

    fn unreachable(&self, cause: String) -> RemoteError {
        // What the TLS of this client says of an answer in plain HTTP.
        let is_plain = cause.contains("InvalidContentType");
        let cause = if is_plain { "the port does not speak TLS, so use http://".to_owned() } else { cause };
        RemoteError::Unreachable { url: self.url().to_owned(), cause }
    }
}

/// An answer of a host.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}
