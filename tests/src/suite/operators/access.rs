//! Who may operate, and what of it is remembered.

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
    ("POST", "/v1/slots/captcha/swap", 2),
    ("POST", "/v1/slots/captcha/canary", 2),
    ("POST", "/v1/slots/captcha/shadow", 2),
    ("POST", "/v1/slots/captcha/promote", 2),
    ("POST", "/v1/slots/captcha/rollback", 2),
    ("POST", "/v1/config/reload", 3),
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
async fn every_operation_takes_a_token_of_its_scope() {
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
async fn guesses_are_soon_cut_short_and_tokens_in_urls_are_refused() {
    let host = hosting_a().start().await;
    for guess in 0..14 {
        let guesser = Operator::new(&host.admin_url(""), &format!("guess-{guess}"));
        let (code, error) = guesser.get("/v1/slots").await;
        assert_eq!(code, if guess < 10 { 401 } else { 429 }, "{error}");
    }
    assert_eq!(operator(&host).get("/v1/slots").await.0, 200, "who has a token is not held up");
    let nobody = Operator::nobody(&host.admin_url(""));
    for name in ["token", "access_token", "Token"] {
        let (code, error) = nobody.get(&format!("/v1/slots?{name}={}", operator::ADMIN)).await;
        assert_eq!((code, error["error"].as_str()), (400, Some("token-in-url")), "{error}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_every_move_with_who_made_it() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let old = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
    let new = operator.push(answering('B', "").component()).await;
    operator.change("canary", json!({ "version": new, "weight": 10, "reason": "careful\nnow" })).await;
    operator.change("promote", json!({ "reason": "all is well" })).await;
    let retired = async || operator.stage(&old).await == "retired";
    bulkhead_tests::host::eventually("the old version is freed", retired).await;

    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    let (_, audit) = admin.get("/v1/audit?slot=captcha").await;
    let entries = audit["entries"].as_array().unwrap();
    let of = |version: &str| -> Vec<(String, String, u64)> {
        let own = entries.iter().filter(|entry| entry["version"] == version);
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
        own.map(|entry| (text(entry, "stage"), text(entry, "actor"), entry["generation"].as_u64().unwrap()))
            .collect()
    };
    let step = |stage: &str, actor: &str, generation| (stage.to_owned(), actor.to_owned(), generation);
    assert_eq!(
        of(&new),
        [
            step("received", "deploy", 0),
            step("checked", "deploy", 0),
            step("compiled", "deploy", 0),
            step("trialled", "deploy", 0),
            step("candidate", "deploy", 1),
            step("active", "deploy", 2),
        ]
    );
    let expected = [step("active", "host", 0), step("draining", "deploy", 2), step("retired", "host", 2)];
    assert_eq!(of(&old), expected);
    let file = host.folder().join("data/slots/audit.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text.lines().count(), entries.len(), "a line each");
    assert!(text.contains(r"careful\\nnow"), "{text}");
    host.stop().await;
}
