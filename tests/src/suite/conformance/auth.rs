//! `captcha.auth = "jwt"`: key sets in a file and behind a URL that comes and goes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use axum::{Router, http::StatusCode, response::IntoResponse, routing::get};
use bulkhead_tests::TestHost;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp, jwk::Jwk};
use serde_json::{Value, json};

use super::{Answer, CLIENT, JAVA, SITE, Service, envelope, refusal};

const ISSUER: &str = "https://issuer.example";

/// An issuer's signing key.
struct Issuer {
    key: EncodingKey,
    id: &'static str,
}

impl Issuer {
    /// Ed25519 from a seed, in PKCS#8 (RFC 8410).
    fn new(id: &'static str, seed: u8) -> Self {
        let mut der = hex::decode("302e020100300506032b657004220420").unwrap();
        der.extend([seed; 32]);
        Self { key: EncodingKey::from_ed_der(&der), id }
    }

    fn key_set(&self) -> String {
        let mut jwk = Jwk::from_encoding_key(&self.key, Algorithm::EdDSA).unwrap();
        jwk.common.key_id = Some(self.id.into());
        json!({ "keys": [jwk] }).to_string()
    }

    /// A good token but for what is changed or, where null, left out.
    fn token(&self, changes: &Value) -> String {
        let mut claims = json!({ "iss": ISSUER, "aud": "captcha", "exp": get_current_timestamp() + 600 });
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
                value => claims[name] = value.clone(),
            }
        }
        let header = Header { kid: Some(self.id.into()), ..Header::new(Algorithm::EdDSA) };
        encode(&header, &claims, &self.key).unwrap()
    }
}

fn with_jwt(settings: &str) -> String {
    let auth =
        format!("[captcha.jwt]\nissuer = \"{ISSUER}\"\naudiences = [\"captcha\", \"forms\"]\n{settings}\n");
    format!("{}\n{auth}", JAVA.replacen("[captcha]\n", "[captcha]\nauth = \"jwt\"\n", 1))
}

/// Asks for a challenge with a token.
async fn call(service: &Service, token: &str) -> Answer {
    let url = service.0.url("/api/v1/captcha/challenge");
    Answer::of(service.0.client().post(url).bearer_auth(token).json(&envelope(SITE, CLIENT))).await
}

fn assert_denied(answer: &Answer, case: &Value) {
    assert_eq!((answer.status.as_u16(), &answer.json()["code"]), (401, &json!("unauthorized")), "{case}");
    assert_eq!(answer.headers["www-authenticate"], r#"Bearer error="invalid_token""#, "{case}");
}

#[tokio::test]
async fn tokens_are_checked_against_key_file() {
    let issuer = Issuer::new("k1", 1);
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, issuer.key_set()).unwrap();
    let service = Service::start(&with_jwt(&format!("key_set_file = {:?}", path.display()))).await;

    let now = get_current_timestamp();
    for good in [json!({}), json!({ "aud": ["x", "forms"] }), json!({ "nbf": now, "sub": "zms" })] {
        assert_eq!(call(&service, &issuer.token(&good)).await.status, 200, "{good}");
    }
    for bad in [
        json!({ "iss": "https://else.example" }),
        json!({ "iss": null }),
        json!({ "aud": "else" }),
        json!({ "aud": null }),
        json!({ "exp": now - 3600 }),
        json!({ "exp": null }),
        json!({ "nbf": now + 3600 }),
    ] {
        assert_denied(&call(&service, &issuer.token(&bad)).await, &bad);
    }
    let missing = service.post("/challenge", &envelope(SITE, CLIENT)).await;
    assert_eq!((missing.0, &missing.1["code"]), (401, &json!("unauthorized")));
    // The token is on top of the site's credentials, and only for the back end's endpoints.
    let url = service.0.url("/api/v1/captcha/verify");
    let wrong = json!({ "siteKey": SITE, "siteSecret": "wrong", "clientAddress": CLIENT, "payload": {} });
    let request = service.0.client().post(url).bearer_auth(issuer.token(&json!({}))).json(&wrong);
    assert_eq!(Answer::of(request).await.json()["code"], "wrong-credentials");
    assert_eq!(service.get("/api/v1/captcha/widget/challenge?siteKey=test_site", "*/*").await.status, 200);
    assert_eq!(service.get("/actuator/health", "*/*").await.status, 200);
    service.stop().await;
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let issuer = Issuer::new("k1", 1);
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, issuer.key_set()).unwrap();
    let service = Service::start(&with_jwt(&format!("key_set_file = {:?}", path.display()))).await;
    let good = issuer.token(&json!({}));
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let body = signed.split_once('.').unwrap().1;
    let set: Value = serde_json::from_str(&issuer.key_set()).unwrap();
    let public = EncodingKey::from_secret(set["keys"][0]["x"].as_str().unwrap().as_bytes());
    let header = Header { kid: Some("k1".into()), ..Header::new(Algorithm::HS256) };
    let claims = json!({ "iss": ISSUER, "aud": "captcha", "exp": get_current_timestamp() + 600 });
    for (case, token) in [
        ("another key under the same id", Issuer::new("k1", 2).token(&json!({}))),
        ("an unknown key id", Issuer::new("k2", 1).token(&json!({}))),
        ("the public key as a shared secret", encode(&header, &claims, &public).unwrap()),
        ("no algorithm", format!("eyJhbGciOiJub25lIiwia2lkIjoiazEifQ.{body}.")),
        ("no signature", format!("{signed}.")),
        (
            "another's claims",
            format!("{}.{signature}", issuer.token(&json!({ "a": 1 })).rsplit_once('.').unwrap().0),
        ),
        ("no token", "nonsense".to_owned()),
    ] {
        assert_denied(&call(&service, &token).await, &json!(case));
    }
    service.stop().await;
}

/// A server of an issuer's key set that can be taken down; its URL.
async fn publish(key_set: String, up: Arc<AtomicBool>) -> String {
    let handler = move || {
        let answer = if up.load(SeqCst) {
            key_set.clone().into_response()
        } else {
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        };
        async { answer }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let router = Router::new().route("/keys", get(handler));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

#[tokio::test]
async fn remote_key_set_is_fetched_and_kept() {
    let issuer = Issuer::new("k1", 1);
    let up = Arc::new(AtomicBool::new(true));
    let url = publish(issuer.key_set(), Arc::clone(&up)).await;
    let service = Service::start(&with_jwt(&format!("key_set_url = \"{url}\""))).await;
    assert_eq!(call(&service, &issuer.token(&json!({}))).await.status, 200);
    up.store(false, SeqCst);
    assert_eq!(call(&service, &issuer.token(&json!({}))).await.status, 200, "an outage stops nobody at once");
    assert_denied(&call(&service, &issuer.token(&json!({ "aud": "else" }))).await, &json!("still checked"));
    assert_denied(&call(&service, &Issuer::new("k2", 2).token(&json!({}))).await, &json!("unknown key id"));
    service.stop().await;
}

#[tokio::test]
async fn missing_key_set_is_503_until_fetched() {
    let issuer = Issuer::new("k1", 1);
    let up = Arc::new(AtomicBool::new(false));
    let url = publish(issuer.key_set(), Arc::clone(&up)).await;
    let config = with_jwt(&format!("key_set_url = \"{url}\""));
    let (service, hands) = Service::start_movable(&config).await;
    for _ in 0..2 {
        let answer = call(&service, &issuer.token(&json!({}))).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["code"]), (503, &json!("auth-unavailable")));
        assert_eq!(answer.headers["retry-after"], "10");
        assert!(!answer.text.contains("/keys"), "{}", answer.text);
    }
    let missing = service.post("/challenge", &envelope(SITE, CLIENT)).await;
    assert_eq!(missing.0, 401, "who brings no token needs no key set");
    up.store(true, SeqCst);
    assert_eq!(
        call(&service, &issuer.token(&json!({}))).await.status,
        503,
        "not before ten seconds are over"
    );
    hands.advance(Duration::from_secs(11));
    assert_eq!(call(&service, &issuer.token(&json!({}))).await.status, 200);
    // The issuer is gone for good: its keys serve for an hour, by which time the token must be a new one.
    up.store(false, SeqCst);
    hands.advance(Duration::from_secs(50 * 60));
    let exp = get_current_timestamp() + 2 * 3600;
    assert_eq!(call(&service, &issuer.token(&json!({ "exp": exp }))).await.status, 200);
    assert_denied(&call(&service, &issuer.token(&json!({}))).await, &json!("expired by the host's clock"));
    hands.advance(Duration::from_secs(11 * 60));
    assert_eq!(call(&service, &issuer.token(&json!({ "exp": exp }))).await.status, 503);
    service.stop().await;
}

#[tokio::test]
async fn secured_host_without_keys_stays_down() {
    let reason = refusal(&with_jwt("key_set_file = \"/nowhere/keys.json\"")).await;
    assert!(reason.contains("/nowhere/keys.json") && reason.contains("captcha.jwt.key_set_file"), "{reason}");
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#).unwrap();
    let reason = refusal(&with_jwt(&format!("key_set_file = {:?}", path.display()))).await;
    assert!(reason.contains("no key that can check a signature"), "{reason}");

    let builder = TestHost::builder().config(JAVA);
    let variable = "SPRING_SECURITY_OAUTH2_RESOURCESERVER_JWT_JWK_SET_URI";
    let secured = builder.env(variable, "https://issuer.example/keys").try_start().await;
    let reason = secured.err().expect("a secured Java service makes the mode a decision");
    assert!(reason.contains("captcha.auth"), "{reason}");
}
