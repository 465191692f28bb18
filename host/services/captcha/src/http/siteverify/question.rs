//! What a back end asks at `siteverify`: fields of a query, a form, a multipart form or a JSON object.

use std::{collections::BTreeSet, net::IpAddr};

use bulkhead_http::forwarded;

use super::{
    super::{
        address,
        envelope::nfc,
        error::ApiError,
        members::Members,
        multipart,
        request::{AnyText, Format, Parameters},
    },
    ErrorCode,
};

/// The fields that are read.
const NAMES: [&str; 5] = ["secret", "response", "remoteip", "sitekey", "idempotency_key"];
/// Longest idempotency key, characters: a UUID and more.
const IDEMPOTENCY_KEY_CHARS: usize = 64;

/// The client that the back end names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteIp {
    /// None is given.
    Absent,
    /// An address.
    Address(IpAddr),
    /// Something that is no address, such as `None` of a back end that does not know it.
    Unreadable,
}

/// A question for a verdict.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    /// The site's secret, in NFC.
    pub secret: String,
    /// What the widget put into the form.
    pub response: String,
    /// The client.
    pub remote_ip: RemoteIp,
    /// The site that the back end means, in NFC.
    pub site_key: Option<String>,
    /// Names the question, so that it can be asked again.
    pub idempotency_key: Option<String>,
}

impl Question {
    /// Reads a request.
    pub fn parse(asked: &AnyText) -> Result<Self, BTreeSet<ErrorCode>> {
        let bad_request = || BTreeSet::from([ErrorCode::BadRequest]);
        let fields = fields(asked).map_err(|_| bad_request())?;
        // An empty field counts as absent.
        let field = |name| fields.get(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let idempotency_key = field("idempotency_key");
        if idempotency_key.as_deref().is_some_and(|key| !is_idempotency_key(key)) {
            return Err(bad_request());
        }
        match (field("secret"), field("response")) {
            (Some(secret), Some(response)) => Ok(Self {
                secret: nfc(&secret),
                response,
                remote_ip: field("remoteip").map_or(RemoteIp::Absent, |text| {
                    remote_address(text.trim()).map_or(RemoteIp::Unreadable, RemoteIp::Address)
                }),
                site_key: field("sitekey").map(|key| nfc(&key)),
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

/// An address, which may have a port or brackets: back ends send what their framework or their proxy calls the client.
fn remote_address(text: &str) -> Option<IpAddr> {
    address::parse(text).or_else(|| forwarded::node(text))
}

/// 1 to 64 visible ASCII characters.
fn is_idempotency_key(key: &str) -> bool {
    (1..=IDEMPOTENCY_KEY_CHARS).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The fields of query and body together; none may come twice.
fn fields(asked: &AnyText) -> Result<Parameters, ApiError> {
    let mut fields = Parameters::parse(&asked.query)?;
    let Some((format, text)) = &asked.body else {
        return Ok(fields);
    };
    match format {
        Format::Form => fields.add_encoded(text)?,
        Format::Multipart(boundary) => {
            for (name, value) in multipart::fields(text, boundary)? {
                fields.add(name, value)?;
            }
        }
        Format::Json => {
            let members = Members::of_body(text)?;
            for name in NAMES {
                if let Some(value) = members.optional(name)? {
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

    fn parse(query: &str, format: Format, text: &str) -> Result<Question, BTreeSet<ErrorCode>> {
        Question::parse(&AnyText { query: query.to_owned(), body: Some((format, text.to_owned())) })
    }

    fn multipart(fields: &[(&str, &str)]) -> String {
        let part = |(name, value): &(&str, &str)| {
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        format!("{}--{BOUNDARY}--\r\n", fields.iter().map(part).collect::<String>())
    }

    #[test]
    fn every_format_asks_the_same() {
        let question = Question {
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
        assert_eq!(parse("", Format::Form, form).as_ref(), Ok(&question));
        assert_eq!(parse("", Format::Json, &json).as_ref(), Ok(&question));
        assert_eq!(
            parse("", Format::Multipart(BOUNDARY.into()), &multipart(&fields)).as_ref(),
            Ok(&question)
        );
        let query = Question::parse(&AnyText { query: form.into(), body: None });
        assert_eq!(query.as_ref(), Ok(&question));
        let (secret, others) = form.split_once('&').unwrap();
        assert_eq!(parse(secret, Format::Form, others).as_ref(), Ok(&question));
    }

    #[test]
    fn a_remote_ip_may_have_a_port_and_need_not_be_an_address() {
        let remote_ip = |text: &str| {
            parse("", Format::Form, &format!("secret=s&response=x&remoteip={text}")).unwrap().remote_ip
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
        ] {
            assert_eq!(remote_ip(text), RemoteIp::Unreadable, "{text}");
        }
    }

    #[test]
    fn missing_and_malformed_fields_are_named() {
        use ErrorCode::{BadRequest, MissingInputResponse, MissingInputSecret};
        let long_key = format!("secret=s&response=x&idempotency_key={}", "k".repeat(65));
        for (query, format, text, errors) in [
            ("", Format::Form, "", vec![MissingInputSecret, MissingInputResponse]),
            ("", Format::Form, "secret=&response=x", vec![MissingInputSecret]),
            ("", Format::Form, "secret=s", vec![MissingInputResponse]),
            ("", Format::Form, "secret=s&secret=t&response=x", vec![BadRequest]),
            ("secret=s", Format::Form, "secret=s&response=x", vec![BadRequest]),
            ("", Format::Form, "secret=s&response=x&idempotency_key=a+b", vec![BadRequest]),
            ("", Format::Form, &*long_key, vec![BadRequest]),
            ("", Format::Json, "{}", vec![MissingInputSecret, MissingInputResponse]),
            ("", Format::Json, r#"{"secret":"s","response":null}"#, vec![MissingInputResponse]),
            ("", Format::Json, r#"{"secret":1,"response":"x"}"#, vec![BadRequest]),
            ("response=x", Format::Json, r#"{"secret":"s","response":"x"}"#, vec![BadRequest]),
            ("", Format::Json, "secret=s", vec![BadRequest]),
            ("", Format::Multipart(BOUNDARY.into()), "secret=s&response=x", vec![BadRequest]),
        ] {
            assert_eq!(parse(query, format, text), Err(BTreeSet::from_iter(errors)), "{query} {text}");
        }
    }
}
