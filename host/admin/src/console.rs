//! `/console`: a web page for operating slots. The binary embeds its files from `console/` unchanged.
//!
//! The page calls `/v1` like any other client, with the token that its user enters. Its content security policy makes
//! sure that it loads nothing from elsewhere and runs no script but its own files.

use axum::{Router, http::HeaderMap, response::Redirect, routing::get};
use bulkhead_http::asset::{Asset, HTML, SCRIPT, STYLE};

/// The content security policy: it allows only the page's own files, and no text of an answer becomes markup or script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

static PAGE: Asset = Asset::text("console", HTML, include_str!("console/index.html"));

macro_rules! files {
    ($($kind:ident $file:literal;)*) => {
        [$(Asset::text($file, $kind, include_str!(concat!("console/", $file)))),*]
    };
}

/// What the page loads.
static FILES: [Asset; 27] = files! {
    SCRIPT "api.js";
    SCRIPT "app.js";
    SCRIPT "audit.js";
    STYLE "base.css";
    SCRIPT "configuration.js";
    SCRIPT "login.js";
    SCRIPT "overview.js";
    SCRIPT "parts/chart.js";
    SCRIPT "parts/dialog.js";
    SCRIPT "parts/dom.js";
    SCRIPT "parts/format.js";
    SCRIPT "parts/poll.js";
    SCRIPT "parts/problem.js";
    SCRIPT "parts/share.js";
    SCRIPT "parts/state.js";
    SCRIPT "session.js";
    SCRIPT "slot.js";
    SCRIPT "slot/changes.js";
    SCRIPT "slot/comparison.js";
    SCRIPT "slot/doing.js";
    SCRIPT "slot/history.js";
    SCRIPT "slot/logs.js";
    SCRIPT "slot/moves.js";
    SCRIPT "slot/shadow.js";
    SCRIPT "slot/upload.js";
    SCRIPT "slot/versions.js";
    STYLE "views.css";
};

/// Returns the routes of the console.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let page = |headers: HeaderMap| async move { PAGE.answer(&headers, POLICY) };
    let router = Router::new()
        .route("/console", get(page))
        .route("/console/", get(async || Redirect::permanent("../console")));
    FILES.iter().fold(router, |router, file| {
        let answer = move |headers: HeaderMap| async move { file.answer(&headers, POLICY) };
        router.route(&format!("/console/{}", file.name), get(answer))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::{collections::BTreeSet, fs, path::Path};

    use axum::body::to_bytes;

    use super::*;

    /// Returns the paths of the files in a folder and below it, each after `prefix`.
    fn files_in(folder: &Path, prefix: &str) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let paths = entries.flat_map(|path| {
            let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() { files_in(&path, &format!("{name}/")) } else { vec![name] }
        });
        paths.collect()
    }

    #[test]
    fn every_file_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console");
        let there = files_in(&folder, "");
        let served = FILES.iter().map(|file| file.name).chain(["index.html"]).map(str::to_owned);
        assert_eq!(BTreeSet::from_iter(there), served.collect());
    }

    #[tokio::test]
    async fn files_name_no_other_origin_or_markup() {
        const MARKUP: [&str; 7] = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "srcdoc",
            "DOMParser",
        ];
        for file in FILES.iter().chain([&PAGE]) {
            let body = to_bytes(file.answer(&HeaderMap::new(), POLICY).into_body(), 1 << 20).await.unwrap();
            let text = String::from_utf8(body.to_vec()).unwrap();
            let text = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("://") && !text.contains("url("), "{}", file.name);
            assert!(MARKUP.iter().all(|word| !text.contains(word)), "{}", file.name);
            assert!(
                !text.contains("style=") && !text.contains(" onclick="),
                "{}: refused by the policy",
                file.name
            );
        }
    }
}
