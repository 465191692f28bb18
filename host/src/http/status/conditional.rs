//! Headers by which a client keeps an answer and asks whether it still holds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest as _, Sha256};

/// What an answer is called and how old its figures are.
#[derive(Debug)]
pub struct Validity {
    etag: String,
    /// Its oldest figures.
    collected: SystemTime,
    /// Its newest.
    modified: SystemTime,
}

impl Validity {
    /// Of `data` as a client with these wishes gets it; its oldest and its newest figures were collected at these Unix
    /// seconds.
    pub fn new(data: &str, wishes: &str, collected_at: [f64; 2]) -> Self {
        let digest = Sha256::new_with_prefix(wishes).chain_update([0]).chain_update(data).finalize();
        let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let time = |seconds| UNIX_EPOCH + Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let [collected, modified] = collected_at.map(time);
        Self { etag: format!("W/\"{digits}\""), collected, modified }
    }

    /// Whether the client has this answer already (RFC 9110, 13.1).
    pub fn is_known(&self, request: &HeaderMap) -> bool {
        let mut tags = request.get_all(header::IF_NONE_MATCH).iter().peekable();
        if tags.peek().is_some() {
            let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
            let own = opaque(&self.etag);
            let texts = tags.filter_map(|line| line.to_str().ok());
            return texts.flat_map(|line| line.split(',')).any(|tag| tag.trim() == "*" || opaque(tag) == own);
        }
        let since = request.get(header::IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
        let since = since.and_then(|text| httpdate::parse_http_date(text).ok());
        since.is_some_and(|since| self.modified_second() <= since)
    }

    /// The bodiless answer to a client that has it.
    pub fn not_modified(&self) -> Response {
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        self.add_to(&mut response);
        response
    }

    /// Adds the headers.
    pub fn add_to(&self, response: &mut Response) {
        let now = SystemTime::now();
        let age = now.duration_since(self.collected).unwrap_or_default().as_secs();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=0"));
        headers.insert(header::AGE, HeaderValue::from(age));
        for (name, text) in [
            (header::ETAG, self.etag.clone()),
            (header::LAST_MODIFIED, httpdate::fmt_http_date(self.modified)),
            (header::EXPIRES, httpdate::fmt_http_date(now)),
        ] {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        }
    }

    /// Headers have whole seconds.
    fn modified_second(&self) -> SystemTime {
        let seconds = self.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        UNIX_EPOCH + Duration::from_secs(seconds)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn known(validity: &Validity, headers: &[(header::HeaderName, &str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
        validity.is_known(&headers.collect())
    }

    #[test]
    fn a_tag_goes_before_a_date() {
        let validity = Validity::new("{}", "true", [784_111_700.0, 784_111_777.5]);
        let own = validity.etag.clone();
        let strong = own.trim_start_matches("W/").to_owned();
        for tag in [own.as_str(), strong.as_str(), "*", &format!("\"x\", {own}")] {
            assert!(known(&validity, &[(header::IF_NONE_MATCH, tag)]), "{tag}");
        }
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert!(known(&validity, &[(header::IF_MODIFIED_SINCE, date)]));
        assert!(!known(&validity, &[(header::IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT")]));
        assert!(!known(&validity, &[(header::IF_NONE_MATCH, "\"x\""), (header::IF_MODIFIED_SINCE, date)]));
        assert!(!known(&validity, &[]));
    }

    #[test]
    fn other_data_and_other_wishes_have_other_tags() {
        let tag = |data, wishes| Validity::new(data, wishes, [0.0; 2]).etag;
        assert_ne!(tag("{}", "a"), tag("{ }", "a"));
        assert_ne!(tag("{}", "a"), tag("{}", "b"));
        assert_eq!(tag("{}", "a"), tag("{}", "a"));
    }

    #[test]
    fn tag_steps_grow_with_their_list() {
        let validity = Validity::new("{}", "true", [0.0; 2]);
        let with = |unit: &str, bytes| {
            HeaderMap::from_iter([(header::IF_NONE_MATCH, repeated("", unit, "", bytes).parse().unwrap())])
        };
        let shapes: [Shape<'_, HeaderMap>; 3] = [
            ("commas", &|bytes| with(",", bytes)),
            ("tags", &|bytes| with("W/\"a\", ", bytes)),
            ("marks of weak tags", &|bytes| with("W/", bytes)),
        ];
        let test = concat!(module_path!(), "::tag_steps_grow_with_their_list");
        assert_linear(test, 1 << 20, &shapes, |headers| validity.is_known(headers));
    }
}
