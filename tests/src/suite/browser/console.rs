//! The operators' console.

mod comparison;
mod configuration;
mod hostile;
mod reach;
mod rollout;

use bulkhead_tests::{
    TestHost,
    guests::answering,
    operator::{self, Operator},
};
use serde_json::{Value, json};

use super::chromium::{Walk, walk};
use crate::operators::hosting_a;

/// An operator who uses the API at the same time.
fn operator(host: &TestHost) -> Operator {
    Operator::new(&host.admin_url(""), operator::DEPLOY)
}

/// The dialog's button that does it, by its name; the one that opens the dialog has three dots more.
fn confirm(name: &str) -> Value {
    json!(["click", format!("dialog >> role=button[name=/^{name}$/]")])
}

fn button(name: &str) -> Value {
    json!(["click", format!("main >> role=button[name=/^{name}/] >> visible=true")])
}

fn see(selector: &str, text: &str) -> Value {
    json!(["see", selector, text])
}

fn note(name: &str, expression: &str) -> Value {
    json!(["note", name, expression])
}

/// Keeps a picture of the whole page, to be looked at.
fn picture(name: &str) -> Value {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-tools/console");
    std::fs::create_dir_all(&folder).unwrap();
    json!(["shot", folder.join(format!("{name}.png"))])
}

/// Goes to the console and logs in with `token`.
fn log_in(host: &TestHost, token: &str) -> Vec<Value> {
    vec![
        json!(["go", host.admin_url("/console")]),
        json!(["fill", "#token", token]),
        button("Log in"),
        see("h1", "Slots"),
        see(".card", "captcha"),
    ]
}

/// Logs in and looks at the captcha's slot.
fn open(host: &TestHost, token: &str) -> Vec<Value> {
    let mut steps = log_in(host, token);
    steps.push(json!(["click", "main >> role=link[name=\"captcha\"]"]));
    steps.push(see("h2", "Versions"));
    steps
}

/// Walks, and asserts what holds for every walk: nothing is loaded from elsewhere, tokens are sent to the API alone and in
/// no address, no cookie is set, and the browser reports no fault.
async fn walk_well(host: &TestHost, steps: Vec<Value>) -> Walk {
    let walk = walk(steps).await;
    walk.assert_no_faults();
    assert!(walk.cookies.is_empty(), "{:?}", walk.cookies);
    assert!(walk.unseen.is_empty(), "the focus cannot be seen on {:?}", walk.unseen);
    for (_, address, authorization) in &walk.asked {
        let path = address.strip_prefix(&host.admin_url("")).unwrap_or_else(|| panic!("{address}"));
        assert!(!path.contains("bulkhead_"), "a token in an address: {path}");
        let guarded = path.starts_with("/v1/") && path != "/v1/openapi.json";
        assert_eq!(authorization.is_some(), guarded, "{path}");
    }
    walk
}

/// Actions that may be taken.
const ENABLED: &str =
    "[...document.querySelectorAll('main :is(button, input[type=file], input[type=range])')]
    .filter((element) => !element.disabled && element.checkVisibility()).length";

#[tokio::test(flavor = "multi_thread")]
async fn right_token_lasts_until_log_out() {
    let host = hosting_a().start().await;
    let page = host.admin_url("/console");
    let mut steps = vec![
        json!(["go", page]),
        json!(["fill", "#token", "bulkhead_a-guess"]),
        button("Log in"),
        see(".problem", "does not know the token"),
        note("refused", "[document.activeElement.id, sessionStorage.length]"),
        // What an editor makes of quotes is not a value of a header.
        json!(["fill", "#token", format!("\u{201c}{}\u{201d}", operator::DEPLOY)]),
        button("Log in"),
        see(".problem", "typographic quotes"),
        see("#token-hint", "bulkhead admin token NAME --scope deploy"),
        json!(["fill", "#token", operator::DEPLOY]),
        json!(["press", "Enter"]),
        see("h1", "Slots"),
        see("#token-name", "deploy (deploy)"),
        json!(["go", page]),
        see("h1", "Slots"),
        note("places", "[location.href, document.getElementById('audit-place').checkVisibility()]"),
        json!(["click", "#log-out"]),
        see("h1", "Log in"),
        note("left", "[sessionStorage.length, document.getElementById('who').checkVisibility()]"),
        json!(["go", page]),
        see("h1", "Log in"),
    ];
    steps.extend(open(&host, operator::DEPLOY));
    steps.push(note("enabled", ENABLED));
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["refused"], json!(["token", 0]), "the field has the focus, nothing is kept");
    assert_eq!(walk.notes["places"], json!([page, false]), "the audit log takes another scope");
    assert_eq!(walk.notes["left"], json!([0, false]));
    assert!(walk.notes["enabled"].as_u64().unwrap() >= 3, "{}", walk.notes["enabled"]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_token_finds_nothing_to_press() {
    let host = hosting_a().start().await;
    let api = operator(&host);
    let version = api.push(answering('B', "").component()).await;
    api.swap(&version).await;
    let mut steps = open(&host, operator::READ);
    steps.extend([
        see("main", "This token can read, but not change anything."),
        json!(["click", "summary >> nth=-1"]),
        note("enabled", ENABLED),
        note("audit", "document.getElementById('audit-place').checkVisibility()"),
        json!(["go", host.admin_url("/console#/audit")]),
        see("h1", "Audit log"),
        see("#trouble", "forbidden: the token's scope is read, but this request needs admin"),
    ]);
    let walk = walk_well(&host, steps).await;
    assert_eq!((&walk.notes["enabled"], &walk.notes["audit"]), (&json!(0), &json!(false)));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn console_without_tokens_says_what_to_do() {
    let host = TestHost::builder().config("[services.embedding]\nenabled = false\n").start().await;
    let steps = vec![
        json!(["go", host.admin_url("/console")]),
        json!(["fill", "#token", "anything"]),
        json!(["press", "Enter"]),
        see(".problem", "no-tokens"),
        see(".problem", "bulkhead admin token NAME"),
    ];
    walk_well(&host, steps).await;
    host.stop().await;
}
