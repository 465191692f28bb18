//! Text of components and of other operators stays text.

use bulkhead_tests::guests::Guest;

use super::*;
use crate::operators::letter;

const MARKUP: &str = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";

/// Logs [`MARKUP`], as the place and as the line, and answers.
fn marking() -> Guest {
    let bytes = MARKUP.len();
    let data = MARKUP.replace('"', "\\22");
    Guest::call(&format!(
        "(call $log (i32.const 3) (i32.const 2048) (i32.const {bytes}) (i32.const 2048) (i32.const {bytes}))
         (i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const 14)) i32.const 0"
    ))
    .with_imports(
        r#"(import "wasi:logging/logging@0.1.0-draft" "log" (func $log (param i32 i32 i32 i32 i32)))"#,
    )
    .with_fields(&format!(
        r#"(data (i32.const 1024) "{{\"letter\":\"M\"}}") (data (i32.const 2048) "{data}")"#
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn markup_of_others_is_shown_as_text() {
    let host = hosting_a().start().await;
    let source: String = MARKUP.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let url = host.admin_url(&format!("/v1/slots/captcha/versions?source={source}"));
    let push = host.client().post(url).bearer_auth(operator::DEPLOY);
    let push = push.header("content-type", "application/wasm").body(marking().component());
    let pushed: Value = push.send().await.unwrap().json().await.unwrap();
    let version = pushed["id"].as_str().unwrap_or_else(|| panic!("{pushed}"));
    operator(&host).change("swap", json!({ "version": version, "reason": MARKUP })).await;
    assert_eq!(letter(&host, 1).await, 'M');

    let parts = "[document.images.length, document.querySelectorAll('main script').length, document.title]";
    let mut steps = open(&host, operator::ADMIN);
    steps.extend([
        see(".log .message", MARKUP),
        see(".log .context", "<img"),
        see(".history .source", MARKUP),
        json!(["click", format!("summary:has-text('{}')", &version[..12])]),
        see(".moves pre", MARKUP),
        note("slot", parts),
        json!(["click", "nav >> role=link[name=\"Slots\"]"]),
        see(".card .version", "<img"),
        note("slots", parts),
        json!(["click", "nav >> role=link[name=\"Audit log\"]"]),
        see(".audit pre", MARKUP),
        note("audit", parts),
    ]);
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["slot"], json!([0, 0, "captcha · Bulkhead"]));
    assert_eq!(walk.notes["slots"], json!([0, 0, "Slots · Bulkhead"]));
    assert_eq!(walk.notes["audit"], json!([0, 0, "Audit log · Bulkhead"]));
    host.stop().await;
}

/// Should a defect ever put markup into the page, the policy holds.
#[tokio::test(flavor = "multi_thread")]
async fn policy_keeps_markup_from_the_page() {
    let host = hosting_a().start().await;
    let steps = vec![
        json!(["go", host.admin_url("/console")]),
        see("h1", "Log in"),
        note(
            "markup",
            "(() => { try { document.body.innerHTML = '<b>x</b>' } catch (error) { return error.name } })()",
        ),
        note("elsewhere", "fetch('http://127.0.0.1:1/').then(() => 'taken', (error) => error.name)"),
    ];
    let walk = walk(steps).await;
    assert_eq!((&walk.notes["markup"], &walk.notes["elsewhere"]), (&json!("TypeError"), &json!("TypeError")));
    let refused = walk.complaints.iter().filter(|text| text.contains("Content Security Policy"));
    assert!(refused.count() >= 1, "{:?}", walk.complaints);
    host.stop().await;
}
