//! Checks the host that a request is for: the Host field, of which HTTP/1.1 requires exactly one (RFC 9112, section 3.2), since
//! of two, a proxy may use one and a service here the other; and the authority of its target, such as `:authority` in HTTP/2.

use axum::{
    extract::Request,
    http::{HeaderMap, Uri, Version, header::HOST},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::forwarded;
use crate::error::HostError;

/// Answers 400 when the field is missing, doubled, empty or malformed, or the authority is malformed (middleware).
pub async fn check(request: Request, next: Next) -> Response {
    if is_sound(&request) { next.run(request).await } else { HostError::BAD_HOST.into_response() }
}

/// Returns whether a request names one host.
pub(super) fn is_sound(request: &Request) -> bool {
    is_target_sound(request.uri()) && is_field_sound(request.version(), request.headers())
}

/// Returns whether the authority of a target is a host, without the user that only a URI may name (RFC 9110, section 4.2.4).
fn is_target_sound(target: &Uri) -> bool {
    target.authority().is_none_or(|authority| forwarded::is_authority(authority.as_str()))
}

fn is_field_sound(version: Version, headers: &HeaderMap) -> bool {
    let mut fields = headers.get_all(HOST).iter();
    match (fields.next(), fields.next()) {
        // HTTP/2 has an authority instead, HTTP/1.0 nothing.
        (None, _) => version != Version::HTTP_11,
        (Some(field), None) => field.to_str().is_ok_and(forwarded::is_authority),
        (Some(_), Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::HeaderValue;
    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn sound(version: Version, fields: &[&'static str]) -> bool {
        let fields = fields.iter().map(|field| (HOST, HeaderValue::from_static(field)));
        is_field_sound(version, &fields.collect())
    }

    #[test]
    fn http_1_1_names_one_host() {
        for good in ["example.org", "example.org:8080", "192.0.2.1", "[2001:db8::1]:80"] {
            assert!(sound(Version::HTTP_11, &[good]), "{good}");
        }
        for bad in ["", "a b", "user@example.org", "a/b"] {
            assert!(!sound(Version::HTTP_11, &[bad]), "{bad}");
        }
        assert!(!sound(Version::HTTP_11, &[]));
        assert!(!sound(Version::HTTP_11, &["one", "two"]));
        assert!(!sound(Version::HTTP_11, &["same", "same"]));
    }

    #[test]
    fn target_names_a_host_without_user() {
        for (target, is_sound) in [
            ("/a", true),
            ("*", true),
            ("http://example.org:8080/a", true),
            ("http://[2001:db8::1]/", true),
            ("http://user@example.org/", false),
            ("http://user:password@example.org/", false),
        ] {
            assert_eq!(is_target_sound(&target.parse().unwrap()), is_sound, "{target}");
        }
    }

    #[test]
    fn other_versions_need_not_name_one() {
        for version in [Version::HTTP_10, Version::HTTP_2] {
            assert!(sound(version, &[]));
            assert!(sound(version, &["example.org"]));
            assert!(!sound(version, &[""]));
            assert!(!sound(version, &["one", "two"]));
        }
    }

    #[test]
    fn host_steps_grow_with_its_length() {
        let with = |unit: &str, bytes| {
            let value = HeaderValue::from_str(&repeated("", unit, "", bytes)).unwrap();
            HeaderMap::from_iter([(HOST, value)])
        };
        // What is longer than 65,534 bytes is refused by its length.
        let shapes: [Shape<'_, HeaderMap>; 3] = [
            ("labels", &|bytes| with("a.", bytes)),
            ("colons", &|bytes| with(":", bytes)),
            ("brackets", &|bytes| with("[", bytes)),
        ];
        let test = concat!(module_path!(), "::host_steps_grow_with_its_length");
        assert_linear(test, 65_534, &shapes, |headers| is_field_sound(Version::HTTP_11, headers));
    }
}
