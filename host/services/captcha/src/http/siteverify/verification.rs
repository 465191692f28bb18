//! Parses requests to `siteverify`: fields of a query, a form, a multipart form or a JSON object.

use std::{collections::BTreeSet, net::IpAddr};

use bulkhead_http::forwarded;

use super::{
    super::{
        address,
        envelope::nfc,
        error::CaptchaApiError,
        members::CaptchaMembers,
        multipart,
        request::{AnyText, BodyFormat, REMOTE_IP, UrlParameters},
    },
    ErrorCode,
};

/// The fields that are read.
const NAMES: [&str; 5] = ["secret", "response", REMOTE_IP, "sitekey", "idempotency_key"];
/// Longest idempotency key, characters: a UUID and more.
const IDEMPOTENCY_KEY_CHARS: usize = 64;

/// The client that the back end names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteIp {
    /// The request names none.
    Absent,
    /// An address.
    Address(IpAddr),
    /// Text that is not an address, such as `None` of a back end that does not know it.
    Unreadable,
}

/// A request to verify a response.
#[derive(Debug, PartialEq, Eq)]
pub struct SiteverifyRequest {
    /// The site's secret, in NFC.
    pub secret: String,
    /// The response that the widget put into the form.
    pub response: String,
    /// The client.
    pub remote_ip: RemoteIp,
    /// The site's public key, in NFC.
    pub site_key: Option<String>,
    /// Identifies the request for retries.
    pub idempotency_key: Option<String>,
}

impl SiteverifyRequest {
    /// Parses a request.
    pub fn parse(text: &AnyText) -> Result<Self, BTreeSet<ErrorCode>> {
        let bad_request = || BTreeSet::from([ErrorCode::BadRequest]);
        let fields = fields(text).map_err(|_| bad_request())?;
        // An empty field counts as absent.
        let field = |name| fields.get(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let idempotency_key = field("idempotency_key");
        if idempotency_key.as_deref().is_some_and(|key| !is_idempotency_key(key)) {
            return Err(bad_request());
        }
        match (field("secret"), field("response")) {
            (Some(secret), Some(response)) => Ok(Self {
                secret: nfc(secret),
                response,
                remote_ip: field(REMOTE_IP).map_or(RemoteIp::Absent, |text| {
                    remote_address(text.trim()).map_or(RemoteIp::Unreadable, RemoteIp::Address)
                }),
                site_key: field("sitekey").map(nfc),
                idempotency_key,
            }),
            (secret, response) => {
                let missing = [
                    secret.is_none().then_some(ErrorCode::MissingInputSecret),
                    response.is_none().then_some(ErrorCode::MissingInputResponse),
                ];
                Err(missing.into_iter().flatten().collect())
            }
        }
    }
}

/// Parses an address with or without port or brackets: back ends send the client in the form of their framework or
/// proxy.
fn remote_address(text: &str) -> Option<IpAddr> {
    address::parse(text).or_else(|| forwarded::node(text))
}

/// Checks an idempotency key: 1 to 64 visible ASCII characters.
fn is_idempotency_key(key: &str) -> bool {
    (1..=IDEMPOTENCY_KEY_CHARS).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the fields of query and body together. Duplicate fields are errors.
fn fields(request: &AnyText) -> Result<UrlParameters, CaptchaApiError> {
    let mut fields = UrlParameters::parse(&request.query)?;
    let Some((format, text)) = &request.body else {
        return Ok(fields);
    };
    match format {
        BodyFormat::Form => fields.add_encoded(text)?,
        BodyFormat::Multipart(boundary) => {
            for (name, value) in multipart::fields(text, boundary)? {
                fields.add(name, value)?;
            }
        }
        BodyFormat::Json => {
            let members = CaptchaMembers::of_body(text)?;
            for name in NAMES {
                if let Some(value) = members.text(name)? {
                    fields.add(name, value)?;
                }
            }
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    const BOUNDARY: &str = "b";

    fn parse(query: &str, format: BodyFormat, text: &str) -> Result<SiteverifyRequest, BTreeSet<ErrorCode>> {
        SiteverifyRequest::parse(&AnyText { query: query.to_owned(), body: Some((format, text.to_owned())) })
    }

    fn multipart(fields: &[(&str, &str)]) -> String {
        let part = |(name, value): &(&str, &str)| {
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        format!("{}--{BOUNDARY}--\r\n", fields.iter().map(part).collect::<String>())
    }

    #[test]
    fn every_format_yields_the_same_request() {
        let request = SiteverifyRequest {
            secret: "caf\u{e9}".into(),
            response: "ab+/=".into(),
            remote_ip: RemoteIp::Address([192, 0, 2, 1].into()),
            site_key: Some("shop".into()),
            idempotency_key: Some("key-1".into()),
        };
        let form =
            "secret=cafe%CC%81&response=ab%2B%2F%3D&remoteip=192.0.2.1&sitekey=shop&idempotency_key=key-1";
        let fields = [
            ("secret", "cafe\u{301}"),
            ("response", "ab+/="),
            ("remoteip", "192.0.2.1"),
            ("sitekey", "shop"),
            ("idempotency_key", "key-1"),
        ];
        let json = json!(std::collections::BTreeMap::from(fields)).to_string();
        assert_eq!(parse("", BodyFormat::Form, form).as_ref(), Ok(&request));
        assert_eq!(parse("", BodyFormat::Json, &json).as_ref(), Ok(&request));
        assert_eq!(
            parse("", BodyFormat::Multipart(BOUNDARY.into()), &multipart(&fields)).as_ref(),
            Ok(&request)
        );
        let query = SiteverifyRequest::parse(&AnyText { query: form.into(), body: None });
        assert_eq!(query.as_ref(), Ok(&request));
        let (secret, others) = form.split_once('&').unwrap();
        assert_eq!(parse(secret, BodyFormat::Form, others).as_ref(), Ok(&request));
    }

    #[test]
    fn remote_ip_may_have_port_or_brackets() {
        let remote_ip = |text: &str| {
            parse("", BodyFormat::Form, &format!("secret=s&response=x&remoteip={text}")).unwrap().remote_ip
        };
        assert_eq!(remote_ip(""), RemoteIp::Absent);
        assert_eq!(remote_ip("+192.0.2.1+"), RemoteIp::Address([192, 0, 2, 1].into()));
        for (text, address) in [
            ("192.0.2.1:80", "192.0.2.1"),
            ("+192.0.2.1:80+", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[::ffff:192.0.2.1]", "192.0.2.1"),
            ("[::ffff:192.0.2.1]:443", "192.0.2.1"),
        ] {
            assert_eq!(remote_ip(text), RemoteIp::Address(address.parse().unwrap()), "{text}");
        }
        for text in [
            "None",
            "unresolved",
            "undefined",
            "192.0.2.1,+192.0.2.2",
            "192.0.2.1:",
            "192.0.2.1:65536",
            "192.0.2.1:http",
            "[192.0.2.1]",
            "[192.0.2.1]:80",
            "[2001:db8::1",
            "[2001:db8::1]:",
            "localhost:80",
            "%00",
            "192.0.2.1%00",
        ] {
            assert_eq!(remote_ip(text), RemoteIp::Unreadable, "{text}");
        }
        let json = r#"{"secret":"s","response":"x","remoteip":"\u0000"}"#;
        assert_eq!(parse("", BodyFormat::Json, json).unwrap().remote_ip, RemoteIp::Unreadable);
    }

    #[test]
    fn missing_and_malformed_fields_have_codes() {
        use ErrorCode::{BadRequest, MissingInputResponse, MissingInputSecret};
        let long_key = format!("secret=s&response=x&idempotency_key={}", "k".repeat(65));
        for (query, format, text, errors) in [
            ("", BodyFormat::Form, "", vec![MissingInputSecret, MissingInputResponse]),
            ("", BodyFormat::Form, "secret=&response=x", vec![MissingInputSecret]),
            ("", BodyFormat::Form, "secret=s", vec![MissingInputResponse]),
            ("", BodyFormat::Form, "secret=s&secret=t&response=x", vec![BadRequest]),
            ("secret=s", BodyFormat::Form, "secret=s&response=x", vec![BadRequest]),
            ("", BodyFormat::Form, "secret=s&response=x&idempotency_key=a+b", vec![BadRequest]),
            ("", BodyFormat::Form, &*long_key, vec![BadRequest]),
            ("", BodyFormat::Json, "{}", vec![MissingInputSecret, MissingInputResponse]),
            ("", BodyFormat::Json, r#"{"secret":"s","response":null}"#, vec![MissingInputResponse]),
            ("", BodyFormat::Json, r#"{"secret":1,"response":"x"}"#, vec![BadRequest]),
            ("response=x", BodyFormat::Json, r#"{"secret":"s","response":"x"}"#, vec![BadRequest]),
            ("", BodyFormat::Json, r#"{"secret":"s\u0000","response":"x"}"#, vec![BadRequest]),
            ("", BodyFormat::Form, "secret=s&response=%00", vec![BadRequest]),
            ("", BodyFormat::Json, "secret=s", vec![BadRequest]),
            ("", BodyFormat::Multipart(BOUNDARY.into()), "secret=s&response=x", vec![BadRequest]),
        ] {
            assert_eq!(parse(query, format, text), Err(BTreeSet::from_iter(errors)), "{query} {text}");
        }
    }
}
