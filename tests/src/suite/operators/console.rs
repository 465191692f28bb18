//! The console's files as any client may ask for them.

use std::collections::BTreeSet;

use reqwest::{Method, Response};

use super::*;

async fn ask(host: &TestHost, method: Method, path: &str, known: Option<&str>) -> Response {
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(std::time::Duration::from_secs(60))
        .build()
        .unwrap();
    let mut request = client.request(method, host.admin_url(path));
    if let Some(known) = known {
        request = request.header("if-none-match", known);
    }
    request.send().await.unwrap()
}

/// Every file that the page comes to, by what it and its modules name.
async fn files(host: &TestHost) -> BTreeSet<String> {
    let mut found = BTreeSet::from(["/console".to_owned()]);
    let mut open: Vec<String> = vec!["/console".into()];
    while let Some(path) = open.pop() {
        let answer = ask(host, Method::GET, &path, None).await;
        assert_eq!(answer.status(), 200, "{path}");
        let (own, text) = (answer.url().clone(), answer.text().await.unwrap());
        let named =
            ["href=\"", "src=\"", "from \""].into_iter().flat_map(|before| text.split(before).skip(1));
        let named = named.map(|rest| rest.split('"').next().unwrap());
        for name in named.filter(|name| name.ends_with(".js") || name.ends_with(".css")) {
            let path = own.join(name).unwrap().path().to_owned();
            if found.insert(path.clone()) {
                open.push(path);
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn console_files_have_types_and_strict_policy() {
    let host = hosting_a().start().await;
    let files = files(&host).await;
    assert!(files.len() > 20, "{files:?}");
    for path in &files {
        let answer = ask(&host, Method::GET, path, None).await;
        let headers = answer.headers().clone();
        let text = |name: &str| headers[name].to_str().unwrap();
        let kind = match path.rsplit_once('.') {
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(text("content-type"), kind, "{path}");
        assert_eq!(text("x-content-type-options"), "nosniff");
        assert_eq!(text("referrer-policy"), "no-referrer");
        assert_eq!(text("cache-control"), "no-cache");
        let policy = text("content-security-policy");
        for part in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert!(!headers.keys().any(|name| name.as_str().starts_with("access-control")));
        assert!(!headers.contains_key("set-cookie"));

        let again = ask(&host, Method::GET, path, Some(text("etag"))).await;
        assert_eq!(again.status(), 304, "{path}");
        assert!(again.bytes().await.unwrap().is_empty());
        let head = ask(&host, Method::HEAD, path, None).await;
        assert_eq!((head.status().as_u16(), &head.headers()["etag"]), (200, &headers["etag"]), "{path}");
        assert!(head.bytes().await.unwrap().is_empty());
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let refused = ask(&host, method.clone(), path, None).await;
            assert_eq!(
                (refused.status().as_u16(), &refused.headers()["allow"]),
                (405, &"GET,HEAD".parse().unwrap())
            );
        }
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_console_files_are_404() {
    let host = hosting_a().start().await;
    for path in [
        "/console/nothing.js",
        "/console/index.html",
        "/console/app.js/",
        "/console/..%2fconsole.rs",
        "/console/%2e%2e/%2e%2e/etc/passwd",
        "/consoles",
    ] {
        let answer = ask(&host, Method::GET, path, None).await;
        assert_eq!(answer.status(), 404, "{path}");
        assert_eq!(answer.json::<Value>().await.unwrap()["error"], "not-found", "{path}");
    }
    let slash = ask(&host, Method::GET, "/console/", None).await;
    assert_eq!(
        (slash.status().as_u16(), &slash.headers()["location"]),
        (308, &"../console".parse().unwrap())
    );
    let public = host.client().get(host.url("/console")).send().await.unwrap();
    assert_eq!(public.status(), 404, "clients have no console");
    host.stop().await;
}
