//! What of a request decides which version of a canary answers it.

use axum::http::{HeaderMap, HeaderName, header::COOKIE};
use bulkhead_http::forwarded::Client;

/// The part of a request by which callers stay with one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sticky {
    /// The value of a cookie.
    Cookie(String),
    /// The value of a header field.
    Header(HeaderName),
    /// The address of the client, after trusted proxies.
    Client,
}

impl Sticky {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("must be cookie:NAME, header:NAME or client, not `{text}`");
        match text.split_once(':') {
            None if text == "client" => Ok(Self::Client),
            Some(("cookie", name)) if is_token(name) => Ok(Self::Cookie(name.to_owned())),
            Some(("header", name)) => name.parse().map(Self::Header).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    /// Returns the key of a request; `None` where it has none, so that any version may answer it.
    pub(crate) fn key(&self, headers: &HeaderMap, client: &Client) -> Option<Vec<u8>> {
        match self {
            Self::Cookie(name) => cookie(headers, name).map(|value| value.as_bytes().to_vec()),
            Self::Header(name) => headers.get(name).map(|value| value.as_bytes().to_vec()),
            Self::Client => Some(client.address.to_string().into_bytes()),
        }
    }
}

fn is_token(name: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let values = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn key(sticky: &str, name: &'static str, value: &'static str) -> Option<String> {
        let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value.parse().unwrap())]);
        let client = Client { address: [192, 0, 2, 7].into(), scheme: "http", host: None };
        let key = Sticky::parse(sticky).unwrap().key(&headers, &client);
        key.map(|key| String::from_utf8(key).unwrap())
    }

    #[test]
    fn key_is_part_of_request() {
        assert_eq!(key("cookie:id", "cookie", "a=1; id=2; idd=3").as_deref(), Some("2"));
        assert_eq!(key("cookie:id", "cookie", "a=1; xid=2"), None);
        assert_eq!(key("header:X-User", "x-user", "eva").as_deref(), Some("eva"));
        assert_eq!(key("header:X-User", "x-other", "eva"), None);
        assert_eq!(key("client", "x-user", "eva").as_deref(), Some("192.0.2.7"));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in ["", "cookie", "cookie:", "cookie:a b", "header:", "header:a b", "address", "client:x"] {
            assert!(Sticky::parse(text).is_err(), "{text}");
        }
    }
}
