//! `captcha.auth`: who may call the back-end endpoints.

use bulkhead_tests::TestHost;
use reqwest::header;
use serde_json::json;

use super::{CONFIG, Captcha, envelope, read};

const KEY: &str = "an-api-key-of-more-than-32-characters";

#[tokio::test]
async fn api_key_guards_the_back_end_only() {
    let auth = format!("[captcha]\nauth = \"api-key\"\napi_keys = [\"{KEY}\"]\n");
    let config = CONFIG.replacen("[captcha]\n", &auth, 1);
    let captcha = Captcha(TestHost::builder().config(&config).start().await);
    for path in ["/challenge", "/verify", "/invalidate"] {
        let call = || captcha.post(path).json(&envelope(json!({ "payload": {} })));
        let response = call().send().await.unwrap();
        assert_eq!(response.status(), 401, "{path}");
        assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
        assert_eq!(read(call().bearer_auth("another-key-of-more-than-32-characters")).await.0, 401);
        assert_ne!(read(call().bearer_auth(KEY)).await.0, 401, "{path}");
    }
    assert_eq!(read(captcha.get("/widget/challenge?siteKey=web")).await.0, 200);
    assert_eq!(captcha.call("/siteverify", &json!({})).await.0, 200);
    captcha.stop().await;
}
