//! The client of Zammad's REST API.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use serde::de::DeserializeOwned;

use super::super::MAX_BYTES;
use super::Zammad;
use crate::error::Error;

/// How long a connection may take, and an answer.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(60);
/// How often a request is retried after a transient failure: an import of a large base makes thousands.
const RETRIES: u32 = 3;
/// The pause before the first retry; each next one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Remote {
    /// Address of the knowledge base.
    root: String,
    client: Client,
    authorization: HeaderValue,
}

/// Why there is no answer.
enum Fault {
    /// A retry may succeed.
    Transient(String),
    /// A retry will not succeed.
    Permanent(String),
}

impl From<reqwest::Error> for Fault {
    fn from(error: reqwest::Error) -> Self {
        let is_permanent = error.is_builder();
        let reason = error.without_url().to_string();
        if is_permanent { Self::Permanent(reason) } else { Self::Transient(reason) }
    }
}

impl Remote {
    pub(super) fn new(zammad: &Zammad) -> Result<Self, Error> {
        let root = format!("{}/api/v1/knowledge_bases/{}", zammad.url.trim_end_matches('/'), zammad.base);
        let fault = |reason: &str| Error::Zammad { url: root.clone(), reason: reason.to_owned() };
        let mut authorization = HeaderValue::from_str(&format!("Token token={}", zammad.token))
            .map_err(|_| fault("the token has characters that no token has"))?;
        authorization.set_sensitive(true);
        // The token goes only to the configured address, never to where an answer redirects.
        let mut client = Client::builder().redirect(Policy::none()).connect_timeout(CONNECT).timeout(ANSWER);
        // A small system has no certificate authorities; without TLS none is needed.
        if root.starts_with("http://") {
            client = client.tls_certs_only([]);
        }
        let client = client.build().map_err(|error| fault(&error.to_string()))?;
        Ok(Self { client, authorization, root })
    }

    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// Fetches `path` below the base; `None` if Zammad answers 404. Every other failure is an error: an answer that
    /// cannot be read must not look as if it were gone.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        let mut pauses = (0..RETRIES).map(|retry| PAUSE * 2_u32.pow(retry));
        let body = loop {
            match self.body(path).await {
                Ok(body) => break body,
                Err(Fault::Permanent(reason)) => return Err(self.error(&reason)),
                Err(Fault::Transient(reason)) => match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Err(self.error(&reason)),
                },
            }
        };
        let Some(body) = body else { return Ok(None) };
        let read = serde_json::from_slice(&body);
        read.map(Some)
            .map_err(|error| self.error(&format!("its answer to {path:?} is not understood: {error}")))
    }

    /// Fetches the bytes at a path.
    async fn body(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        let request = self.client.get(format!("{}{path}", self.root));
        let mut answer = request.header(AUTHORIZATION, self.authorization.clone()).send().await?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let reason = "it refuses the token: give one of a user who may read the base";
                return Err(Fault::Permanent(reason.to_owned()));
            }
            status => {
                let reason = format!("it answered {status} to {path:?}");
                let is_transient = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
                return Err(if is_transient { Fault::Transient(reason) } else { Fault::Permanent(reason) });
            }
        }
        let mut body = Vec::new();
        while let Some(part) = answer.chunk().await? {
            body.extend_from_slice(&part);
            if body.len() as u64 > MAX_BYTES {
                let reason = format!("its answer to {path:?} has more than {MAX_BYTES} bytes");
                return Err(Fault::Permanent(reason));
            }
        }
        Ok(Some(body))
    }

    pub(super) fn error(&self, reason: &str) -> Error {
        Error::Zammad { url: self.root.clone(), reason: reason.to_owned() }
    }
}
