//! The body that a back end posts to `/challenge`, `/verify` and `/invalidate`.

use std::net::IpAddr;

use unicode_normalization::UnicodeNormalization;

use super::{
    address,
    error::ApiError,
    members::{Members, invalid},
    payload::Payload,
};

/// Longest action name, characters.
const ACTION_CHARS: usize = 64;

/// Who asks, for which client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Names the site, in NFC.
    pub site_key: String,
    /// The site's secret, in NFC.
    pub site_secret: String,
    /// The client's address.
    pub client_address: IpAddr,
    /// What the client is about to do; signed into the challenge.
    pub action: Option<String>,
}

impl Envelope {
    /// Reads the members that every call has; unknown ones are ignored.
    pub fn read(members: &Members<'_>) -> Result<Self, ApiError> {
        Ok(Self {
            site_key: nfc(&members.required("siteKey")?),
            site_secret: nfc(&members.required("siteSecret")?),
            client_address: address::parse(&members.required("clientAddress")?)
                .ok_or_else(|| invalid("clientAddress", "must be an IPv4 or IPv6 address"))?,
            action: members.optional("action")?.map(action).transpose()?,
        })
    }

    /// Reads a body with a `payload`.
    pub fn with_payload(body: &str) -> Result<(Self, Payload), ApiError> {
        let members = Members::of_body(body)?;
        let envelope = Self::read(&members)?;
        let payload = Payload::from_json(members.object("payload")?)?;
        Ok((envelope, payload))
    }

    /// Reads a body without one.
    pub fn without_payload(body: &str) -> Result<Self, ApiError> {
        Self::read(&Members::of_body(body)?)
    }
}

/// Unicode normal form C, in which credentials are configured and compared.
pub fn nfc(text: &str) -> String {
    text.nfc().collect()
}

/// An action name: 1 to 64 visible ASCII characters.
pub fn action(name: String) -> Result<String, ApiError> {
    let fits = (1..=ACTION_CHARS).contains(&name.len());
    if fits && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(name);
    }
    Err(invalid("action", "must be 1 to 64 visible ASCII characters"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;

    fn body() -> serde_json::Value {
        json!({
            "siteKey": "s", "siteSecret": "cafe\u{301}", "clientAddress": "::ffff:1.2.3.4",
            "payload": {"challenge": {}}, "more": [1],
        })
    }

    #[test]
    fn credentials_are_normalised_and_the_address_unmapped() {
        let (envelope, payload) = Envelope::with_payload(&body().to_string()).unwrap();
        assert_eq!(
            envelope,
            Envelope {
                site_key: "s".into(),
                site_secret: "caf\u{e9}".into(),
                client_address: [1, 2, 3, 4].into(),
                action: None,
            }
        );
        assert_eq!(payload.json, r#"{"challenge":{}}"#);
    }

    #[test]
    fn each_member_has_its_rule() {
        for (name, values) in [
            ("siteKey", vec![json!(null), json!(""), json!("  "), json!(1), json!(["s"])]),
            ("siteSecret", vec![json!(null), json!("\n"), json!({}), json!(true)]),
            ("clientAddress", vec![json!(null), json!(""), json!("test"), json!(1), json!("01.2.3.4")]),
            ("payload", vec![json!(null), json!("e30="), json!([]), json!(1)]),
            ("action", vec![json!(""), json!("a b"), json!("ä"), json!(1), json!("x".repeat(65))]),
        ] {
            for value in values {
                let mut changed = body();
                changed[name] = value;
                let error = Envelope::with_payload(&changed.to_string()).unwrap_err();
                assert_eq!(error.status, 400, "{changed}");
                assert!(error.message.starts_with(name), "{}", error.message);
            }
            let mut lacking = body();
            lacking.as_object_mut().unwrap().remove(name);
            assert_eq!(Envelope::with_payload(&lacking.to_string()).is_ok(), name == "action");
        }
    }

    #[test]
    fn twins_in_unknown_members_are_refused() {
        let twins = body().to_string().replacen('{', r#"{"zz":{"a":1,"a":2},"#, 1);
        assert_eq!(Envelope::without_payload(&twins).unwrap_err().status, 400);
        assert_eq!(Envelope::with_payload(&twins).unwrap_err().status, 400);
    }

    #[test]
    fn a_challenge_needs_no_payload() {
        let mut lacking = body();
        lacking.as_object_mut().unwrap().remove("payload");
        lacking["action"] = json!("book/appointment");
        let envelope = Envelope::without_payload(&lacking.to_string()).unwrap();
        assert_eq!(envelope.action.as_deref(), Some("book/appointment"));
    }
}
