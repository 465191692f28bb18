//! Validators and conditional requests: `ETag`, `Last-Modified`, `Age` and the conditions of a request.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest as _, Sha256};

use crate::StatusPayload;

/// The validators of a response and the age of its figures.
#[derive(Debug)]
pub struct Validity {
    etag: String,
    /// When its oldest figures were collected.
    collected: SystemTime,
    /// When its payload was made.
    modified: SystemTime,
    /// Whether another payload was made in the same second.
    shares_second: bool,
}

impl Validity {
    /// Creates the validators of `data`, the form of `payload` for a query with this key.
    pub fn new(data: &str, query_key: &str, payload: &StatusPayload) -> Self {
        Self::tagged(tag(data, query_key), payload)
    }

    /// Creates the validators of the whole payload, for the query with this key that asks for it.
    pub fn of_whole(payload: &StatusPayload, query_key: &str) -> Self {
        let etag = payload.tag.get_or_init(|| tag(payload.data.get(), query_key));
        Self::tagged(etag.clone(), payload)
    }

    fn tagged(etag: String, payload: &StatusPayload) -> Self {
        Self {
            etag,
            collected: time(payload.collected_at),
            modified: time(payload.modified_at),
            shares_second: payload.shares_second,
        }
    }

    /// Checks whether the client has this response already (RFC 9110, 13.1).
    pub fn matches(&self, request: &HeaderMap) -> bool {
        let mut tags = request.get_all(header::IF_NONE_MATCH).iter().peekable();
        if tags.peek().is_some() {
            let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
            let own = opaque(&self.etag);
            let texts = tags.filter_map(|line| line.to_str().ok());
            return texts.flat_map(|line| line.split(',')).any(|tag| tag.trim() == "*" || opaque(tag) == own);
        }
        let since = request.get(header::IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
        let since = since.and_then(|text| httpdate::parse_http_date(text).ok());
        let modified = self.modified_second();
        // The other payload of that second has the same date.
        since.is_some_and(|since| if self.shares_second { modified < since } else { modified <= since })
    }

    /// Returns the response without a body for a client that has it.
    pub fn not_modified(&self) -> Response {
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        self.add_to(&mut response);
        response
    }

    /// Adds the headers to a response.
    pub fn add_to(&self, response: &mut Response) {
        let now = SystemTime::now();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=0"));
        headers.insert(header::AGE, age(self.collected, now));
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

    /// Returns when the payload was made, in the whole seconds of headers.
    fn modified_second(&self) -> SystemTime {
        let seconds = self.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        UNIX_EPOCH + Duration::from_secs(seconds)
    }
}

/// Returns the tag of a payload's form for a query.
fn tag(data: &str, query_key: &str) -> String {
    let digest = Sha256::new_with_prefix(query_key).chain_update([0]).chain_update(data).finalize();
    let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{digits}\"")
}

/// Returns the `Age` of figures that were collected at these Unix seconds.
pub fn age_since(collected_at: f64) -> HeaderValue {
    age(time(collected_at), SystemTime::now())
}

fn age(collected: SystemTime, now: SystemTime) -> HeaderValue {
    HeaderValue::from(now.duration_since(collected).unwrap_or_default().as_secs())
}

fn time(unix_seconds: f64) -> SystemTime {
    UNIX_EPOCH + Duration::try_from_secs_f64(unix_seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::OnceLock;

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn payload(modified_at: f64, shares_second: bool) -> StatusPayload {
        let data = serde_json::from_str("{}").unwrap();
        StatusPayload { data, collected_at: 784_111_700.0, modified_at, shares_second, tag: OnceLock::new() }
    }

    fn known(validity: &Validity, headers: &[(header::HeaderName, &str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
        validity.matches(&headers.collect())
    }

    #[test]
    fn tag_takes_precedence_over_date() {
        let validity = Validity::new("{}", "true", &payload(784_111_777.5, false));
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
    fn shared_date_does_not_match() {
        let validity = Validity::new("{}", "true", &payload(784_111_777.5, true));
        for (date, is_known) in [("08:49:37", false), ("08:49:38", true)] {
            let date = format!("Sun, 06 Nov 1994 {date} GMT");
            assert_eq!(known(&validity, &[(header::IF_MODIFIED_SINCE, &date)]), is_known, "{date}");
        }
    }

    #[test]
    fn tag_depends_on_data_and_query() {
        let whole = payload(0.0, false);
        let tagged = Validity::of_whole(&whole, "true").etag;
        assert_eq!(tagged, Validity::new("{}", "true", &whole).etag);
        assert_eq!(tagged, Validity::of_whole(&whole, "true").etag);
        let tag = |data, query_key| Validity::new(data, query_key, &payload(0.0, false)).etag;
        assert_ne!(tag("{}", "a"), tag("{ }", "a"));
        assert_ne!(tag("{}", "a"), tag("{}", "b"));
        assert_eq!(tag("{}", "a"), tag("{}", "a"));
    }

    #[test]
    fn tag_steps_grow_with_their_list() {
        let validity = Validity::new("{}", "true", &payload(0.0, false));
        let with = |unit: &str, bytes| {
            HeaderMap::from_iter([(header::IF_NONE_MATCH, repeated("", unit, "", bytes).parse().unwrap())])
        };
        let shapes: [Shape<'_, HeaderMap>; 3] = [
            ("commas", &|bytes| with(",", bytes)),
            ("tags", &|bytes| with("W/\"a\", ", bytes)),
            ("marks of weak tags", &|bytes| with("W/", bytes)),
        ];
        let test = concat!(module_path!(), "::tag_steps_grow_with_their_list");
        assert_linear(test, 1 << 20, &shapes, |headers| validity.matches(headers));
    }
}
