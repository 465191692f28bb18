//! Tests of the layers: request ids, sniffing and log lines.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::{io, sync::Mutex};

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
    routing::get,
};
use tower::ServiceExt;
use tracing::instrument::WithSubscriber;

use super::*;
use crate::request_id;

async fn ask(request: axum::http::request::Builder) -> Response {
    let explode = async || -> () { panic!("as intended") };
    let router = Router::new().route("/things/{id}", get(async || "hello")).route("/panic", get(explode));
    let layers = Layers {
        compression: true,
        proxies: Proxies::none(),
        observer: Arc::new(()),
        innermost: None,
        rest: None,
    };
    let request = request.header("host", "x").body(Body::empty()).unwrap();
    with_layers(router, layers).oneshot(request).await.unwrap()
}

#[tokio::test]
async fn answers_have_id_and_forbid_sniffing() {
    for (path, status) in [
        ("/things/1", StatusCode::OK),
        ("/nowhere", StatusCode::NOT_FOUND),
        ("/panic", StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        let response = ask(Request::get(path)).await;
        assert_eq!(response.status(), status, "{path}");
        assert!(response.headers().contains_key(request_id::X_REQUEST_ID), "{path}");
        assert_eq!(response.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
    }
}

#[tokio::test]
async fn only_routes_are_compressed() {
    let large = async || "x".repeat(5000);
    let layers = Layers {
        compression: true,
        proxies: Proxies::none(),
        observer: Arc::new(()),
        innermost: None,
        rest: Some(Router::new().fallback(large)),
    };
    let router = with_layers(Router::new().route("/route", get(large)), layers);
    for (path, is_compressed) in [("/route", true), ("/rest", false)] {
        let request = Request::get(path).header("host", "x").header("accept-encoding", "gzip");
        let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(response.headers().contains_key("content-encoding"), is_compressed, "{path}");
        assert!(response.headers().contains_key(request_id::X_REQUEST_ID), "{path}");
    }
}

/// Collects what is logged.
#[derive(Default)]
struct Lines(Mutex<Vec<u8>>);

impl io::Write for &Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn log_lines_have_id_and_no_path() {
    let lines = Arc::new(Lines::default());
    let subscriber =
        tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(Arc::clone(&lines)).finish();
    let requests = async {
        for path in ["/things/secret?token=secret", "/secret", "/panic"] {
            let request = Request::get(path).header(request_id::X_REQUEST_ID, "my-id");
            let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
            let response = ask(request.header("traceparent", parent)).await;
            to_bytes(response.into_body(), 1000).await.unwrap();
        }
    };
    requests.with_subscriber(subscriber).await;
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let ours: Vec<_> = text.lines().filter(|line| line.contains("bulkhead_http")).collect();
    let [things, unmatched, panicked, failed] = ours[..] else { panic!("{text}") };
    for line in &ours {
        assert!(line.contains(r#"request{id="my-id" traceparent="00-4bf9"#), "{line}");
    }
    let answered = r#"answered method="GET" route="/things/{id}" status=200 ms="#;
    assert!(things.contains(answered) && things.ends_with("bytes=5"), "{things}");
    assert!(unmatched.contains(r#"route="unmatched" status=404"#), "{unmatched}");
    assert!(panicked.contains("ERROR") && panicked.contains("as intended"), "{panicked}");
    assert!(failed.contains(r#"route="/panic" status=500"#), "{failed}");
    assert!(!text.contains("secret"), "{text}");
}
