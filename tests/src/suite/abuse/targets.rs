//! Request targets and methods: forms, tricks and lengths.

use super::{MARKER, Victim, raw::head};

#[tokio::test]
async fn every_form_of_target_has_its_answer() {
    let victim = Victim::start().await;
    for (line, status) in [
        ("GET http://elsewhere.example/actuator/health", 200),
        ("GET https://elsewhere.example:99/actuator/health?x=swordfish", 200),
        ("GET http://elsewhere.example", 200),
        ("GET ftp://elsewhere.example/actuator/health", 200),
        ("OPTIONS *", 404),
        ("GET *", 404),
        ("GET nowhere", 404),
        ("CONNECT /x", 404),
        ("CONNECT elsewhere.example:443", 404),
        ("GET /nowhere?a=%00&b=%ff#swordfish", 404),
    ] {
        let answer = victim.ask(head(line, "")).await;
        assert_eq!(answer.status, status, "{line}");
        if status == 404 {
            assert_eq!(answer.code(), "not_found", "{line}");
        }
    }
    for line in ["GET", "GET elsewhere.example:80/x"] {
        assert_eq!(victim.ask(head(line, "")).await.status, 400, "{line}");
    }
    victim.finish().await;
}

/// Nothing is decoded, collapsed or climbed before routing.
#[tokio::test]
async fn paths_are_taken_as_they_are() {
    let victim = Victim::start().await;
    let secret = victim.0.folder().join("data/secrets/host.key");
    let secret = secret.display().to_string();
    for path in [
        "/../../../../etc/passwd",
        "/actuator/../../etc/passwd",
        "/api/v1/captcha/../../../etc/passwd",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..\\..\\etc\\passwd",
        "/....//....//etc/passwd",
        "/.%00./etc/passwd",
        "/api/v1/captcha/%63hallenge",
        "/api/v1/captcha/challenge%00",
        "/api/v1/captcha/challenge%2f",
        "/api/v1/captcha/challenge/",
        "/api/v1/captcha/challenge;x=1",
        "/api/v1/captcha//challenge",
        "/api/v1//captcha/challenge",
        "//api/v1/captcha/challenge",
        "/API/V1/CAPTCHA/CHALLENGE",
        "/api/v1/captcha/challenge.json",
        "/actuator%2fhealth",
        "/actuator/env",
        "/actuator/heapdump",
        "/health/ready",
        "/.env",
        "/.git/config",
        "/%",
        "/%zz",
        "/%ff%fe",
        "/%0d%0aset-cookie:%20a=b",
        secret.as_str(),
    ] {
        for method in ["GET", "POST"] {
            let answer = victim.ask(head(&format!("{method} {path}"), "content-length: 0\r\n")).await;
            let code = answer.code().replace(['_', ' '], "-").to_lowercase();
            let refusals = [(404, "not-found"), (405, "method-not-allowed")];
            assert!(refusals.contains(&(answer.status, code.as_str())), "{method} {path}: {answer:?}");
            assert!(!answer.body.contains("root:") && answer.header("set-cookie").is_none(), "{path}");
        }
    }
    // What the actuator has no component or meter for is answered as Spring does: with nothing.
    for path in ["/actuator/health/..%2f..", "/actuator/health/swordfish", "/actuator/metrics/%2e%2e"] {
        let answer = victim.ask(head(&format!("GET {path}"), "")).await;
        assert_eq!((answer.status, answer.body.as_str()), (404, ""), "{path}");
    }
    victim.finish().await;
}

#[tokio::test]
async fn methods_that_nobody_asked_for_are_refused() {
    let victim = Victim::start().await;
    for method in ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "PROPFIND", "BREW", MARKER, "get", "PRI"] {
        for path in ["/actuator/health", "/api/v1/captcha/verify"] {
            let answer = victim.ask(head(&format!("{method} {path}"), "cookie: a=swordfish\r\n")).await;
            let code = answer.code().replace('_', "-");
            assert_eq!((answer.status, code.as_str()), (405, "method-not-allowed"), "{method} {path}");
            assert!(answer.header("allow").is_some(), "{method} {path}");
        }
        let answer = victim.ask(head(&format!("{method} /{MARKER}"), "")).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{method}");
    }
    let long = "X".repeat(10_000);
    let answer = victim.ask(head(&format!("{long} /actuator/health"), "")).await;
    assert_eq!((answer.status, answer.code().as_str()), (405, "method_not_allowed"), "{answer:?}");
    victim.finish().await;
}

#[tokio::test]
async fn long_targets_are_answered_below_cap() {
    let victim = Victim::start().await;
    for path in ["/", "/api/v1/captcha/widget/challenge?siteKey=", "/actuator/"] {
        let long = format!("GET {path}{}", "x".repeat(50_000));
        let answer = victim.ask(head(&long, "")).await;
        assert_eq!(answer.status, 404, "{path}");
        answer.json();
        assert!(answer.body.len() < 51_000, "an answer is no longer than the question");
    }
    let deep = format!("GET {}", "/x".repeat(25_000));
    assert_eq!(victim.ask(head(&deep, "")).await.code(), "not_found");
    let parameters = format!("GET /api/v1/captcha/widget/challenge?{}siteKey=shop", "a&".repeat(20_000));
    assert_eq!(victim.ask(head(&parameters, "")).await.code(), "invalid-field");
    victim.finish().await;
}
