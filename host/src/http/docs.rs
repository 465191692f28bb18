//! An OpenAPI document as a page that needs nothing from elsewhere.

use std::fmt::Write as _;

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{Html, IntoResponse, Response},
};
use serde_json::Value;

/// Nothing may be loaded or run; the style stands in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

const STYLE: &str = "
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
  pre { overflow-x: auto; padding: .75rem; background: color-mix(in srgb, currentColor 8%, transparent); }
  summary { cursor: pointer; padding: .35rem 0; }
  .method { display: inline-block; min-width: 3.5rem; font-weight: 700; }
  @media (prefers-color-scheme: dark) { body { background: #16181c; color: #e6e6e6; } a { color: #8ab4f8; } }
";

/// The page, to be served beside its `openapi.json`.
pub fn page(document: &Value) -> Response {
    let policy = (HeaderName::from_static("content-security-policy"), HeaderValue::from_static(POLICY));
    ([policy, (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))], Html(render(document)))
        .into_response()
}

fn render(document: &Value) -> String {
    let text = |pointer: &str| escape(document.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style>\
         <h1>{title} {version}</h1><p>{about} The same as <a href=\"openapi.json\">openapi.json</a>.</p><h2>Paths</h2>",
        title = text("/info/title"),
        version = text("/info/version"),
        about = text("/info/description"),
    );
    // Writing to a String cannot fail.
    for (path, item) in members(document.pointer("/paths")) {
        for (method, operation) in members(Some(item)) {
            let summary = operation.get("summary").and_then(Value::as_str).unwrap_or_default();
            let _ = write!(
                page,
                "<details><summary><span class=\"method\">{}</span> <code>{}</code> {}</summary><pre>{}</pre></details>",
                escape(&method.to_uppercase()),
                escape(path),
                escape(summary),
                escape(&format!("{operation:#}")),
            );
        }
    }
    page.push_str("<h2>Schemas</h2>");
    for (name, schema) in members(document.pointer("/components/schemas")) {
        let shown = escape(&format!("{schema:#}"));
        let _ = write!(
            page,
            "<details><summary><code>{}</code></summary><pre>{shown}</pre></details>",
            escape(name)
        );
    }
    page.push_str("</html>");
    page
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_shows_every_path_as_text_and_asks_for_nothing_elsewhere() {
        let document = json!({
            "info": { "title": "A <script>", "version": "1", "description": "What \"it\" does." },
            "paths": { "/a": { "get": { "summary": "Reads & shows" } }, "/b/{c}": { "post": {} } },
            "components": { "schemas": { "Thing": { "type": "object" } } },
        });
        let page = render(&document);
        for shown in ["<code>/a</code> Reads &amp; shows", "<code>/b/{c}</code>", "<code>Thing</code>"] {
            assert!(page.contains(shown), "{shown} in {page}");
        }
        for outside in ["http://", "https://", "<script", "src="] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
