//! Reads `Authorization: Bearer` (RFC 6750).

use axum::http::{HeaderMap, header};

/// Returns the token of the only `Authorization: Bearer` header.
pub fn token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    // Keys may contain other characters than ASCII, which a header's text may not.
    let (scheme, token) = std::str::from_utf8(value.as_bytes()).ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn read(lines: &[&str]) -> Option<String> {
        let lines = lines.iter().map(|line| (header::AUTHORIZATION, line.parse().unwrap()));
        token(&HeaderMap::from_iter(lines)).map(str::to_owned)
    }

    #[test]
    fn scheme_case_and_spaces_are_ignored() {
        let mut other = HeaderMap::new();
        other.insert(
            header::AUTHORIZATION,
            header::HeaderValue::from_bytes("Bearer schlüssel".as_bytes()).unwrap(),
        );
        assert_eq!(token(&other), Some("schlüssel"));
        for line in ["Bearer key", "bearer key", "BEARER   key \t"] {
            assert_eq!(read(&[line]).as_deref(), Some("key"), "{line}");
        }
    }

    #[test]
    fn anything_else_is_no_token() {
        for lines in [&["Basic key"][..], &["key"], &["Bearer"], &["Bearer "], &[]] {
            assert_eq!(read(lines), None, "{lines:?}");
        }
        let mut twice = HeaderMap::new();
        twice.append(header::AUTHORIZATION, "Bearer a".parse().unwrap());
        twice.append(header::AUTHORIZATION, "Bearer a".parse().unwrap());
        assert_eq!(token(&twice), None);
    }

    #[test]
    fn token_steps_grow_with_header() {
        let with = |unit: &str, bytes| {
            let value = repeated("Bearer ", unit, "", bytes).parse().unwrap();
            HeaderMap::from_iter([(header::AUTHORIZATION, value)])
        };
        let shapes: [Shape<'_, HeaderMap>; 2] =
            [("letters", &|bytes| with("a", bytes)), ("spaces", &|bytes| with(" ", bytes))];
        let test = concat!(module_path!(), "::token_steps_grow_with_header");
        assert_linear(test, 1 << 20, &shapes, |headers| token(headers).is_some());
    }
}
