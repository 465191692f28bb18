//! The endpoints that the ALTCHA widget calls, and what CORS lets through.

use reqwest::{Method, Response, header};
use serde_json::json;

use super::{Captcha, envelope, read, solver};

const ORIGIN: &str = "https://www.example.org";

#[tokio::test]
async fn a_challenge_comes_bare() {
    let captcha = Captcha::start().await;
    let (status, challenge) = read(captcha.get("/widget/challenge?siteKey=web")).await;
    assert_eq!(status, 200);
    assert!(challenge["parameters"].is_object() && challenge["signature"].is_string());
    assert!(challenge.get("challenge").is_none(), "the widget would take it for protocol v1");
    captcha.stop().await;
}

#[tokio::test]
async fn solution_becomes_a_token_for_one_use() {
    let captcha = Captcha::start().await;
    let body = captcha.solved_by_widget("web").await;
    let (status, answer) = captcha.call("/widget/verify?siteKey=web", &body).await;
    assert_eq!((status, &answer["verified"]), (200, &json!(true)), "{answer}");
    let (_, again) = captcha.call("/widget/verify?siteKey=web", &body).await;
    assert_eq!(again, json!({ "verified": false, "reason": "replayed" }));

    let token = answer["payload"].as_str().unwrap();
    let decoded = solver::decode(token);
    assert!(decoded["verificationData"].as_str().unwrap().contains("verified=true"), "{decoded}");
    let credentials = json!({
        "siteKey": "web", "siteSecret": "web-secret-new", "payload": decoded,
    });
    let foreign = envelope(json!({ "payload": decoded }));
    let of_another_site = json!({ "valid": false, "reason": "wrong_site" });
    assert_eq!(captcha.call("/verify", &foreign).await.1, of_another_site);
    let own = envelope(credentials);
    assert_eq!(captcha.call("/verify", &own).await.1, json!({ "valid": true }));
    let replayed = json!({ "valid": false, "reason": "replayed" });
    assert_eq!(captcha.call("/verify", &own).await.1, replayed);
    captcha.stop().await;
}

#[tokio::test]
async fn a_token_buys_no_further_token() {
    let captcha = Captcha::start().await;
    let body = captcha.solved_by_widget("web").await;
    let (_, answer) = captcha.call("/widget/verify?siteKey=web", &body).await;
    let again = json!({ "payload": answer["payload"] });
    assert_eq!(captcha.call("/widget/verify?siteKey=web", &again).await.0, 400);
    captcha.stop().await;
}

#[tokio::test]
async fn url_safe_payloads_are_read_with_extras() {
    let captcha = Captcha::start().await;
    let body = captcha.solved_by_widget("web").await;
    let url_safe = body["payload"].as_str().unwrap().replace('+', "-").replace('/', "_");
    let body =
        json!({ "payload": url_safe.trim_end_matches('='), "code": "", "timeZone": "UTC", "fields": {} });
    assert_eq!(captcha.call("/widget/verify?siteKey=web", &body).await.1["verified"], true);
    captcha.stop().await;
}

#[tokio::test]
async fn unusable_calls_are_refused() {
    let captcha = Captcha::start().await;
    for (path, status) in [
        ("/widget/challenge", 400),
        ("/widget/challenge?siteKey=", 400),
        ("/widget/challenge?siteKey=web&siteKey=web", 400),
        ("/widget/challenge?siteKey=web&action=a%20b", 400),
        ("/widget/challenge?siteKey=nobody", 404),
    ] {
        assert_eq!(read(captcha.get(path)).await.0, status, "{path}");
    }
    for body in [json!({}), json!({ "payload": 1 }), json!({ "payload": "%" }), json!({ "payload": "e30=" })]
    {
        assert_eq!(captcha.call("/widget/verify?siteKey=web", &body).await.0, 400, "{body}");
    }
    captcha.stop().await;
}

#[tokio::test]
async fn a_client_s_allowance_ends_with_429() {
    let captcha = Captcha::start().await;
    let call = || {
        captcha.get("/widget/challenge?siteKey=narrow").header(header::ORIGIN, "https://narrow.example.org")
    };
    for _ in 0..2 {
        assert_eq!(read(call()).await.0, 200);
    }
    let response = call().send().await.unwrap();
    assert_eq!(response.status(), 429);
    let seconds: u32 = response.headers()[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    let origin = &response.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN];
    assert_eq!(origin, "https://narrow.example.org", "the page must be able to read the refusal");
    let body: serde_json::Value = response.json().await.unwrap();
    assert_eq!(body["error"], "Too Many Requests");
    assert_eq!(read(captcha.get("/widget/challenge?siteKey=web")).await.0, 200);
    captcha.stop().await;
}

async fn with_origin(captcha: &Captcha, method: Method, path: &str, origin: &str) -> Response {
    let request = captcha.0.client().request(method, captcha.url(path)).header(header::ORIGIN, origin);
    request.header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST").send().await.unwrap()
}

fn allowed_origin(response: &Response) -> Option<&str> {
    response.headers().get(header::ACCESS_CONTROL_ALLOW_ORIGIN).map(|value| value.to_str().unwrap())
}

/// A page's script reads why its call fails, since no site says that it may not.
#[tokio::test]
async fn errors_without_a_site_can_be_read() {
    let captcha = Captcha::start().await;
    let origin = "https://anywhere.example";
    for (method, path, status, code) in [
        (Method::GET, "/widget/challenge?siteKey=nobody", 404, "unknown-site"),
        (Method::POST, "/widget/verify?siteKey=nobody", 404, "unknown-site"),
        (Method::GET, "/widget/challenge", 400, "invalid-field"),
        (Method::GET, "/widget/challenge?siteKey=web&siteKey=web", 400, "invalid-field"),
    ] {
        let preflight = with_origin(&captcha, Method::OPTIONS, path, origin).await;
        assert_eq!((preflight.status().as_u16(), allowed_origin(&preflight)), (204, Some(origin)), "{path}");
        let response = with_origin(&captcha, method, path, origin).await;
        assert_eq!((response.status().as_u16(), allowed_origin(&response)), (status, Some(origin)), "{path}");
        let body: serde_json::Value = response.json().await.unwrap();
        assert_eq!(body["code"], code, "{path}");
    }
    captcha.stop().await;
}

#[tokio::test]
async fn call_is_checked_against_its_site() {
    let captcha = Captcha::start().await;
    let path = "/widget/challenge?siteKey=web";
    let response = with_origin(&captcha, Method::GET, path, ORIGIN).await;
    assert_eq!((response.status().as_u16(), allowed_origin(&response)), (200, Some(ORIGIN)));
    assert!(response.headers().get_all(header::VARY).iter().any(|value| value == "origin"));
    assert!(!response.headers().contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
    for origin in ["https://narrow.example.org", "https://evil.example", "null"] {
        let response = with_origin(&captcha, Method::GET, path, origin).await;
        assert_eq!((response.status().as_u16(), allowed_origin(&response)), (403, None), "{origin}");
    }
    let own = captcha.0.url("");
    let response = with_origin(&captcha, Method::GET, path, own.trim_end_matches('/')).await;
    assert_eq!(response.status(), 200, "the host's own pages");
    captcha.stop().await;
}

#[tokio::test]
async fn a_preflight_is_judged_as_its_call() {
    let captcha = Captcha::start().await;
    for path in ["/widget/challenge?siteKey=web&action=a", "/widget/verify?siteKey=web"] {
        let response = with_origin(&captcha, Method::OPTIONS, path, ORIGIN).await;
        assert_eq!((response.status().as_u16(), allowed_origin(&response)), (204, Some(ORIGIN)));
        let headers = response.headers();
        assert_eq!(headers[header::ACCESS_CONTROL_ALLOW_METHODS], "GET, POST");
        assert!(headers[header::ACCESS_CONTROL_ALLOW_HEADERS].to_str().unwrap().contains("content-type"));
        for origin in ["https://narrow.example.org", "https://evil.example", "null"] {
            let response = with_origin(&captcha, Method::OPTIONS, path, origin).await;
            assert_eq!((response.status().as_u16(), allowed_origin(&response)), (403, None), "{origin}");
            assert!(response.headers().get_all(header::VARY).iter().any(|value| value == "origin"));
            assert!(!response.headers().contains_key(header::ACCESS_CONTROL_ALLOW_METHODS), "{origin}");
        }
    }
    let response = with_origin(&captcha, Method::OPTIONS, "/verify", ORIGIN).await;
    assert_eq!((response.status().as_u16(), allowed_origin(&response)), (405, None));
    captcha.stop().await;
}
