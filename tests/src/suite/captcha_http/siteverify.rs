//! `siteverify` as a reCAPTCHA client calls it.

use reqwest::header;
use serde_json::{Value, json};

use bulkhead_tests::TestHost;

use super::{COMPAT_SECRET, CONFIG, Captcha, read};

/// Sites that share a secret, as an import may bring them.
const TWINS: &str = r#"
    [captcha.sites.twin-a]
    secret = "twin-secret"
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    allowed_origins = ["*"]
    [captcha.sites.twin-b]
    secret = "twin-secret"
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    allowed_origins = ["*"]
"#;

/// Posts a form.
async fn ask(captcha: &Captcha, fields: &[(&str, &str)]) -> Value {
    let encoded =
        |text: &str| text.replace('%', "%25").replace('+', "%2B").replace('=', "%3D").replace('&', "%26");
    let pairs: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let request = captcha.post("/siteverify").body(pairs.join("&"));
    let (status, body) =
        read(request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")).await;
    assert_eq!(status, 200, "{body}");
    body
}

fn errors(code: &str) -> Value {
    json!({ "success": false, "error-codes": [code] })
}

#[tokio::test]
async fn a_token_is_accepted_once() {
    let captcha = Captcha::start().await;
    let body = captcha.solved_by_widget("web").await;
    let origin = captcha.post("/widget/verify?siteKey=web").header(header::ORIGIN, "https://www.example.org");
    let (_, answer) = read(origin.json(&body)).await;
    let token = answer["payload"].as_str().unwrap();
    let foreign = ask(&captcha, &[("secret", "narrow-secret"), ("response", token)]).await;
    assert_eq!(foreign["error-codes"], json!(["invalid-input-response"]));
    let answer = ask(&captcha, &[("secret", "web-secret-old"), ("response", token)]).await;
    assert_eq!((&answer["success"], &answer["error-codes"]), (&json!(true), &json!([])));
    assert_eq!(answer["hostname"], "www.example.org");
    assert!(answer["challenge_ts"].as_str().unwrap().ends_with('Z'), "{answer}");
    let again = ask(&captcha, &[("secret", "web-secret-old"), ("response", token)]).await;
    assert_eq!(again["error-codes"], json!(["timeout-or-duplicate"]));
    captcha.stop().await;
}

#[tokio::test]
async fn raw_payload_is_accepted_once() {
    let captcha = Captcha::start().await;
    let body = captcha.solved_by_widget("web").await;
    let payload = body["payload"].as_str().unwrap();
    let question = json!({ "secret": "web-secret-new", "response": payload, "remoteip": "127.0.0.1" });
    let (status, answer) = captcha.call("/siteverify", &question).await;
    assert_eq!((status, &answer["success"]), (200, &json!(true)), "{answer}");
    let again = ask(&captcha, &[("secret", "web-secret-new"), ("response", payload)]).await;
    assert_eq!(again["error-codes"], json!(["timeout-or-duplicate"]));
    captcha.stop().await;
}

#[tokio::test]
async fn sites_with_one_secret_are_all_served() {
    let captcha = Captcha(TestHost::builder().config(CONFIG).config(TWINS).start().await);
    let question = async |response: &str| {
        ask(&captcha, &[("secret", "twin-secret"), ("response", response), ("remoteip", "127.0.0.1")]).await
    };
    for site in ["twin-a", "twin-b"] {
        let body = captcha.solved_by_widget(site).await;
        let payload = body["payload"].as_str().unwrap();
        assert_eq!(question(payload).await["success"], true, "{site}");
        assert_eq!(question(payload).await["error-codes"], json!(["timeout-or-duplicate"]), "{site}");

        let body = captcha.solved_by_widget(site).await;
        let widget = captcha.post(&format!("/widget/verify?siteKey={site}"));
        let (_, answer) = read(widget.header(header::ORIGIN, "https://a.example").json(&body)).await;
        let token = answer["payload"].as_str().unwrap();
        assert_eq!(question(token).await["success"], true, "{site}");
        assert_eq!(question(token).await["error-codes"], json!(["timeout-or-duplicate"]), "{site}");
    }
    let body = captcha.solved_by_widget("web").await;
    let foreign = question(body["payload"].as_str().unwrap()).await;
    assert_eq!(foreign["error-codes"], json!(["invalid-input-response"]));
    let valid = |site| format!("captcha_requests_total{{outcome=\"valid\",site=\"{site}\"}}");
    for site in ["twin-a", "twin-b"] {
        assert_eq!(captcha.0.metric(&valid(site)).await, 3.0, "{site}: two answers and the widget's");
        assert_eq!(
            captcha
                .0
                .metric(&format!("captcha_rejections_total{{reason=\"bad_signature\",site=\"{site}\"}}"))
                .await,
            f64::from(site == "twin-b")
        );
    }
    captcha.stop().await;
}

#[tokio::test]
async fn named_site_counts_before_others() {
    let captcha = Captcha(TestHost::builder().config(CONFIG).config(TWINS).start().await);
    let body = captcha.solved_by_widget("twin-b").await;
    let payload = body["payload"].as_str().unwrap();
    let question = [("secret", "twin-secret"), ("response", payload)];
    let of_site = |site| [&question[..], &[("sitekey", site)]].concat();
    let other = ask(&captcha, &of_site("twin-a")).await;
    assert_eq!(other["error-codes"], json!(["invalid-input-response"]));
    assert_eq!(ask(&captcha, &of_site("twin-b")).await["success"], true);
    captcha.stop().await;
}

/// Back ends send what their language has for nothing.
#[tokio::test]
async fn remote_ip_is_read_for_bindings() {
    let bound = "[captcha.sites.bound]\nsecret = \"bound-secret\"\nalgorithm = \"SHA-256\"\nbinding = \"exact\"\n\
                 difficulty_map = [{ min_visits = 1, cost = 1 }]\n";
    let captcha = Captcha(TestHost::builder().config(CONFIG).config(bound).start().await);
    for remote_ip in ["None", "unresolved", "undefined", "127.0.0.1:http", "\0"] {
        let body = captcha.solved_by_widget("web").await;
        let question = [
            ("secret", "web-secret-new"),
            ("response", body["payload"].as_str().unwrap()),
            ("remoteip", remote_ip),
        ];
        assert_eq!(ask(&captcha, &question).await["success"], true, "{remote_ip}");
    }
    let question = async |response: &str, remote_ip: &str| {
        ask(&captcha, &[("secret", "bound-secret"), ("response", response), ("remoteip", remote_ip)]).await
    };
    let body = captcha.solved_by_widget("bound").await;
    let payload = body["payload"].as_str().unwrap();
    let with_key = async |remote_ip: &str| {
        let question = [
            ("secret", "bound-secret"),
            ("response", payload),
            ("remoteip", remote_ip),
            ("idempotency_key", "k"),
        ];
        ask(&captcha, &question).await
    };
    for remote_ip in ["None", "\0"] {
        assert_eq!(question(payload, remote_ip).await, errors("bad-request"));
        assert_eq!(with_key(remote_ip).await, errors("bad-request"));
    }
    assert_eq!(question(payload, "192.0.2.9").await["error-codes"], json!(["invalid-input-response"]));
    assert_eq!(with_key("127.0.0.1").await["success"], true, "none of the others has spent it or is kept");
    let body = captcha.solved_by_widget("bound").await;
    let (_, answer) = captcha.call("/widget/verify?siteKey=bound", &body).await;
    let token = answer["payload"].as_str().unwrap();
    assert_eq!(question(token, "None").await["success"], true, "a result is not bound to a client");
    captcha.stop().await;
}

#[tokio::test]
async fn query_and_multipart_are_read() {
    let captcha = Captcha::start().await;
    let payload = async || {
        let body = captcha.solved_by_widget("web").await;
        body["payload"].as_str().unwrap().replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned()
    };
    let query = format!("/siteverify?secret=web-secret-new&response={}", payload().await);
    assert_eq!(read(captcha.get(&query)).await.1["success"], true);
    assert_eq!(read(captcha.get(&query)).await.1["error-codes"], json!(["timeout-or-duplicate"]));
    let query = format!("/siteverify?secret=web-secret-new&response={}", payload().await);
    assert_eq!(read(captcha.post(&query)).await.1["success"], true);

    let part = |(name, value): (&str, &str)| {
        format!("--a-b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let parts = [("response", &*payload().await), ("remoteip", "None")].map(part).concat();
    let post = captcha.post("/siteverify?secret=web-secret-new").body(format!("{parts}--a-b--\r\n"));
    let post = post.header(header::CONTENT_TYPE, "multipart/form-data; boundary=a-b");
    assert_eq!(read(post).await.1["success"], true);
    let nothing = read(captcha.get("/siteverify")).await;
    assert_eq!(nothing.1["error-codes"], json!(["missing-input-secret", "missing-input-response"]));
    captcha.stop().await;
}

#[tokio::test]
async fn a_question_can_be_asked_again() {
    let captcha = Captcha::start().await;
    let body = captcha.solved_by_widget("web").await;
    let payload = body["payload"].as_str().unwrap();
    let question = |key| [("secret", "web-secret-new"), ("response", payload), ("idempotency_key", key)];
    let (first, second) = (question("3f2e"), question("other"));
    let answers = futures_util::future::join_all((0..8).map(|_| ask(&captcha, &first))).await;
    assert_eq!(answers[0]["success"], true);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(ask(&captcha, &first).await, answers[0]);
    let duplicate = errors("timeout-or-duplicate");
    for _ in 0..2 {
        let answer = ask(&captcha, &second).await;
        assert_eq!(answer["error-codes"], duplicate["error-codes"], "another question");
    }
    assert_eq!(ask(&captcha, &first).await, answers[0]);
    let other_secret = [("secret", "web-secret-old"), ("response", payload), ("idempotency_key", "3f2e")];
    assert_eq!(ask(&captcha, &other_secret).await["error-codes"], duplicate["error-codes"]);
    let wrong_secret = [("secret", "guess"), ("response", payload), ("idempotency_key", "3f2e")];
    assert_eq!(ask(&captcha, &wrong_secret).await, errors("invalid-input-secret"));
    let valid = captcha.0.metric("captcha_requests_total{outcome=\"valid\",site=\"web\"}").await;
    assert_eq!(valid, 1.0, "an answer that is given again is not a verification");
    captcha.stop().await;
}

#[tokio::test]
async fn each_fault_has_its_code() {
    let captcha = Captcha::start().await;
    let secret = ("secret", "web-secret-new");
    let both = json!({
        "success": false, "error-codes": ["missing-input-secret", "missing-input-response"],
    });
    assert_eq!(ask(&captcha, &[]).await, both);
    assert_eq!(ask(&captcha, &[("response", "x")]).await, errors("missing-input-secret"));
    assert_eq!(ask(&captcha, &[secret]).await, errors("missing-input-response"));
    assert_eq!(ask(&captcha, &[("secret", "no"), ("response", "x")]).await, errors("invalid-input-secret"));
    for response in ["x", "e30=", "bnVsbA=="] {
        let answer = ask(&captcha, &[secret, ("response", response)]).await;
        assert_eq!(answer, errors("invalid-input-response"), "{response}");
    }
    let question = [secret, ("response", "e30="), ("idempotency_key", "two words")];
    assert_eq!(ask(&captcha, &question).await, errors("bad-request"));
    for site in ["compat", "nobody"] {
        let question = [secret, ("response", "e30="), ("sitekey", site)];
        assert_eq!(ask(&captcha, &question).await, errors("sitekey-secret-mismatch"), "{site}");
    }
    let (status, answer) = captcha.call("/siteverify", &json!([])).await;
    assert_eq!((status, answer), (200, errors("bad-request")));
    captcha.stop().await;
}

/// Whatever guards the back ends' own endpoints, a secret is all that a reCAPTCHA client has to show.
#[tokio::test]
async fn the_auth_mode_does_not_guard_it() {
    let key = "k".repeat(32);
    let guarded = format!("[captcha]\nauth = \"api-key\"\napi_keys = [\"{key}\"]\n");
    let config = CONFIG.replacen("[captcha]\n", &guarded, 1);
    let captcha = Captcha(TestHost::builder().config(&config).start().await);
    let (status, _) = read(captcha.post("/challenge").json(&json!({}))).await;
    assert_eq!(status, 401);
    let answer = ask(&captcha, &[("secret", "web-secret-old"), ("response", "x")]).await;
    assert_eq!(answer, errors("invalid-input-response"));
    captcha.stop().await;
}

/// An address that guesses is soon refused, with the right secret among its guesses as without; a back end that is known
/// goes on.
#[tokio::test]
async fn wrong_secrets_are_limited() {
    let captcha = Captcha::start().await;
    let post = async |secret: &str| {
        read(captcha.post("/siteverify").json(&json!({ "secret": secret, "response": "x" }))).await
    };
    assert_eq!(post("web-secret-old").await, (200, errors("invalid-input-response")));
    let since = std::time::Instant::now();
    for guess in 0..10 {
        assert_eq!(post(&format!("guess {guess}")).await, (200, errors("invalid-input-secret")));
    }
    let mut looked_at = 0;
    for guess in 10..30 {
        let request =
            captcha.post("/siteverify").json(&json!({ "secret": format!("guess {guess}"), "response": "x" }));
        let answer = request.send().await.unwrap();
        let (status, retry) = (answer.status(), answer.headers().contains_key(header::RETRY_AFTER));
        let body: Value = answer.json().await.unwrap();
        if status == 429 {
            assert_eq!((&body["code"], retry), (&json!("rate-limited"), true), "{body}");
        } else {
            assert_eq!((status.as_u16(), &body, retry), (200, &errors("invalid-input-secret"), false));
            looked_at += 1;
        }
    }
    // Every six seconds another one is looked at.
    let allowed = since.elapsed().as_secs() / 6 + 1;
    assert!(looked_at <= allowed, "{looked_at} more guesses are looked at, {allowed} may be");
    assert_eq!(post("web-secret-old").await, (200, errors("invalid-input-response")));
    captcha.stop().await;
}

/// Strangers' guesses keep no back end out whose secret cannot be guessed, known or not.
#[tokio::test]
async fn guesses_do_not_hold_up_long_secrets() {
    let captcha = Captcha::start().await;
    let from = |last: u8| {
        reqwest::Client::builder()
            .local_address(std::net::IpAddr::from([127, 0, 0, last]))
            .timeout(std::time::Duration::from_secs(60))
            .build()
            .unwrap()
    };
    let post = async |client: &reqwest::Client, secret: &str| {
        let question = json!({ "secret": secret, "response": "x" });
        read(client.post(captcha.url("/siteverify")).json(&question)).await
    };
    // Nine each, so that no address spends its own allowance.
    let mut guessers = 2..100;
    let limited = loop {
        let guesser = from(guessers.next().expect("all addresses together have a limit"));
        let mut limited = false;
        for guess in 0..9 {
            limited |= post(&guesser, &format!("guess {guess}")).await.0 == 429;
        }
        if limited {
            break guesser;
        }
    };
    for client in [&limited, &from(200)] {
        assert_eq!(post(client, COMPAT_SECRET).await, (200, errors("invalid-input-response")));
    }
    captcha.stop().await;
}
