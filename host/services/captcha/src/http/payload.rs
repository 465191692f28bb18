//! What a client hands in as proof: a solved ALTCHA challenge, or the token that this service signed
//! for one. The solved challenge stays text; only the sandbox looks into it.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{error::ApiError, members::Members};

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A proof as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The text of an object.
    pub json: String,
    is_token: bool,
}

impl Payload {
    /// From the JSON text of an object.
    pub fn from_json(text: &str) -> Result<Self, ApiError> {
        let is_token = Members::parse(text, "payload")?.contains("verificationData");
        Ok(Self { json: text.to_owned(), is_token })
    }

    /// Whether it is a token.
    pub fn is_token(&self) -> bool {
        self.is_token
    }

    /// The text of a solved challenge; a token is refused, since it has been judged already.
    pub fn solution(self) -> Result<String, ApiError> {
        match self.is_token {
            true => Err(ApiError::bad_request("invalid-payload", "payload must be a solved challenge")),
            false => Ok(self.json),
        }
    }

    /// From the widget's base64 form, standard or URL-safe alphabet.
    pub fn from_base64(text: &str) -> Result<Self, ApiError> {
        let standard = text.trim().replace('-', "+").replace('_', "/");
        let json = BASE64.decode(standard).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        match json {
            Some(json) => Self::from_json(&json),
            None => Err(ApiError::bad_request("invalid-payload", "payload must be base64 of JSON")),
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
    fn both_alphabets_are_read() {
        let json = r#"{"challenge":"???>>>ÿ~~"}"#;
        let standard = BASE64_STANDARD.encode(json);
        assert!(standard.contains('/') || standard.contains('+'), "{standard}");
        assert_eq!(Payload::from_base64(&standard).unwrap().json, json);
        let url_safe = BASE64_URL_SAFE_NO_PAD.encode(json);
        assert_eq!(Payload::from_base64(&url_safe).unwrap().solution().unwrap(), json);
    }

    #[test]
    fn a_token_is_told_by_its_member() {
        let json = r#"{"verificationData":"verified=true","signature":"00"}"#;
        assert_eq!(Payload::from_json(json).unwrap().solution().unwrap_err().status, 400);
        let nested = r#"{"challenge":{"verificationData":1}}"#;
        assert_eq!(Payload::from_json(nested).unwrap().solution().unwrap(), nested);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let invalid_utf8 = BASE64_STANDARD.encode(b"{\"a\":\"\xff\"}");
        for text in ["", "!", "====", "e30=e30=", "bnVsbA==", "W10=", "eyJhIjoxLCJhIjoxfQ==", &invalid_utf8] {
            assert_eq!(Payload::from_base64(text).unwrap_err().status, 400, "{text}");
        }
        assert!(Payload::from_base64("e30").is_ok());
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
        assert_linear(test, 1 << 20, &shapes, |text| Payload::from_base64(text).is_ok());
    }
}
