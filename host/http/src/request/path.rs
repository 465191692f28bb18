//! Checks the paths of requests, and matches them with prefixes.
//!
//! A path is matched segment by segment, each one decoded: `%2F` is part of a segment and separates none, and an empty segment
//! (`//`) is one like any other. A path with a segment `.` or `..`, also an encoded one, matches nothing: clients resolve such
//! segments before they send a path, and two programs that resolve them differently would disagree about whose path it is.

use std::borrow::Cow;

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use percent_encoding::percent_decode_str;

use crate::error::HostError;

/// Returns the answer 404 to a path that is not UTF-8, for [`check_requests`](crate::middleware::check_requests) around
/// routes that read parts of the path.
pub fn refuse_unreadable(request: &mut Request) -> Option<Response> {
    let path = request.uri().path();
    let is_unreadable = path.contains('%') && percent_decode_str(path).decode_utf8().is_err();
    is_unreadable.then(|| HostError::NOT_FOUND.into_response())
}

/// Returns whether a path may be matched: every segment is UTF-8, and none is `.` or `..`.
pub fn is_plain(path: &str) -> bool {
    path.split('/').all(|segment| decoded(segment).is_some_and(|segment| !matches!(&*segment, "." | "..")))
}

/// Returns what of a path follows a prefix, which consists of whole segments such as `/shop`: empty, or `/` and the rest.
pub fn after_prefix<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let mut rest = path;
    for wanted in prefix.split('/').skip(1) {
        let segments = rest.strip_prefix('/')?;
        let end = segments.find('/').unwrap_or(segments.len());
        let (segment, after) = segments.split_at_checked(end)?;
        if decoded(segment)? != wanted {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

fn decoded(segment: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(segment).decode_utf8().ok()
}

#[cfg(test)]
mod tests {
    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    #[test]
    fn prefix_ends_at_segment() {
        for (path, prefix, rest) in [
            ("/shop", "/shop", Some("")),
            ("/shop/", "/shop", Some("/")),
            ("/shop/a//b", "/shop", Some("/a//b")),
            ("/sh%6fp/a", "/shop", Some("/a")),
            ("/a/b/c", "/a/b", Some("/c")),
            ("/any", "", Some("/any")),
            ("/shopping", "/shop", None),
            ("/shop%2fa", "/shop", None),
            ("/shop%2Fa", "/shop/a", None),
            ("//shop", "/shop", None),
            ("/a", "/a/b", None),
            ("", "/a", None),
            ("/%ff", "/a", None),
        ] {
            assert_eq!(after_prefix(path, prefix), rest, "{path} {prefix}");
        }
    }

    #[test]
    fn dot_segments_are_not_plain() {
        for path in ["/", "/a//b", "/...", "/a.b/..c", "/%2f..", ""] {
            assert!(is_plain(path), "{path}");
        }
        for path in ["/..", "/a/../b", "/a/.", "/%2e%2e/a", "/a/.%2E", "/%ff"] {
            assert!(!is_plain(path), "{path}");
        }
    }

    #[test]
    fn matching_steps_grow_with_path() {
        let with = |unit: &str, bytes| repeated("/", unit, "", bytes);
        let shapes: [Shape<'_, String>; 3] = [
            ("segments", &|bytes| with("a/", bytes)),
            ("slashes", &|bytes| with("/", bytes)),
            ("escapes", &|bytes| with("%2e", bytes)),
        ];
        let test = concat!(module_path!(), "::matching_steps_grow_with_path");
        assert_linear(test, 1 << 16, &shapes, |path| (is_plain(path), after_prefix(path, "/a/b").is_some()));
    }
}
