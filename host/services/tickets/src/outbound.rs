//! An HTTP client that posts JSON to a configured service, with limits of time and size.

use std::time::{Duration, SystemTime};

use bulkhead_config::secret::Secret;
use bytes::Bytes;
use reqwest::{
    Client, Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use tokio::time::{Instant, timeout_at};
use url::Url;

/// The configuration of a client.
#[derive(Clone, Debug)]
pub struct OutboundConfig {
    /// Base URL, to which the path of a call is appended.
    pub base: Url,
    /// Sent as `Authorization: Bearer`.
    pub key: Option<Secret>,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for the next bytes.
    pub read_timeout: Duration,
    /// Maximum bytes of a response.
    pub response_bytes: usize,
    /// The proxy; that of the environment is never used.
    pub proxy: Option<Url>,
}

/// Why a call failed. No text contains the key or the body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// The connection cannot be established.
    #[error("it cannot be reached")]
    Connect,
    /// The deadline has passed.
    #[error("it does not answer in time")]
    Timeout,
    /// The connection broke.
    #[error("the connection broke")]
    Broken,
    /// It answered with another status than 200.
    #[error("it answered with status {status}")]
    Status {
        /// The status; redirects are not followed.
        status: u16,
        /// The time until a retry, if the service gives one.
        retry_after: Option<Duration>,
    },
    /// The response is larger than allowed.
    #[error("its answer has over {0} bytes")]
    TooLarge(usize),
}

/// A client for one service.
#[derive(Clone, Debug)]
pub struct OutboundClient {
    client: Client,
    base: Url,
    response_bytes: usize,
}

impl OutboundClient {
    /// Creates a client.
    ///
    /// # Errors
    /// When the key cannot be sent in a header, or the proxy cannot be used.
    pub fn new(config: &OutboundConfig) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &config.key {
            let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose()));
            let mut bearer = bearer.map_err(|_| "the key has characters that no header can carry")?;
            bearer.set_sensitive(true);
            headers.insert(reqwest::header::AUTHORIZATION, bearer);
        }
        let mut client = Client::builder()
            .default_headers(headers)
            .redirect(Policy::none())
            .connect_timeout(config.connect_timeout)
            .read_timeout(config.read_timeout)
            .no_proxy();
        if let Some(proxy) = &config.proxy {
            client = client.proxy(reqwest::Proxy::all(proxy.as_str()).map_err(describe)?);
        } else if config.base.scheme() == "http" {
            // A small system has no certificate authorities; without TLS none is needed.
            client = client.tls_certs_only([]);
        }
        let client = client.build().map_err(describe)?;
        Ok(Self { client, base: config.base.clone(), response_bytes: config.response_bytes })
    }

    /// Posts `body` to `path` below the base URL, and returns the body of a response with status 200.
    ///
    /// # Errors
    /// See [`OutboundError`]. `deadline` covers the connection, the head and the body.
    pub async fn post(&self, path: &str, body: Bytes, deadline: Instant) -> Result<Vec<u8>, OutboundError> {
        let call = async {
            let response =
                self.client.post(join_path(&self.base, path)).body(body).send().await.map_err(classify)?;
            if response.status() != StatusCode::OK {
                let retry_after = retry_after(response.headers(), SystemTime::now());
                return Err(OutboundError::Status { status: response.status().as_u16(), retry_after });
            }
            self.read(response).await
        };
        timeout_at(deadline, call).await.unwrap_or(Err(OutboundError::Timeout))
    }

    /// Reads the body up to its limit.
    async fn read(&self, mut response: Response) -> Result<Vec<u8>, OutboundError> {
        let mut read = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(classify)? {
            if read.len() + chunk.len() > self.response_bytes {
                return Err(OutboundError::TooLarge(self.response_bytes));
            }
            read.extend_from_slice(&chunk);
        }
        Ok(read)
    }
}

/// Appends `path` to `base`, with or without a slash at its end.
fn join_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

/// Returns the text of an error without its URL.
fn describe(error: reqwest::Error) -> String {
    error.without_url().to_string()
}

/// Classifies an error of the connection.
fn classify(error: reqwest::Error) -> OutboundError {
    if error.is_connect() {
        OutboundError::Connect
    } else if error.is_timeout() {
        OutboundError::Timeout
    } else {
        OutboundError::Broken
    }
}

/// Parses `Retry-After`: seconds or a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let date =
        || httpdate::parse_http_date(text).ok().map(|date| date.duration_since(now).unwrap_or_default());
    text.parse().ok().map(Duration::from_secs).or_else(date)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn paths_are_appended_to_the_base() {
        for base in ["https://llm.example.org/v1", "https://llm.example.org/v1/"] {
            assert_eq!(join_path(&url(base), "chat/completions").path(), "/v1/chat/completions");
        }
        assert_eq!(join_path(&url("https://llm.example.org"), "x").as_str(), "https://llm.example.org/x");
    }

    #[test]
    fn retry_after_is_seconds_or_date() {
        let wait = |text: &'static str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            retry_after(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_700))
        };
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(77)));
        assert_eq!(wait("Sat, 06 Nov 1993 08:49:37 GMT"), Some(Duration::ZERO));
        assert_eq!((wait("-1"), wait("soon")), (None, None));
    }

    #[test]
    fn debug_output_hides_the_key() {
        let config = OutboundConfig {
            base: url("http://127.0.0.1:1"),
            key: Some(Secret::new("sk-unspoken")),
            connect_timeout: Duration::from_secs(1),
            read_timeout: Duration::from_secs(1),
            response_bytes: 1,
            proxy: None,
        };
        assert!(!format!("{config:?} {:?}", OutboundClient::new(&config)).contains("unspoken"));
    }
}
