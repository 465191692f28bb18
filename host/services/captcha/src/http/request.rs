//! Extractors of the handlers: text bodies, the client's address, URL-encoded parameters.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use bulkhead_http::{body, forwarded::Client};
use http_body::Body as _;

use super::{CaptchaState, error::CaptchaApiError, multipart};

/// The format of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    /// `application/json` or `application/*+json`.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data` with this boundary.
    Multipart(String),
}

impl BodyFormat {
    /// Returns the format that `Content-Type` names.
    fn of(headers: &HeaderMap) -> Option<Self> {
        if body::is_json(headers) {
            return Some(Self::Json);
        }
        let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let essence = value.split(';').next()?.trim();
        match essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            true => Some(Self::Form),
            false => multipart::boundary(value).map(Self::Multipart),
        }
    }
}

/// A JSON body, checked for size and UTF-8 but not parsed.
pub struct JsonText(pub String);

impl FromRequest<Arc<CaptchaState>> for JsonText {
    type Rejection = CaptchaApiError;

    async fn from_request(request: Request, state: &Arc<CaptchaState>) -> Result<Self, CaptchaApiError> {
        let (parts, body) = request.into_parts();
        let bytes = body::read_json(&parts.headers, body, state.body_limits).await?;
        Ok(Self(utf8(bytes)?))
    }
}

/// A query, and a body in any of the formats, checked for size and UTF-8 but not parsed.
pub struct AnyText {
    /// The query; empty when the URL has none.
    pub query: String,
    /// Format and text of the body; `None` without a body.
    pub body: Option<(BodyFormat, String)>,
}

impl FromRequest<Arc<CaptchaState>> for AnyText {
    type Rejection = CaptchaApiError;

    async fn from_request(request: Request, state: &Arc<CaptchaState>) -> Result<Self, CaptchaApiError> {
        let (parts, body) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        if body.is_end_stream() {
            return Ok(Self { query, body: None });
        }
        let format = BodyFormat::of(&parts.headers).ok_or_else(|| {
            let message = "the content type must be application/json, application/x-www-form-urlencoded or \
                           multipart/form-data with a boundary";
            CaptchaApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", message)
        })?;
        let text = utf8(body::read_text(&parts.headers, body, state.body_limits).await?)?;
        Ok(Self { query, body: Some((format, text)) })
    }
}

fn utf8(bytes: Bytes) -> Result<String, CaptchaApiError> {
    String::from_utf8(bytes.into())
        .map_err(|_| CaptchaApiError::bad_request("invalid-utf8", "the body must be UTF-8"))
}

/// The client's address: the peer's, or the one that a trusted proxy forwards.
pub struct ClientAddress(pub IpAddr);

impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = CaptchaApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, CaptchaApiError> {
        let client: &Client = parts.extensions.get().ok_or_else(CaptchaApiError::internal)?;
        Ok(Self(client.address))
    }
}

/// The parameter that is ignored when it is not an address, so that it may contain NUL.
pub const REMOTE_IP: &str = "remoteip";

/// URL-encoded parameters by name. Duplicate names are errors.
#[derive(Debug, PartialEq, Eq)]
pub struct UrlParameters(BTreeMap<String, String>);

impl UrlParameters {
    /// Reads a query or a form.
    pub fn parse(text: &str) -> Result<Self, CaptchaApiError> {
        let mut parameters = Self(BTreeMap::new());
        parameters.add_encoded(text)?;
        Ok(parameters)
    }

    /// Adds the parameters of a query or a form.
    pub fn add_encoded(&mut self, text: &str) -> Result<(), CaptchaApiError> {
        form_urlencoded::parse(text.as_bytes()).try_for_each(|(name, value)| self.add(name, value))
    }

    /// Adds a parameter.
    pub fn add(&mut self, name: impl Into<String>, value: impl Into<String>) -> Result<(), CaptchaApiError> {
        let (name, value): (String, String) = (name.into(), value.into());
        if name != REMOTE_IP && value.contains('\0') {
            return Err(CaptchaApiError::bad_request("invalid-field", "parameters must not contain NUL"));
        }
        if self.0.insert(name, value).is_some() {
            return Err(CaptchaApiError::bad_request("invalid-field", "a parameter must not come twice"));
        }
        Ok(())
    }

    /// Returns the value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::HeaderValue;
    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    #[test]
    fn content_types_map_to_formats() {
        for (value, format) in [
            ("application/json", Some(BodyFormat::Json)),
            ("Application/JSON; charset=utf-8", Some(BodyFormat::Json)),
            ("application/problem+json", Some(BodyFormat::Json)),
            ("application/x-www-form-urlencoded;charset=UTF-8", Some(BodyFormat::Form)),
            ("multipart/form-data; boundary=b", Some(BodyFormat::Multipart("b".into()))),
            ("multipart/form-data", None),
            ("text/json", None),
            ("text/plain", None),
            ("application/jsonp", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(value))]);
            assert_eq!(BodyFormat::of(&headers), format, "{value}");
        }
        assert_eq!(BodyFormat::of(&HeaderMap::new()), None);
    }

    #[test]
    fn parameters_are_decoded_and_unique() {
        let parameters = UrlParameters::parse("siteKey=a%20b+c&x=%C3%A4&empty=").unwrap();
        assert_eq!(parameters.get("siteKey"), Some("a b c"));
        assert_eq!(parameters.get("x"), Some("ä"));
        assert_eq!(parameters.get("empty"), Some(""));
        assert_eq!(parameters.get("none"), None);
        assert!(UrlParameters::parse("a=1&%61=2").is_err());
        assert!(UrlParameters::parse("a=%00").is_err());
    }

    #[test]
    fn form_steps_grow_with_its_length() {
        let numbered = |bytes: usize| (0..bytes / 8).map(|number| format!("{number:06}=&")).collect();
        let shapes: [Shape<'_, String>; 3] = [
            ("parameters", &numbered),
            ("escapes", &|bytes| repeated("a=", "%C3%A9", "", bytes)),
            ("separators", &|bytes| repeated("", "&", "", bytes)),
        ];
        let test = concat!(module_path!(), "::form_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| UrlParameters::parse(text).is_ok());
    }
}
