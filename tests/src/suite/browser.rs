//! In a real browser: the captcha, with the demo page's own solver and the real ALTCHA widget, on the demo page and
//! on a page of another origin; the operators' console; the start page and the pages that show APIs.

pub mod chromium;
mod console;
mod start;
mod website;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_tests::TestHost;
use serde_json::{Value, json};

use self::{
    chromium::{Visit, package_folder, visit},
    website::Website,
};

/// The site `demo` comes with the page; it has the defaults, so PBKDF2/SHA-256.
const CONFIG: &str = r#"
    demo = true
    [captcha.sites.sha]
    secret = "sha"
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 50 }]
"#;

/// Sites of [`CONFIG`], whose secrets are their names, and what they issue.
const SITES: [(&str, &str); 2] = [("demo", "PBKDF2/SHA-256"), ("sha", "SHA-256")];

/// What a person clicks: on the page itself, and in the widget, whose checkbox lies under a picture.
const SOLVE: &str = "#solve";
const WIDGET: &str = "altcha-widget label";

/// Challenges are good for a second.
const SHORT: &str = "[captcha]\ncaptcha_timeout_seconds = 1\n";

/// Past a challenge's end however the seconds fall, milliseconds.
const PAST_THE_END: u32 = 2500;

async fn start(config: &str) -> TestHost {
    TestHost::builder().config(config).start().await
}

/// Posts JSON; the answer's status and body.
async fn call(host: &TestHost, path: &str, body: &Value) -> (u16, Value) {
    let response = host.client().post(host.url(path)).json(body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Asks as a site's back end does about what the browser's form would send.
async fn verify(host: &TestHost, site: &str, field: &Value) -> Value {
    let payload = BASE64_STANDARD.decode(field.as_str().unwrap()).unwrap();
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    let ask = json!({
        "siteKey": site, "siteSecret": site, "clientAddress": "127.0.0.1", "payload": payload,
    });
    let (status, answer) = call(host, "/api/v1/captcha/verify", &ask).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// Solves on the demo page for each site; `more` is put after the page's `siteKey`.
async fn solve_for_each_site(host: &TestHost, more: &str, click: &str) -> Vec<Value> {
    let page = |site| host.url(&format!("/demo/captcha?siteKey={site}{more}"));
    let visits = SITES.map(|(site, _)| Visit {
        url: page(site),
        click,
        comes_to: "verified",
        again: Some("replayed"),
    });
    let seen = visit(&visits).await;
    for ((site, algorithm), seen) in SITES.iter().zip(&seen) {
        assert_eq!(seen["complaints"], json!([]), "{site}");
        assert_eq!(seen["algorithms"], json!([algorithm]), "{site}");
        assert_eq!(seen["answer"]["verified"], true, "{site}: {seen}");
        assert_eq!(seen["again"], json!({ "verified": false, "reason": "replayed" }), "{site}");
        let payload = &seen["answer"]["payload"];
        assert_eq!(verify(host, site, payload).await, json!({ "valid": true }), "{site}");
        let replayed = json!({ "valid": false, "reason": "replayed" });
        assert_eq!(verify(host, site, payload).await, replayed, "{site}");
    }
    seen
}

#[tokio::test]
async fn own_solver_works_for_both_algorithms() {
    let host = start(CONFIG).await;
    for seen in solve_for_each_site(&host, "", SOLVE).await {
        assert_eq!(seen["origins"], json!([host.url("")]), "nothing is loaded from elsewhere");
    }
    host.stop().await;
}

#[tokio::test]
async fn widget_works_for_both_algorithms() {
    let (host, website) = (start(CONFIG).await, Website::start().await);
    let widget = format!("&widget={}", website.widget());
    for seen in solve_for_each_site(&host, &widget, WIDGET).await {
        assert_eq!(seen["origins"], json!([host.url(""), website.origin()]));
        assert_eq!(seen["field"], seen["answer"]["payload"], "the form sends what the host signed");
    }
    host.stop().await;
}

#[tokio::test]
async fn the_host_serves_the_widget_itself() {
    let host = start(&format!("{CONFIG}[captcha]\nwidget_dir = {:?}\n", package_folder("altcha/dist"))).await;
    let widget = "&widget=/api/v1/captcha/widget/files/main/altcha.js";
    for seen in solve_for_each_site(&host, widget, WIDGET).await {
        assert_eq!(seen["origins"], json!([host.url("")]), "nothing is loaded from elsewhere");
    }
    host.stop().await;
}

#[tokio::test]
async fn an_expired_challenge_is_refused() {
    let (host, website) = (start(&format!("{CONFIG}{SHORT}")).await, Website::start().await);
    let page = host.url(&format!("/demo/captcha?siteKey=sha&delay={PAST_THE_END}"));
    let with_widget = format!("{page}&widget={}", website.widget());
    let seen = visit(&[
        Visit { url: page, click: SOLVE, comes_to: "expired", again: Some("expired") },
        // `error` is how the widget calls it; the page says why.
        Visit { url: with_widget, click: WIDGET, comes_to: "error", again: Some("expired") },
    ])
    .await;
    for seen in &seen {
        assert_eq!(seen["complaints"], json!([]));
        assert_eq!(seen["answer"], json!({ "verified": false, "reason": "expired" }));
        assert_eq!(seen["again"], json!({ "verified": false, "reason": "expired" }));
    }
    // The widget leaves its solution in the form.
    let answer = verify(&host, "sha", &seen[1]["field"]).await;
    assert_eq!(answer, json!({ "valid": false, "reason": "expired" }));
    host.stop().await;
}

#[tokio::test]
async fn foreign_page_uses_the_widget_unchanged() {
    let website = Website::start().await;
    let origin = website.origin();
    let host = start(&format!(
        "[captcha.sites.shop]\nsecret = 'shop'\nallowed_origins = ['{origin}']\n\
         [captcha.sites.other]\nsecret = 'other'\nallowed_origins = ['https://other.example']\n"
    ))
    .await;
    let page = |site| website.page(&host.url(""), site);
    let seen = visit(&[
        Visit { url: page("shop"), click: WIDGET, comes_to: "verified", again: None },
        Visit { url: page("other"), click: WIDGET, comes_to: "error", again: None },
    ])
    .await;

    let [shop, other] = &seen[..] else { panic!("two visits") };
    assert_eq!(shop["complaints"], json!([]));
    assert_eq!(shop["field"], shop["answer"]["payload"]);
    let ask = json!({ "secret": "shop", "response": shop["field"], "remoteip": "127.0.0.1" });
    let (_, answer) = call(&host, "/api/v1/captcha/siteverify", &ask).await;
    assert_eq!((&answer["success"], &answer["hostname"]), (&json!(true), &json!("127.0.0.1")), "{answer}");
    let (_, answer) = call(&host, "/api/v1/captcha/siteverify", &ask).await;
    assert_eq!(answer["error-codes"], json!(["timeout-or-duplicate"]));

    assert_eq!((&other["answer"], &other["algorithms"]), (&Value::Null, &json!([])));
    assert!(other["complaints"].to_string().contains("CORS policy"), "{other}");
    host.stop().await;
}

#[tokio::test]
async fn without_demo_mode_there_is_no_page() {
    let host = start("[captcha.sites.web]\nsecret = 'web'\n").await;
    for path in ["", "/demo.js", "/solver.js", "/demo.css"] {
        let path = format!("/demo/captcha{path}");
        assert_eq!(host.client().get(host.url(&path)).send().await.unwrap().status(), 404, "{path}");
    }
    let challenge = host.url("/api/v1/captcha/widget/challenge?siteKey=demo");
    assert_eq!(host.client().get(challenge).send().await.unwrap().status(), 404, "nor its site");
    host.stop().await;
}
