//! The payload that a client submits: a solved ALTCHA challenge, or the token that this service signed for one. The
//! solved challenge stays text; only the sandbox parses it.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{error::CaptchaApiError, members::CaptchaMembers};

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A submitted payload as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptchaPayload {
    /// The text of an object.
    pub json: String,
    is_token: bool,
}

impl CaptchaPayload {
    /// Reads a payload from the JSON text of an object.
    pub fn from_json(text: &str) -> Result<Self, CaptchaApiError> {
        Ok(Self::new(text, &CaptchaMembers::parse(text, "payload")?))
    }

    /// Reads a payload that is a member of a parsed body.
    pub fn of_member(text: &str) -> Result<Self, CaptchaApiError> {
        Ok(Self::new(text, &CaptchaMembers::parse_member(text, "payload")?))
    }

    fn new(text: &str, members: &CaptchaMembers<'_>) -> Self {
        Self { json: text.to_owned(), is_token: members.contains("verificationData") }
    }

    /// Checks whether it is a token.
    pub fn is_token(&self) -> bool {
        self.is_token
    }

    /// Returns the text of a solved challenge; refuses a token, whose challenge has been judged already.
    pub fn solution(self) -> Result<String, CaptchaApiError> {
        match self.is_token {
            true => {
                Err(CaptchaApiError::bad_request("invalid-payload", "payload must be a solved challenge"))
            }
            false => Ok(self.json),
        }
    }

    /// Reads a payload from the widget's base64, in the standard or URL-safe alphabet.
    pub fn from_base64(text: &str) -> Result<Self, CaptchaApiError> {
        let standard = text.trim().replace('-', "+").replace('_', "/");
        let json = BASE64.decode(standard).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        match json {
            Some(json) => Self::from_json(&json),
            None => Err(CaptchaApiError::bad_request("invalid-payload", "payload must be base64 of JSON")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    #[test]
    fn both_base64_alphabets_are_read() {
        let json = r#"{"challenge":"???>>>ÿ~~"}"#;
        let standard = BASE64_STANDARD.encode(json);
        assert!(standard.contains('/') || standard.contains('+'), "{standard}");
        assert_eq!(CaptchaPayload::from_base64(&standard).unwrap().json, json);
        let url_safe = BASE64_URL_SAFE_NO_PAD.encode(json);
        assert_eq!(CaptchaPayload::from_base64(&url_safe).unwrap().solution().unwrap(), json);
    }

    #[test]
    fn token_is_recognised_by_its_member() {
        let json = r#"{"verificationData":"verified=true","signature":"00"}"#;
        assert_eq!(CaptchaPayload::from_json(json).unwrap().solution().unwrap_err().status, 400);
        let nested = r#"{"challenge":{"verificationData":1}}"#;
        assert_eq!(CaptchaPayload::from_json(nested).unwrap().solution().unwrap(), nested);
    }

    #[test]
    fn malformed_payloads_are_refused() {
        let invalid_utf8 = BASE64_STANDARD.encode(b"{\"a\":\"\xff\"}");
        for text in ["", "!", "====", "e30=e30=", "bnVsbA==", "W10=", "eyJhIjoxLCJhIjoxfQ==", &invalid_utf8] {
            assert_eq!(CaptchaPayload::from_base64(text).unwrap_err().status, 400, "{text}");
        }
        assert!(CaptchaPayload::from_base64("e30").is_ok());
    }

    #[test]
    fn payload_steps_grow_with_its_length() {
        let members =
            |bytes: usize| BASE64_STANDARD.encode(repeated("{", "\"a\":0,", "\"b\":0}", bytes / 4 * 3));
        let shapes: [Shape<'_, String>; 3] = [
            ("members", &members),
            ("letters of the other alphabet", &|bytes| repeated("", "-_", "", bytes)),
            ("spaces", &|bytes| repeated("", " ", "", bytes)),
        ];
        let test = concat!(module_path!(), "::payload_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| CaptchaPayload::from_base64(text).is_ok());
    }
}
