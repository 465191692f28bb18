//! Serves the start page of a demonstration: what runs, a form for each service, and links.
//!
//! A browser gets the page at `/`; other clients get the answer that they get without the page. Its files are below
//! `/demo/start`. The page loads nothing from other places and runs no script but its own files; its policy enforces
//! that.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::Next,
    response::Response,
    routing::get,
};
use bulkhead_http::asset::{Asset, HTML, SCRIPT, STYLE};
use bulkhead_service::{PageEntry, PageGuide};
use bulkhead_telemetry::accept::negotiate;
use serde_json::{Value, json};

use super::guide::{Guide, escaped};
use crate::distribution::{BinaryGuide, StartPage};

/// The content security policy: only the page's own files are loaded, and text never becomes markup or script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The path of the page's files.
const FOLDER: &str = "/demo/start";

/// The media types of the answers at `/`. Only a client that names HTML and prefers it gets the page.
const OFFERS: [&str; 3] = ["application/json", "text/plain", "text/html"];

/// The line of the page in whose place the forms of services are put.
const FORMS: &str = "    <!-- forms -->\n";
/// The text of the page in whose place the name of the product is put.
const NAME: &str = "{name}";

macro_rules! own {
    ($kind:ident, $file:literal) => {
        Asset::text($file, $kind, include_str!(concat!("page/", $file)))
    };
}

/// The files of every page.
static FILES: [Asset; 4] =
    [own!(SCRIPT, "app.js"), own!(SCRIPT, "call.js"), own!(SCRIPT, "dom.js"), own!(STYLE, "start.css")];

/// Returns the page of a product with the forms of the services, which are given with their names.
pub fn with_forms(name: &str, services: &[(&'static str, PageEntry)]) -> Asset {
    let forms = services.iter().filter_map(|(_, entry)| entry.form);
    let forms: String = forms.map(|form| format!("{}\n", form.html)).collect();
    let page = include_str!("page/index.html").replace(NAME, &escaped(name));
    Asset::made("index.html", HTML, page.replace(FORMS, &forms))
}

/// Returns the routes of the files that the page loads, for services that are given with their names. `what` is called for
/// every request, returns what runs, and must not block.
pub fn router(
    page: &StartPage,
    services: &[(&'static str, PageEntry)],
    what: impl Fn() -> Value + Send + Sync + 'static,
) -> Router {
    let guides = guides(page, services);
    let listed: Value = guides.iter().map(listed).collect();
    let what = Arc::new(what);
    let what_runs = get(move || {
        let what = with_guides(what(), &listed);
        async move { ([(header::CACHE_CONTROL, "no-store")], Json(what)) }
    });
    let mut router = Router::new().route(&format!("{FOLDER}/what-runs.json"), what_runs);
    for file in &FILES {
        let answer = move |headers: HeaderMap| async move { file.answer(&headers, POLICY) };
        router = router.route(&format!("{FOLDER}/{}", file.name), get(answer));
    }
    for (name, entry) in services {
        if let Some(form) = entry.form {
            let script = Asset::text(name, SCRIPT, form.script);
            router = with_file(router, &format!("{FOLDER}/forms/{name}.js"), script);
        }
    }
    let sources: BTreeSet<String> = guides.iter().map(|guide| guide.source.clone()).collect();
    for guide in guides {
        let html = Asset::made(guide.title, HTML, guide.html(page.name, &sources));
        router = with_file(router, &format!("{FOLDER}/guides/{}", guide.page()), html);
    }
    router
}

/// Adds the route of a file.
fn with_file(router: Router, path: &str, file: Asset) -> Router {
    let file = Arc::new(file);
    let answer = move |headers: HeaderMap| {
        let answer = file.answer(&headers, POLICY);
        async move { answer }
    };
    router.route(path, get(answer))
}

/// Returns every guide in the order of the list.
fn guides(page: &StartPage, services: &[(&'static str, PageEntry)]) -> Vec<Guide> {
    let own = |guide: &BinaryGuide| {
        let BinaryGuide { source, title, text } = *guide;
        Guide { source: source.to_owned(), title, text }
    };
    let of_service = |(name, entry): &(&'static str, PageEntry)| {
        let PageGuide { title, text } = entry.guide?;
        Some(Guide { source: format!("host/services/{name}/README.md"), title, text })
    };
    let of_services = services.iter().filter_map(of_service);
    let (first, last) = (page.first_guides.iter().map(own), page.last_guides.iter().map(own));
    first.chain(of_services).chain(last).collect()
}

/// Returns a guide's title, and its path relative to `/`.
fn listed(guide: &Guide) -> Value {
    let folder = FOLDER.trim_start_matches('/');
    json!({ "path": format!("{folder}/guides/{}", guide.page()), "title": guide.title })
}

/// Adds the list of guides.
fn with_guides(mut what: Value, guides: &Value) -> Value {
    if let Some(members) = what.as_object_mut() {
        members.insert("guides".to_owned(), guides.clone());
    }
    what
}

/// Answers a browser that asks for `/` with `page`, as middleware.
pub async fn answer_browser(State(page): State<Arc<Asset>>, request: Request, next: Next) -> Response {
    let is_read = [Method::GET, Method::HEAD].contains(request.method());
    if is_read && request.uri().path() == "/" && prefers_html(request.headers()) {
        let mut response = page.answer(request.headers(), POLICY);
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

    use std::{fs, path::Path};

    use axum::{
        body::{Body, to_bytes},
        http::StatusCode,
        middleware::from_fn_with_state,
        routing::post,
    };
    use bulkhead_service::PageForm;
    use tower::ServiceExt as _;

    use super::*;

    /// What Chromium, Firefox and an old browser send.
    const BROWSERS: [&str; 3] = [
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html, */*",
    ];

    const FORM: &str = "    <section id=\"one\" hidden></section>\n";

    const PAGE: StartPage = StartPage {
        name: "Shop & more",
        first_guides: &[BinaryGuide { source: "README.md", title: "First", text: "# First\n" }],
        last_guides: &[BinaryGuide { source: "deploy/README.md", title: "Last", text: "# Last\n" }],
    };

    /// A service with a form and a guide, and one without.
    fn services() -> [(&'static str, PageEntry); 2] {
        let form = PageForm { html: FORM, script: "export function start() {}\n" };
        let guide = PageGuide { title: "One", text: "# One\n" };
        let one = PageEntry { form: Some(form), guide: Some(guide), ..PageEntry::default() };
        [("one", one), ("two", PageEntry::default())]
    }

    async fn ask(method: &str, path: &str, accept: Option<&str>) -> Response {
        let files = router(&PAGE, &services(), || json!({ "version": "1" }));
        let page = Arc::new(with_forms(PAGE.name, &services()));
        let router = Router::new().route("/", post(async || "posted")).merge(files);
        let router = router.layer(from_fn_with_state(page, answer_browser));
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
    async fn services_add_forms_and_guides() {
        let page = to_bytes(ask("GET", "/", Some(BROWSERS[0])).await.into_body(), 1 << 20).await.unwrap();
        let page = String::from_utf8(page.to_vec()).unwrap();
        assert!(page.contains(FORM) && !page.contains(FORMS), "{page}");
        assert!(page.contains("<title>Shop &amp; more demonstration</title>"), "{page}");
        let what = ask("GET", &format!("{FOLDER}/what-runs.json"), None).await;
        let what: Value =
            serde_json::from_slice(&to_bytes(what.into_body(), 1 << 20).await.unwrap()).unwrap();
        let titles: Vec<&Value> =
            what["guides"].as_array().unwrap().iter().map(|guide| &guide["title"]).collect();
        assert_eq!(titles, ["First", "One", "Last"]);
        assert_eq!(what["guides"][1]["path"], "demo/start/guides/host/services/one/README.html");
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
        let served =
            FILES.iter().map(|file| file.name).chain(["guide.html", "index.html"]).map(str::to_owned);
        assert_eq!(there.collect::<BTreeSet<_>>(), served.collect());
        let others =
            ["forms/one.js", "guides/README.html", "guides/host/services/one/README.html", "what-runs.json"];
        for name in FILES.iter().map(|file| file.name).chain(others) {
            let response = ask("GET", &format!("{FOLDER}/{name}"), None).await;
            assert_eq!(response.status(), StatusCode::OK, "{name}");
        }
    }

    #[tokio::test]
    async fn page_has_no_urls_and_no_markup() {
        const MARKUP: [&str; 6] =
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"];
        for file in FILES.iter().chain([&with_forms(PAGE.name, &[])]) {
            let body = to_bytes(file.answer(&HeaderMap::new(), POLICY).into_body(), 1 << 20).await.unwrap();
            let text = String::from_utf8(body.to_vec()).unwrap();
            assert!(!text.contains("http://") && !text.contains("url("), "{}", file.name);
            assert!(MARKUP.iter().all(|word| !text.contains(word)), "{}", file.name);
            assert!(!text.contains("style=") && !text.contains(" onclick="), "{}: refused", file.name);
        }
    }
}
