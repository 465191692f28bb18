//! JSON to a configured service and back, within a time and a size, whatever the other side does.

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

/// How a service is reached.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where requests go, without the path of a call.
    pub base: Url,
    /// Sent as `Authorization: Bearer`.
    pub key: Option<Secret>,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for the next bytes.
    pub read_timeout: Duration,
    /// Largest answer, bytes.
    pub response_bytes: usize,
    /// The one proxy that is used; the environment's never is.
    pub proxy: Option<Url>,
}

/// Why there is no answer. No text has the key, or a word of what was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nobody takes the connection.
    #[error("it cannot be reached")]
    Connect,
    /// The time is over.
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
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The answer is larger than allowed.
    #[error("its answer has over {0} bytes")]
    TooLarge(usize),
}

/// A client for one service.
#[derive(Clone, Debug)]
pub struct Outbound {
    client: Client,
    base: Url,
    response_bytes: usize,
}

impl Outbound {
    /// A client for `route`.
    ///
    /// # Errors
    /// When the key is none that a header can carry, or the proxy none that can be used.
    pub fn new(route: &Route) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &route.key {
            let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose()));
            let mut bearer = bearer.map_err(|_| "the key has characters that no header can carry")?;
            bearer.set_sensitive(true);
            headers.insert(reqwest::header::AUTHORIZATION, bearer);
        }
        let mut client = Client::builder()
            .default_headers(headers)
            .redirect(Policy::none())
            .connect_timeout(route.connect_timeout)
            .read_timeout(route.read_timeout)
            .no_proxy();
        if let Some(proxy) = &route.proxy {
            client = client.proxy(reqwest::Proxy::all(proxy.as_str()).map_err(told)?);
        }
        let client = client.build().map_err(told)?;
        Ok(Self { client, base: route.base.clone(), response_bytes: route.response_bytes })
    }

    /// Sends `body` to `path` below the base and gives what a status of 200 comes with.
    ///
    /// # Errors
    /// See [`Fault`]; `deadline` ends the connection, the head and a body that drips alike.
    pub async fn post(&self, path: &str, body: Bytes, deadline: Instant) -> Result<Vec<u8>, Fault> {
        let call = async {
            let sent = self.client.post(below(&self.base, path)).body(body).send().await.map_err(fault)?;
            if sent.status() != StatusCode::OK {
                let retry_after = retry_after(sent.headers(), SystemTime::now());
                return Err(Fault::Status { status: sent.status().as_u16(), retry_after });
            }
            self.read(sent).await
        };
        timeout_at(deadline, call).await.unwrap_or(Err(Fault::Timeout))
    }

    async fn read(&self, mut sent: Response) -> Result<Vec<u8>, Fault> {
        let mut read = Vec::new();
        while let Some(chunk) = sent.chunk().await.map_err(fault)? {
            if read.len() + chunk.len() > self.response_bytes {
                return Err(Fault::TooLarge(self.response_bytes));
            }
            read.extend_from_slice(&chunk);
        }
        Ok(read)
    }
}

/// `path` below `base`, whether or not that ends with a slash.
fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

/// The error's text without its URL.
fn told(error: reqwest::Error) -> String {
    error.without_url().to_string()
}

fn fault(error: reqwest::Error) -> Fault {
    if error.is_connect() {
        Fault::Connect
    } else if error.is_timeout() {
        Fault::Timeout
    } else {
        Fault::Broken
    }
}

/// Seconds or a date (RFC 9110, section 10.2.3).
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
    fn paths_are_put_below_the_base() {
        for base in ["https://llm.example.org/v1", "https://llm.example.org/v1/"] {
            assert_eq!(below(&url(base), "chat/completions").path(), "/v1/chat/completions");
        }
        assert_eq!(below(&url("https://llm.example.org"), "x").as_str(), "https://llm.example.org/x");
    }

    #[test]
    fn waits_are_seconds_or_dates() {
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
    fn a_client_shows_no_key() {
        let route = Route {
            base: url("http://127.0.0.1:1"),
            key: Some(Secret::new("sk-unspoken")),
            connect_timeout: Duration::from_secs(1),
            read_timeout: Duration::from_secs(1),
            response_bytes: 1,
            proxy: None,
        };
        assert!(!format!("{route:?} {:?}", Outbound::new(&route)).contains("unspoken"));
    }
}
