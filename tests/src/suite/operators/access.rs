//! Who may operate, and what is remembered of it.

mod anonymous;
mod audit;
mod odd_names;
mod refused_audit;
mod replay;

use super::*;

/// Every operation, with the scope that it takes.
const OPERATIONS: &[(&str, &str, u8)] = &[
    ("GET", "/v1/token", 1),
    ("GET", "/v1/slots", 1),
    ("GET", "/v1/slots/captcha", 1),
    ("GET", "/v1/slots/captcha/shadow", 1),
    ("GET", "/v1/slots/captcha/diff", 1),
    ("GET", "/v1/slots/captcha/history", 1),
    ("GET", "/v1/slots/captcha/logs", 1),
    ("GET", "/v1/slots/captcha/statistics", 1),
    ("POST", "/v1/slots/captcha/versions", 2),
    ("GET", "/v1/slots/captcha/versions/{version}/component", 2),
    ("GET", "/v1/jobs/{job}", 2),
    ("POST", "/v1/slots/captcha/swap", 2),
    ("POST", "/v1/slots/captcha/canary", 2),
    ("POST", "/v1/slots/captcha/shadow", 2),
    ("POST", "/v1/slots/captcha/promote", 2),
    ("POST", "/v1/slots/captcha/rollback", 2),
    ("GET", "/v1/config", 1),
    ("POST", "/v1/config/trial", 3),
    ("POST", "/v1/config/reload", 3),
    ("POST", "/v1/config/undo", 3),
    ("GET", "/v1/audit", 3),
];

async fn status(host: &TestHost, method: &str, path: &str, token: Option<&str>) -> (u16, Value) {
    let mut request = host.client().request(method.parse().unwrap(), host.admin_url(path));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.unwrap();
    let cors = answer.headers().keys().any(|name| name.as_str().starts_with("access-control"));
    assert!(!cors, "no page of another origin may ask");
    assert_eq!(answer.headers()["cache-control"], "no-store");
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_take_a_token_of_their_scope() {
    let host = hosting_a().start().await;
    for (method, path, wanted) in OPERATIONS {
        let (code, error) = status(&host, method, path, None).await;
        assert_eq!((code, error["error"].as_str()), (401, Some("unauthorized")), "{path}");
        for (scope, token) in [(1, operator::READ), (2, operator::DEPLOY), (3, operator::ADMIN)] {
            let (code, answer) = status(&host, method, path, Some(token)).await;
            assert_eq!(code == 403, scope < *wanted, "{method} {path} with scope {scope}: {answer}");
            assert_ne!(code, 401, "{answer}");
        }
    }
    let description = host.client().get(host.admin_url("/v1/openapi.json")).send().await.unwrap();
    let description: Value = description.json().await.unwrap();
    for (method, path, _) in OPERATIONS {
        let path = path.replace("captcha", "{slot}");
        assert!(description["paths"][&path][method.to_lowercase()].is_object(), "{path} is described");
    }
    for file in ["docs", "docs/page.js", "docs/swagger-ui-bundle.js"] {
        let page = host.client().get(host.admin_url(&format!("/v1/{file}"))).send().await.unwrap();
        assert_eq!(page.status(), 200, "{file}");
    }
    host.stop().await;
}

/// A wrong token is no better than none, in whatever form it comes; the answers to wrong ones are limited.
#[tokio::test(flavor = "multi_thread")]
async fn operations_refuse_unknown_tokens() {
    let host = hosting_a().start().await;
    let before = operator(&host).slot().await;
    let (right, wrong) = (format!("Bearer {}", operator::ADMIN), format!("Bearer {}x", operator::ADMIN));
    let forms: [&[&str]; 5] =
        [&["Basic ZGVwbG95OnNlY3JldA=="], &[operator::ADMIN], &["Bearer"], &[&right, &right], &[&wrong]];
    let mut limited = 0;
    for (at, (method, path, _)) in OPERATIONS.iter().enumerate() {
        for fields in forms {
            let request = host.client().request(method.parse().unwrap(), host.admin_url(path));
            let request =
                fields.iter().fold(request, |request, field| request.header("authorization", *field));
            let answer = request.json(&json!({ "generation": 0 })).send().await.unwrap();
            let held_up = answer.status() == 429;
            assert!(held_up || answer.status() == 401, "{method} {path} with {fields:?}");
            assert!(!held_up || (fields == [&wrong] && at >= 10), "{method} {path} with {fields:?}");
            assert_eq!(answer.headers().contains_key("retry-after"), held_up);
            assert_eq!(answer.headers().contains_key("www-authenticate"), !held_up);
            limited += u32::from(held_up);
        }
    }
    assert!(limited > 0, "answers have no limit");
    assert_eq!(operator(&host).slot().await["generation"], before["generation"]);
    host.stop().await;
}

/// The right token does not make a token in the URL good: that one is in logs by now.
#[tokio::test(flavor = "multi_thread")]
async fn operations_refuse_tokens_in_urls() {
    let host = hosting_a().start().await;
    for (method, path, _) in OPERATIONS {
        for name in ["token", "access_token", "API_KEY", "apikey", "authorization", "%74oken"] {
            let path = format!("{path}?limit=1&{name}=x");
            let (code, error) = status(&host, method, &path, Some(operator::ADMIN)).await;
            assert_eq!((code, error["error"].as_str()), (400, Some("token-in-url")), "{method} {path}");
        }
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_are_limited_by_address() {
    let host = hosting_a().start().await;
    let from = |last: u8| {
        reqwest::Client::builder()
            .local_address(std::net::IpAddr::from([127, 0, 0, last]))
            .timeout(std::time::Duration::from_secs(60))
            .build()
            .unwrap()
    };
    let guess = async |client: &reqwest::Client| {
        let request = client.post(host.admin_url("/v1/slots/captcha/rollback")).bearer_auth("a guess");
        request.json(&json!({ "generation": 0 })).send().await.unwrap().status().as_u16()
    };
    let (guesser, other) = (from(2), from(3));
    let mut answers = Vec::new();
    for _ in 0..30 {
        answers.push(guess(&guesser).await);
    }
    assert_eq!(answers[..10], [401; 10]);
    // Every six seconds another one is answered with 401.
    assert!(answers[10..].contains(&429), "{answers:?}");
    assert_eq!(guess(&other).await, 401);
    let right = guesser.get(host.admin_url("/v1/slots")).bearer_auth(operator::READ).send().await.unwrap();
    assert_eq!(right.status(), 200, "nor whoever has a token at the same");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_tokens_nobody_may_operate() {
    let host = TestHost::builder().config(SITE).component(answering('A', "").component()).start().await;
    let (code, error) = Operator::new(&host.admin_url(""), operator::ADMIN).get("/v1/slots").await;
    assert_eq!((code, error["error"].as_str()), (401, Some("no-tokens")));
    assert!(error["message"].as_str().unwrap().contains("bulkhead admin token"), "{error}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_wrong_tokens_are_limited() {
    let host = hosting_a().start().await;
    for guess in 0..14 {
        let guesser = Operator::new(&host.admin_url(""), &format!("guess-{guess}"));
        let (code, error) = guesser.get("/v1/slots").await;
        assert_eq!(code, if guess < 10 { 401 } else { 429 }, "{error}");
    }
    assert_eq!(operator(&host).get("/v1/slots").await.0, 200, "who has a token is not held up");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_a_url_is_refused() {
    let host = hosting_a().start().await;
    let nobody = Operator::nobody(&host.admin_url(""));
    for name in ["token", "access_token", "Token"] {
        let (code, error) = nobody.get(&format!("/v1/slots?{name}={}", operator::ADMIN)).await;
        assert_eq!((code, error["error"].as_str()), (400, Some("token-in-url")), "{error}");
    }
    host.stop().await;
}

/// Asks by HTTP/2, whose requests have an authority and no `Host`.
async fn ask_http2(address: &str, authority: &str, path: &str) -> (u16, String) {
    use http_body_util::{BodyExt as _, Empty};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let io = TokioIo::new(tokio::net::TcpStream::connect(address).await.unwrap());
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::get(format!("http://{authority}{path}"));
    let request = request.header("authorization", format!("Bearer {}", operator::ADMIN));
    let answer =
        client.send_request(request.body(Empty::<hyper::body::Bytes>::new()).unwrap()).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

/// The same by HTTP/1.
async fn ask_http1(host: &TestHost, authority: &str, path: &str) -> (u16, String) {
    let request = host.client().get(host.admin_url(path)).bearer_auth(operator::ADMIN);
    let answer = request.header("host", authority).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// A page whose name leads to this machine is not answered, whatever it asks for and by either protocol.
#[tokio::test(flavor = "multi_thread")]
async fn other_host_names_are_refused_on_loopback() {
    let host = hosting_a().config("[admin]\nhosts = [\"ops.example\"]\n").start().await;
    let address = host.admin_url("").trim_start_matches("http://").to_owned();
    for path in ["/metrics", "/health/live", "/v1/slots", "/console", "/nowhere"] {
        for authority in ["evil.example", "evil.example:9901", "127.0.0.1.evil.example"] {
            let answers =
                [ask_http1(&host, authority, path).await, ask_http2(&address, authority, path).await];
            for (status, body) in answers {
                assert_eq!(status, 421, "{authority}{path}");
                let error: Value = serde_json::from_str(&body).unwrap();
                assert_eq!(error["error"], "wrong-host", "{path}");
                assert!(error["message"].as_str().unwrap().contains("admin.hosts"), "{error}");
            }
        }
        for authority in ["localhost", "ops.example:9901", &address] {
            let wanted = if path == "/nowhere" { 404 } else { 200 };
            assert_eq!(ask_http1(&host, authority, path).await.0, wanted, "{authority}{path}");
            assert_eq!(ask_http2(&address, authority, path).await.0, wanted, "{authority}{path}");
        }
    }
    host.stop().await;
}
