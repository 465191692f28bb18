//! Serves the start page of a demonstration: what runs, a form for each service, and links.
//!
//! A browser gets the page at `/`; other clients get the answer that they get without the page. Its files are below
//! `/demo/start`. The page loads nothing from other places and runs no script but its own files; its policy enforces
//! that.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::Next,
    response::Response,
    routing::get,
};
use bulkhead_http::asset::{Asset, HTML, SCRIPT, STYLE, TEXT};
use bulkhead_telemetry::accept::negotiate;
use serde_json::{Value, json};

/// The content security policy: only the page's own files are loaded, and text never becomes markup or script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The path of the page's files.
const FOLDER: &str = "/demo/start";

/// The media types of the answers at `/`. Only a client that names HTML and prefers it gets the page.
const OFFERS: [&str; 3] = ["application/json", "text/plain", "text/html"];

static PAGE: Asset = Asset::text("index.html", HTML, include_str!("page/index.html"));

macro_rules! own {
    ($kind:ident, $file:literal) => {
        Asset::text($file, $kind, include_str!(concat!("page/", $file)))
    };
}

/// The files that the page loads.
static FILES: [Asset; 8] = [
    own!(SCRIPT, "app.js"),
    own!(SCRIPT, "call.js"),
    own!(SCRIPT, "captcha.js"),
    own!(SCRIPT, "dom.js"),
    own!(SCRIPT, "embedding.js"),
    own!(SCRIPT, "status.js"),
    own!(SCRIPT, "tickets.js"),
    own!(STYLE, "start.css"),
];

/// The guides that the binary carries, with their titles.
static GUIDES: [(Asset, &str); 8] = [
    (Asset::text("README.md", TEXT, include_str!("../../../../../README.md")), "Bulkhead"),
    (
        Asset::text("embedding.md", TEXT, include_str!("../../../../services/embedding/README.md")),
        "Embedding",
    ),
    (Asset::text("tickets.md", TEXT, include_str!("../../../../services/tickets/README.md")), "Tickets"),
    (Asset::text("status.md", TEXT, include_str!("../../../../services/status/README.md")), "Status"),
    (Asset::text("captcha.md", TEXT, include_str!("../../../../services/captcha/README.md")), "Captcha"),
    (Asset::text("rollout.md", TEXT, include_str!("../../../../rollout/README.md")), "Operating components"),
    (
        Asset::text("components.md", TEXT, include_str!("../../../../../components/README.md")),
        "Writing components",
    ),
    (Asset::text("SECURITY.md", TEXT, include_str!("../../../../../SECURITY.md")), "Security"),
];

/// Returns the routes of the files that the page loads. `what` is called for every request, returns what runs, and must
/// not block.
pub fn router(what: impl Fn() -> Value + Send + Sync + 'static) -> Router {
    let what = Arc::new(what);
    let what_runs = get(move || {
        let what = with_guides(what());
        async move { ([(header::CACHE_CONTROL, "no-store")], Json(what)) }
    });
    let router = Router::new().route(&format!("{FOLDER}/what-runs.json"), what_runs);
    let files = FILES.iter().map(|file| (format!("{FOLDER}/{}", file.name), file));
    let guides = GUIDES.iter().map(|(file, _)| (format!("{FOLDER}/guides/{}", file.name), file));
    files.chain(guides).fold(router, |router, (path, file)| {
        router.route(&path, get(move |headers: HeaderMap| async move { file.answer(&headers, POLICY) }))
    })
}

/// Adds the guides' titles, and their paths relative to `/`.
fn with_guides(mut what: Value) -> Value {
    let folder = FOLDER.trim_start_matches('/');
    let guides = GUIDES
        .iter()
        .map(|(file, title)| json!({ "path": format!("{folder}/guides/{}", file.name), "title": title }));
    if let Some(members) = what.as_object_mut() {
        members.insert("guides".to_owned(), guides.collect());
    }
    what
}

/// Answers a browser that asks for `/` with the page, as middleware.
pub async fn answer_browser(request: Request, next: Next) -> Response {
    let is_read = [Method::GET, Method::HEAD].contains(request.method());
    if is_read && request.uri().path() == "/" && prefers_html(request.headers()) {
        let mut response = PAGE.answer(request.headers(), POLICY);
        response.headers_mut().append(header::VARY, HeaderValue::from_static("accept"));
        return response;
    }
    next.run(request).await
}

/// Returns whether a client names HTML in `Accept` and prefers nothing to it. A browser does; a client with `*/*`, or
/// without `Accept`, does not.
fn prefers_html(headers: &HeaderMap) -> bool {
    let accepted: Vec<&str> =
        headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    negotiate(Some(&accepted.join(",")), &OFFERS) == Some("text/html")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::{collections::BTreeSet, fs, path::Path};

    use axum::{
        body::{Body, to_bytes},
        http::StatusCode,
        middleware::from_fn,
        routing::post,
    };
    use tower::ServiceExt as _;

    use super::*;

    /// What Chromium, Firefox and an old browser send.
    const BROWSERS: [&str; 3] = [
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html, */*",
    ];

    async fn ask(method: &str, path: &str, accept: Option<&str>) -> Response {
        let files = router(|| json!({ "version": "1" }));
        let router =
            Router::new().route("/", post(async || "posted")).merge(files).layer(from_fn(answer_browser));
        let mut request = Request::builder().method(method).uri(path);
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    fn is_html(response: &Response) -> bool {
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == HTML)
    }

    #[tokio::test]
    async fn browser_gets_the_page() {
        for accept in BROWSERS {
            let response = ask("GET", "/", Some(accept)).await;
            assert_eq!((response.status(), is_html(&response)), (StatusCode::OK, true), "{accept}");
            assert_eq!(response.headers()[header::VARY], "accept");
            assert_eq!(response.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
        }
        assert!(is_html(&ask("HEAD", "/", Some(BROWSERS[0])).await));
    }

    #[tokio::test]
    async fn other_clients_get_what_they_got() {
        for accept in [
            None,
            Some(""),
            Some("*/*"),
            Some("*"),
            Some("text/*"),
            Some("application/json"),
            Some("application/json, text/html"),
            Some("application/json, text/html;q=0.9"),
            Some("text/html;q=0, */*"),
            Some("text/html;q=0.1, */*"),
            Some("text/plain, text/html;q=0.5"),
        ] {
            let response = ask("GET", "/", accept).await;
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{accept:?}");
            assert_eq!(response.headers()[header::ALLOW], "POST", "{accept:?}");
            assert!(!is_html(&response), "{accept:?}");
        }
        let posted = ask("POST", "/", Some(BROWSERS[0])).await;
        assert_eq!(to_bytes(posted.into_body(), 100).await.unwrap(), "posted");
        assert_eq!(ask("GET", "/other", Some(BROWSERS[0])).await.status(), StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn every_file_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/host/start/page");
        let there =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let served = FILES.iter().chain([&PAGE]).map(|file| file.name.to_owned());
        assert_eq!(there.collect::<BTreeSet<_>>(), served.collect());
        for name in FILES.iter().map(|file| file.name).chain(["guides/README.md", "what-runs.json"]) {
            let response = ask("GET", &format!("{FOLDER}/{name}"), None).await;
            assert_eq!(response.status(), StatusCode::OK, "{name}");
        }
    }

    #[tokio::test]
    async fn page_has_no_urls_and_no_markup() {
        const MARKUP: [&str; 6] =
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"];
        for file in FILES.iter().chain([&PAGE]) {
            let body = to_bytes(file.answer(&HeaderMap::new(), POLICY).into_body(), 1 << 20).await.unwrap();
            let text = String::from_utf8(body.to_vec()).unwrap();
            assert!(!text.contains("http://") && !text.contains("url("), "{}", file.name);
            assert!(MARKUP.iter().all(|word| !text.contains(word)), "{}", file.name);
            assert!(!text.contains("style=") && !text.contains(" onclick="), "{}: refused", file.name);
        }
    }
}
