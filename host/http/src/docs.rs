//! Serves API pages: the OpenAPI document of a service in Swagger UI, where a reader can try each call.
//!
//! Swagger UI is in `host/vendor/swagger-ui`, whose `VERSION` names the npm package, its integrity hash and those of
//! the files. A page loads nothing from elsewhere and runs no script but its files, which its policy enforces.

use axum::{Router, http::HeaderMap, routing::get};

use super::asset::{Asset, HTML, SCRIPT, STYLE, TEXT};

/// Swagger UI makes markup of the document's descriptions, so there is no `require-trusted-types-for`; its icons are
/// `data:` URLs in its style sheet. It calls the service that it describes, which is of the same origin.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static PAGE: Asset = Asset::text("docs", HTML, include_str!("docs/index.html"));

macro_rules! vendored {
    ($include:ident, $file:literal) => {
        $include!(concat!("../../vendor/swagger-ui/", $file))
    };
}

/// What the page loads and links to.
static FILES: [Asset; 7] = [
    Asset::text("page.css", STYLE, include_str!("docs/page.css")),
    Asset::text("page.js", SCRIPT, include_str!("docs/page.js")),
    Asset::gzip("swagger-ui.css", STYLE, vendored!(include_bytes, "swagger-ui.css.gz")),
    Asset::gzip("swagger-ui-bundle.js", SCRIPT, vendored!(include_bytes, "swagger-ui-bundle.js.gz")),
    Asset::text(
        "swagger-ui-bundle.js.LICENSE.txt",
        TEXT,
        vendored!(include_str, "swagger-ui-bundle.js.LICENSE.txt"),
    ),
    Asset::text("LICENSE", TEXT, vendored!(include_str, "LICENSE")),
    Asset::text("NOTICE", TEXT, vendored!(include_str, "NOTICE")),
];

/// Returns the routes of the page at `path`, which ends in `/docs` and is next to the service's `openapi.json`.
pub fn router<S: Clone + Send + Sync + 'static>(path: &str) -> Router<S> {
    let answer = |headers: HeaderMap| async move { PAGE.answer(&headers, POLICY) };
    let page = Router::new().route(path, get(answer));
    FILES.iter().fold(page, |router, file| {
        let answer = move |headers: HeaderMap| async move { file.answer(&headers, POLICY) };
        router.route(&format!("{path}/{}", file.name), get(answer))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use std::{collections::BTreeSet, fs, path::Path};

    use axum::{
        body::{Body, to_bytes},
        http::{Request, header},
        response::Response,
    };
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    use sha2::{Digest as _, Sha512};
    use tower::ServiceExt as _;

    use super::*;

    const VERSION: &str = vendored!(include_str, "VERSION");

    async fn fetch(path: &str) -> Response {
        let request = Request::get(path).body(Body::empty()).unwrap();
        router::<()>("/api/docs").oneshot(request).await.unwrap()
    }

    async fn plain(name: &str) -> Vec<u8> {
        let response = fetch(&format!("/api/docs/{name}")).await;
        assert_eq!(response.status(), 200, "{name}");
        assert!(!response.headers().contains_key(header::CONTENT_ENCODING), "{name}");
        to_bytes(response.into_body(), 4 << 20).await.unwrap().to_vec()
    }

    #[tokio::test]
    async fn vendored_files_have_the_recorded_hashes() {
        let (package, files) = VERSION.split_once('\n').unwrap();
        let [name, version, integrity] = package.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{package}")
        };
        assert_eq!((name, integrity.len()), ("swagger-ui-dist", "sha512-".len() + 88));
        assert_eq!(version.split('.').count(), 3, "{version}");
        let mut recorded = BTreeSet::from(["VERSION".to_owned()]);
        for line in files.lines() {
            let (file, hash) = line.split_once(' ').unwrap();
            let content = plain(file).await;
            let found = format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(&content)));
            assert_eq!(found, hash, "{file} is not the one of {package}");
            recorded.insert(file.to_owned());
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vendor/swagger-ui");
        let there =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let there = there.map(|file| file.strip_suffix(".gz").unwrap_or(&file).to_owned());
        assert_eq!(there.collect::<BTreeSet<_>>(), recorded);
    }

    #[tokio::test]
    async fn files_of_the_page_are_served() {
        let page = fetch("/api/docs").await;
        assert_eq!(page.headers()[header::CONTENT_TYPE], HTML);
        let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(!policy.contains("unsafe") && policy.starts_with("default-src 'none'"), "{policy}");
        let page = String::from_utf8(to_bytes(page.into_body(), 1 << 20).await.unwrap().to_vec()).unwrap();
        assert!(!page.contains("://") && !page.contains("<style") && !page.contains("style="));
        let mut named: Vec<&str> =
            page.split("\"docs/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let mut served = FILES.each_ref().map(|file| file.name);
        named.sort_unstable();
        served.sort_unstable();
        assert_eq!(named, served);
    }

    #[tokio::test]
    async fn own_files_name_no_other_origin() {
        for name in ["page.js", "page.css"] {
            let text = String::from_utf8(plain(name).await).unwrap();
            assert!(!text.contains("://") && !text.contains("url("), "{name}");
        }
    }
}
