//! `/console`: a web page for operating slots. The binary embeds its files from `console/` unchanged.
//!
//! The page calls `/v1` like any other client, with the token that its user enters. Its content security policy makes
//! sure that it loads nothing from elsewhere and runs no script but its own files.

use std::sync::Arc;

use axum::{
    Router,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use sha2::{Digest as _, Sha256};

/// A file of the console: path, content type, content.
type ConsoleFile = (&'static str, &'static str, &'static str);

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! files {
    ($($kind:ident $file:literal;)*) => {
        /// Every file of the console.
        const FILES: &[ConsoleFile] = &[
            ("/console", HTML, include_str!("console/index.html")),
            $((concat!("/console/", $file), $kind, include_str!(concat!("console/", $file)))),*
        ];
    };
}

files! {
    SCRIPT "api.js";
    SCRIPT "app.js";
    SCRIPT "audit.js";
    STYLE "base.css";
    SCRIPT "changes.js";
    SCRIPT "chart.js";
    SCRIPT "comparison.js";
    SCRIPT "configuration.js";
    SCRIPT "dialog.js";
    SCRIPT "doing.js";
    SCRIPT "dom.js";
    SCRIPT "format.js";
    SCRIPT "history.js";
    SCRIPT "login.js";
    SCRIPT "logs.js";
    SCRIPT "moves.js";
    SCRIPT "overview.js";
    SCRIPT "poll.js";
    SCRIPT "problem.js";
    SCRIPT "session.js";
    SCRIPT "shadow.js";
    SCRIPT "share.js";
    SCRIPT "slot.js";
    SCRIPT "state.js";
    SCRIPT "upload.js";
    SCRIPT "versions.js";
    STYLE "views.css";
}

/// The content security policy: it allows only the page's own files, and no text of an answer becomes markup or script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns the routes of the console.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let router = Router::new().route("/console/", get(async || Redirect::permanent("../console")));
    FILES.iter().fold(router, |router, file| {
        let etag: Arc<str> = etag(file.2).into();
        router.route(file.0, get(move |headers: HeaderMap| async move { respond(file, &etag, &headers) }))
    })
}

/// Returns the entity tag of a content.
fn etag(content: &str) -> String {
    let digest = hex::encode(Sha256::digest(content));
    format!("\"{}\"", digest.get(..32).unwrap_or_default())
}

/// Returns the file, or 304 where the client has it. Clients revalidate on every load, since files of two builds do not
/// work together.
fn respond((_, kind, content): &ConsoleFile, etag: &str, request: &HeaderMap) -> Response {
    let cached = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|etags| etags.to_str().ok());
    let is_cached = cached.flat_map(|etags| etags.split(',')).any(|cached| {
        let cached = cached.trim();
        cached == "*" || cached.strip_prefix("W/").unwrap_or(cached) == etag
    });
    let mut response = match is_cached {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, *kind)], *content).into_response(),
    };
    let headers = response.headers_mut();
    let fixed: [(HeaderName, &str); 5] = [
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    headers.extend(HeaderValue::from_str(etag).map(|etag| (header::ETAG, etag)));
    response
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::{collections::BTreeSet, fs, path::Path};

    use axum::{body::Body, http::Request};
    use bulkhead_steps::{Shape, assert_linear, repeated};
    use tower::ServiceExt as _;

    use super::*;

    async fn fetch(path: &str, cached: &str) -> Response {
        let request = Request::get(path).header("if-none-match", cached).body(Body::empty()).unwrap();
        router().oneshot(request).await.unwrap()
    }

    #[test]
    fn every_file_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console");
        let files =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let served = FILES.iter().map(|(path, ..)| match *path {
            "/console" => "index.html".to_owned(),
            path => path.strip_prefix("/console/").unwrap().to_owned(),
        });
        assert_eq!(files.collect::<BTreeSet<_>>(), served.collect());
    }

    #[test]
    fn files_name_no_other_origin_or_markup() {
        const MARKUP: [&str; 7] = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "srcdoc",
            "DOMParser",
        ];
        for (path, _, content) in FILES {
            let content = content.replace("http://www.w3.org/2000/svg", "");
            assert!(!content.contains("://") && !content.contains("url("), "{path}");
            assert!(MARKUP.iter().all(|word| !content.contains(word)), "{path}");
            assert!(
                !content.contains("style=") && !content.contains(" onclick="),
                "{path}: refused by the policy"
            );
        }
    }

    #[tokio::test]
    async fn cached_file_is_answered_with_304() {
        let first = fetch("/console/app.js", "\"other\"").await;
        assert_eq!(first.status(), 200);
        assert_eq!(first.headers()[header::CACHE_CONTROL], "no-cache");
        let tag = first.headers()[header::ETAG].to_str().unwrap().to_owned();
        assert_ne!(tag, fetch("/console/dom.js", "").await.headers()[header::ETAG].to_str().unwrap());
        for cached in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
            let again = fetch("/console/app.js", &cached).await;
            assert_eq!(again.status(), 304, "{cached}");
            assert_eq!(again.headers()[header::ETAG].to_str().unwrap(), tag);
            assert!(again.headers().get(header::CONTENT_TYPE).is_none());
        }
    }

    #[test]
    fn etag_steps_grow_with_header() {
        let with = |unit: &str, bytes| {
            HeaderMap::from_iter([(header::IF_NONE_MATCH, repeated("", unit, "", bytes).parse().unwrap())])
        };
        let shapes: [Shape<'_, HeaderMap>; 3] = [
            ("tags", &|bytes| with("W/\"a\",", bytes)),
            ("commas", &|bytes| with(",", bytes)),
            ("spaces", &|bytes| with(" ", bytes)),
        ];
        let test = concat!(module_path!(), "::etag_steps_grow_with_header");
        assert_linear(test, 1 << 20, &shapes, |headers| respond(&FILES[0], "\"b\"", headers));
    }
}
