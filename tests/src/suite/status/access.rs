//! Who may read the status.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use tempfile::TempDir;

use super::{
    Answer, Rows, Service, TOKEN, golden,
    rows::{BCRYPT, EXPIRED, MD5, SESSION},
    sqlite,
};

const FAILED: &str = r"BO\Zmsbackend\Status\Exception\StatusAuthenticationFailed";
const INVALID: &str = r"BO\Zmsbackend\Useraccount\Exception\InvalidCredentials";

fn basic((name, password): (&str, &str)) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")))
}

async fn ask(service: &Service, headers: &[(&str, &str)]) -> Answer {
    service.send("/status/?includeProcessStats=0", headers).await
}

#[tokio::test]
async fn request_without_token_or_session_is_refused() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    for headers in [
        &[][..],
        &[("x-token", "")],
        &[("x-token", "Secure-Token")],
        &[("x-token", "secure-token-and-more")],
        &[("x-token", TOKEN), ("x-token", TOKEN)],
        &[("authorization", "Bearer secure")],
        &[("x-authkey", EXPIRED)],
        &[("x-authkey", "never seen")],
        &[("cookie", "x-authkey=0123456789abcdef0123456789abcdef")],
    ] {
        let answer = ask(&service, headers).await;
        let meta = answer.assert_refusal(401, Some(FAILED));
        assert_eq!(meta["message"], "Authentication failed - access to status not granted", "{headers:?}");
        assert!(answer.json()["data"].is_null());
        let metrics = service.send("/status/metrics", &headers[..headers.len().min(1)]).await;
        if headers.len() < 2 {
            metrics.assert_refusal(401, Some(FAILED));
        }
    }
    service.stop().await;
}

#[tokio::test]
async fn tokens_and_sessions_open() {
    let folder = TempDir::new().unwrap();
    // The SHA-256 of `test`.
    let hashed = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let rows = Rows::now().sql(&|_, text| format!("'{text}'"));
    let database = sqlite(folder.path(), &rows).await;
    let text = format!("[status]\ndatabase = \"{database}\"\ntokens = [\"{TOKEN}\", \"{hashed}\"]");
    let host = bulkhead_tests::TestHost::builder().config(&text).start().await;
    let service = Service { host };
    let (clerk, veteran, wrong) = (basic(BCRYPT), basic(MD5), basic(("clerk", "wrong")));
    let cookie = format!("lang=de; X-AuthKey={SESSION}");
    for headers in [
        &[("x-token", TOKEN)][..],
        &[("x-token", "test")],
        &[("authorization", "Bearer secure-token")],
        // A valid token wins over everything else.
        &[("x-token", TOKEN), ("authorization", &wrong)],
        &[("x-token", TOKEN), ("x-authkey", EXPIRED)],
        &[("x-authkey", SESSION)],
        &[("cookie", &cookie)],
        &[("authorization", &clerk)],
        &[("authorization", &veteran)],
    ] {
        let answer = ask(&service, headers).await;
        assert_eq!(answer.status, 200, "{headers:?} {}", answer.text);
        assert!(answer.text.contains("status.json"));
    }
    service.stop().await;
}

#[tokio::test]
async fn the_old_variable_names_the_token() {
    let folder = TempDir::new().unwrap();
    let database = sqlite(folder.path(), "").await;
    let builder = bulkhead_tests::TestHost::builder().config(&format!("status.database = \"{database}\""));
    let host = builder.env("ZMS_CONFIG_SECURE_TOKEN", "a,b").env("ZMS_IDENTIFIER", "zms-1").start().await;
    let service = Service { host };
    let answer = ask(&service, &[("x-token", "a,b")]).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json()["meta"]["server"], "zms-1 (0.1.0)");
    ask(&service, &[("x-token", "a")]).await.assert_refusal(401, Some(FAILED));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_logins_are_limited_alike() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    let wrong = basic(("clerk", "wrong"));
    let headers = [("authorization", wrong.as_str())];
    let answers = futures_util::future::join_all((0..60).map(|_| ask(&service, &headers))).await;
    let judged = answers.iter().filter(|answer| answer.status == 401).count();
    assert_eq!(judged, 10, "the others are not even looked at");
    let refused = answers.iter().filter(|answer| answer.status == 429).count();
    assert_eq!(refused, 50, "and are refused");
    service.stop().await;
}

#[tokio::test]
async fn good_logins_lock_nobody_out() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    for _ in 0..15 {
        ask(&service, &[("x-authkey", EXPIRED)]).await.assert_refusal(401, Some(FAILED));
        assert_eq!(ask(&service, &[("authorization", &basic(MD5))]).await.status, 200);
    }
    assert_eq!(ask(&service, &[("x-authkey", SESSION)]).await.status, 200);
    let nul = basic(("a\0b", "x"));
    ask(&service, &[("authorization", &nul)]).await.assert_refusal(401, Some(INVALID));
    service.stop().await;
}

#[tokio::test]
async fn failed_logins_are_limited_and_tell_nothing() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    let credentials = [("clerk", "wrong"), ("nobody", "wrong"), ("a", ""), ("", "")];
    let mut refused = Vec::new();
    for attempt in 0..12 {
        let header = basic(credentials[attempt % credentials.len()]);
        let answer = ask(&service, &[("authorization", &header)]).await;
        if answer.status == 429 {
            assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0);
            break;
        }
        let meta = answer.assert_refusal(401, Some(INVALID));
        assert!(answer.json()["data"]["password"]["messages"][0].is_string());
        refused.push(meta["message"].clone());
    }
    assert_eq!(refused.len(), 10, "{refused:?}");
    refused.dedup();
    assert_eq!(refused.len(), 1, "unknown users are told from wrong passwords: {refused:?}");
    // The right password does not help now, a token does.
    let right = basic(BCRYPT);
    assert_eq!(ask(&service, &[("authorization", &right)]).await.status, 429);
    assert_eq!(ask(&service, &[("authorization", &right), ("x-token", TOKEN)]).await.status, 200);
    service.stop().await;
}
