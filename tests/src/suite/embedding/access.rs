//! Who may call.

use super::*;

const GUARDED: [(&str, &str); 10] = [
    ("POST", "/embed"),
    ("POST", "/"),
    ("GET", "/info"),
    ("POST", "/tokenize"),
    ("POST", "/v1/embeddings"),
    ("POST", "/embeddings"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/first"),
    ("POST", "/tei/first/embed"),
    ("GET", "/tei/first/info"),
];
const PUBLIC: [&str; 8] =
    ["/health", "/ping", "/", "/ready", "/metrics", "/docs", "/openapi.json", "/api-doc/openapi.json"];

async fn ask(service: &Service, method: &str, path: &str, authorization: Option<&str>) -> Answer {
    let method: reqwest::Method = method.parse().unwrap();
    let mut request = service.host.client().request(method.clone(), service.host.url(path));
    if method == "POST" {
        request = request.json(&json!({ "inputs": "hello", "input": "hello" }));
    }
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    service.send(request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_key_opens_and_nothing_else_does() {
    let service = Service::start("api_keys = [\"one\", \"another\"]\n").await;
    for (method, path) in GUARDED {
        for value in ["Bearer one", "bearer another", "BEARER  one"] {
            assert_eq!(ask(&service, method, path, Some(value)).await.status, 200, "{path} {value}");
        }
        for value in
            [None, Some("Bearer two"), Some("one"), Some("Basic one"), Some("Bearer"), Some("Bearer onee")]
        {
            let answer = ask(&service, method, path, value).await;
            let message = answer.assert_error(401, "unauthorized");
            assert_eq!(
                (message.as_str(), answer.header("www-authenticate")),
                ("unauthorized", Some("Bearer"))
            );
        }
    }
    for path in PUBLIC {
        assert_eq!(ask(&service, "GET", path, None).await.status, 200, "{path}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_key_is_reported_first() {
    let service = Service::start("api_keys = [\"one\"]\n").await;
    ask(&service, "DELETE", "/embed", None).await.assert_error(401, "unauthorized");
    service.post_text("/embed", "{").await.assert_error(401, "unauthorized");
    ask(&service, "GET", "/tei/third/info", None).await.assert_error(401, "unauthorized");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_everybody_may_call() {
    let service = Service::start("").await;
    for (method, path) in GUARDED {
        assert_eq!(ask(&service, method, path, None).await.status, 200, "{path}");
        assert_eq!(ask(&service, method, path, Some("Bearer whatever")).await.status, 200, "{path}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_file_has_one_key_a_line() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("keys");
    std::fs::write(&file, "first-key\n\nsecond-key\n").unwrap();
    let service = Service::start(&format!("api_keys = [\"file:{}\"]\n", file.display())).await;
    for (key, status) in [("first-key", 200), ("second-key", 200), ("", 401), ("first-key second-key", 401)] {
        let answer = ask(&service, "GET", "/info", Some(&format!("Bearer {key}"))).await;
        assert_eq!(answer.status, status, "{key}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_guards_embedding_only() {
    let service = Service::start("api_keys = [\"one\"]\n").await;
    let answer = service.get("/actuator/health").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    service.stop().await;
}

async fn preflight(service: &Service, origin: &str) -> Answer {
    let request = service.host.client().request(reqwest::Method::OPTIONS, service.host.url("/embed"));
    let request = request
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type,X-Stainless-Lang,x-other");
    service.send(request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_pages_may_call_and_no_others() {
    let page = "https://search.example.org";
    let config = format!("api_keys = [\"one\"]\ncors_origins = [\"{page}\"]\n");
    let service = Service::start(&config).await;
    let allowed = preflight(&service, page).await;
    assert_eq!(allowed.status, 200, "a browser sends no key with it");
    assert_eq!(allowed.header("access-control-allow-origin"), Some(page));
    assert!(allowed.header("access-control-allow-headers").unwrap().contains("authorization"));
    let stranger = preflight(&service, "https://search.example.org.evil").await;
    assert_eq!(stranger.header("access-control-allow-origin"), None);
    // OpenAI's SDK sends headers about itself, and no others are echoed.
    let allows = |answer: &Answer, name: &str| {
        let allowed = answer.header("access-control-allow-headers").unwrap_or_default().to_owned();
        allowed.split(',').any(|known| known == name)
    };
    for (answer, is_allowed) in [(&allowed, true), (&stranger, false)] {
        assert_eq!(allows(answer, "x-stainless-lang"), is_allowed);
        assert!(!allows(answer, "x-other"));
    }
    let request = service.host.client().post(service.host.url("/embed")).header("origin", page);
    let answer = service.send(request.json(&json!({ "inputs": "hello" }))).await;
    answer.assert_error(401, "unauthorized");
    assert_eq!(answer.header("access-control-allow-origin"), Some(page), "the page reads the refusal");
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    for (method, path, status, code) in [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("POST", "/tei/multilingual/nothing", 404, "not_found"),
        ("GET", "/tei/none/info", 401, "unauthorized"),
        ("DELETE", "/health", 405, "method_not_allowed"),
    ] {
        let request = service.host.client().request(method.parse().unwrap(), service.host.url(path));
        let answer = service.send(request.header("origin", page)).await;
        answer.assert_error(status, code);
        assert_eq!(answer.header("access-control-allow-origin"), Some(page), "{method} {path}");
    }
    service.stop().await;
    let closed = Service::start("").await;
    let answer = preflight(&closed, page).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (405, None));
    closed.stop().await;
}
