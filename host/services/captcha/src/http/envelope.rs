//! The common fields of the bodies that a back end posts to `/challenge`, `/verify` and `/invalidate`.

use std::net::IpAddr;

use unicode_normalization::UnicodeNormalization;

use super::{
    address,
    error::CaptchaApiError,
    members::{CaptchaMembers, invalid},
    payload::CaptchaPayload,
};

/// Longest action name, characters.
const ACTION_CHARS: usize = 64;

/// The credentials of a call, and its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptchaEnvelope {
    /// The public key of the site, in NFC.
    pub site_key: String,
    /// The site's secret, in NFC.
    pub site_secret: String,
    /// The client's address.
    pub client_address: IpAddr,
    /// The action that the client is about to take; signed into the challenge.
    pub action: Option<String>,
}

impl CaptchaEnvelope {
    /// Reads the members that every call has; ignores unknown ones.
    pub fn read(members: &CaptchaMembers<'_>) -> Result<Self, CaptchaApiError> {
        Ok(Self {
            site_key: nfc(members.required("siteKey")?),
            site_secret: nfc(members.required("siteSecret")?),
            client_address: address::parse(&members.required("clientAddress")?)
                .ok_or_else(|| invalid("clientAddress", "must be an IPv4 or IPv6 address"))?,
            action: members.optional("action")?.map(action).transpose()?,
        })
    }

    /// Reads a body with a `payload`.
    pub fn with_payload(body: &str) -> Result<(Self, CaptchaPayload), CaptchaApiError> {
        let members = CaptchaMembers::of_body(body)?;
        let envelope = Self::read(&members)?;
        let payload = CaptchaPayload::of_member(members.object("payload")?)?;
        Ok((envelope, payload))
    }

    /// Reads a body without a `payload`.
    pub fn without_payload(body: &str) -> Result<Self, CaptchaApiError> {
        Self::read(&CaptchaMembers::of_body(body)?)
    }
}

/// Converts text to Unicode normal form C, in which credentials are configured and compared.
pub fn nfc(text: impl Into<String>) -> String {
    let text = text.into();
    // ASCII has this form.
    if text.is_ascii() { text } else { text.nfc().collect() }
}

/// Checks an action name: 1 to 64 visible ASCII characters.
pub fn action(name: String) -> Result<String, CaptchaApiError> {
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
    fn credentials_and_address_are_normalised() {
        let (envelope, payload) = CaptchaEnvelope::with_payload(&body().to_string()).unwrap();
        assert_eq!(
            envelope,
            CaptchaEnvelope {
                site_key: "s".into(),
                site_secret: "caf\u{e9}".into(),
                client_address: [1, 2, 3, 4].into(),
                action: None,
            }
        );
        assert_eq!(payload.json, r#"{"challenge":{}}"#);
    }

    #[test]
    fn invalid_members_are_refused() {
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
                let error = CaptchaEnvelope::with_payload(&changed.to_string()).unwrap_err();
                assert_eq!(error.status, 400, "{changed}");
                assert!(error.message.starts_with(name), "{}", error.message);
            }
            let mut lacking = body();
            lacking.as_object_mut().unwrap().remove(name);
            assert_eq!(CaptchaEnvelope::with_payload(&lacking.to_string()).is_ok(), name == "action");
        }
    }

    #[test]
    fn duplicate_keys_in_unknown_members_are_refused() {
        let duplicate = body().to_string().replacen('{', r#"{"zz":{"a":1,"a":2},"#, 1);
        assert_eq!(CaptchaEnvelope::without_payload(&duplicate).unwrap_err().status, 400);
        assert_eq!(CaptchaEnvelope::with_payload(&duplicate).unwrap_err().status, 400);
    }

    #[test]
    fn challenge_request_needs_no_payload() {
        let mut lacking = body();
        lacking.as_object_mut().unwrap().remove("payload");
        lacking["action"] = json!("book/appointment");
        let envelope = CaptchaEnvelope::without_payload(&lacking.to_string()).unwrap();
        assert_eq!(envelope.action.as_deref(), Some("book/appointment"));
    }
}
