//! In what two versions differ.

use super::super::*;

async fn diff(operator: &Operator, a: &str, b: &str) -> Value {
    let (status, diff) = operator.get(&format!("/v1/slots/captcha/diff?a={a}&b={b}")).await;
    assert_eq!(status, 200, "{diff}");
    diff
}

#[tokio::test(flavor = "multi_thread")]
async fn components_and_settings_are_compared() {
    let host = hosting_a().start().await;
    let first = operator(&host);
    let reading = answering('B', "(call $all (i32.const 2048))")
        .with_imports(r#"(import "wasi:config/store@0.2.0-rc.1" "get-all" (func $all (param i32)))"#);
    let a = first.slot().await["active"]["id"].as_str().unwrap().to_owned();
    let b = first.push(reading.component()).await;
    let found = diff(&first, &a, &b).await;
    assert_eq!(found["imports"], json!({ "only_a": [], "only_b": ["wasi:config/store@0.2.0-rc.1"] }));
    assert_eq!(found["exports"], json!({ "only_a": [], "only_b": [] }));
    assert_eq!((&found["settings"], &found["same_component"]), (&json!([]), &json!(false)));
    assert_eq!(found["a"]["packages"], json!(["bulkhead:captcha@0.1.1"]));
    assert!(found["b"]["bytes"].as_u64().unwrap() > found["a"]["bytes"].as_u64().unwrap(), "{found}");

    // The same component under other settings is another version.
    let host = hosting_a()
        .folder(host.stop().await)
        .env("BULKHEAD_SLOTS__CAPTCHA__CPU_MS", "150")
        .env("BULKHEAD_SLOTS__CAPTCHA__GRANTS", "wasi:io/poll")
        .config("[slots.captcha.config]\nmode = \"strict\"\n")
        .start()
        .await;
    let second = operator(&host);
    let again = second.push(reading.component()).await;
    let found = diff(&second, &b, &again).await;
    assert_eq!((&found["same_component"], &found["imports"]["only_b"]), (&json!(true), &json!([])));
    assert_eq!(
        found["settings"],
        json!([
            { "key": "config.mode", "a": null, "b": "strict" },
            { "key": "cpu_ms", "a": "200", "b": "150" },
            { "key": "grants", "a": "", "b": "wasi:io/poll" },
        ])
    );
    for (query, status) in
        [("a=x", 400), ("a=ffffffffffffffff&b=ffffffffffffffff", 404), ("a=1&b=2&c=3", 400)]
    {
        let (got, error) = second.get(&format!("/v1/slots/captcha/diff?{query}")).await;
        assert_eq!(got, status, "{query}: {error}");
    }
    host.stop().await;
}
