//! Operators see what a version changes before it answers: its differences from the active version, and its answers to the
//! same calls.

use bulkhead_tests::host::eventually;

use super::*;
use crate::operators::letter;

const IMPORT: &str = "wasi:config/store@0.2.0-rc.1";

#[tokio::test(flavor = "multi_thread")]
async fn upload_shows_differences_from_the_active_version() {
    let host = hosting_a().start().await;
    let reading = answering('B', "(call $all (i32.const 2048))")
        .with_imports(&format!(r#"(import "{IMPORT}" "get-all" (func $all (param i32)))"#));
    let path = host.folder().join("reading.wasm");
    std::fs::write(&path, reading.component()).unwrap();
    let active = operator(&host).slot().await["active"]["id"].as_str().unwrap()[..12].to_owned();
    let mut steps = open(&host, operator::DEPLOY);
    steps.extend([
        json!(["files", "#component", path]),
        button("Upload and check"),
        see(".verdict.good h3", "passed its checks"),
        see(".verdict .comparison", &format!("Compared with {active}, the active version")),
        see(".verdict .comparison", &format!("new {IMPORT}")),
        button("Swap to it"),
        see("dialog .comparison", IMPORT),
        note("generation", "document.querySelector('main').innerText.includes('generation 0')"),
        confirm("Swap"),
        json!(["gone", "dialog"]),
        see("main", "generation 1"),
        note("old verdict", "document.querySelector('.verdict .comparison').checkVisibility()"),
        json!(["click", ".version-card summary:has-text('Changes') >> visible=true"]),
        see(".version-card .comparison", &format!("gone {IMPORT}")),
        button("Roll back"),
        see("dialog .comparison", &format!("gone {IMPORT}")),
        json!(["press", "Escape"]),
        json!(["gone", "dialog"]),
        json!(["click", format!("summary:has-text('{active}')")]),
        see(".history .comparison", &format!("gone {IMPORT}")),
    ]);
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["generation"], true, "it is seen before anything answers with it");
    assert_eq!(walk.notes["old verdict"], false, "what answers does not differ from itself");
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shadow_is_begun_watched_and_ended() {
    let host = hosting_a().start().await;
    let api = operator(&host);
    let version = api.push(answering('B', "").component()).await;
    let row = format!("li:has(summary:has-text('{}')) >> ", &version[..12]);
    let mut steps = open(&host, operator::DEPLOY);
    steps.extend([
        json!(["click", format!("{row}summary")]),
        json!(["click", format!("{row}role=button[name=/^Put it in shadow/]")]),
        see("dialog", "answers no client"),
        confirm("Put it in shadow"),
        see(".pill", "candidate in shadow"),
        see("h2", "In shadow"),
    ]);
    walk_well(&host, steps).await;
    for client in 1..4 {
        assert_eq!(letter(&host, client).await, 'A');
    }
    let compared = async || api.get("/v1/slots/captcha/shadow").await.1["different"] == 3;
    eventually("the copies are compared", compared).await;

    let mut steps = open(&host, operator::DEPLOY);
    steps.extend([
        see(".differences .member", "document.letter"),
        note(
            "counts",
            "[...document.querySelectorAll('[aria-labelledby=shadow-title] dd')].map((it) => it.textContent)",
        ),
        note("members", "[...document.querySelectorAll('.differences pre')].map((it) => it.textContent)"),
        picture("shadow"),
        json!(["size", 360, 800]),
        json!(["media", { "colorScheme": "dark" }]),
        picture("shadow-narrow-dark"),
        note("width", "document.documentElement.scrollWidth"),
        button("End the shadow"),
        see("dialog", "End the shadow of captcha?"),
        confirm("End it"),
        json!(["gone", "#shadow-title"]),
        see("main", "generation 2"),
    ]);
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["counts"], json!(["0", "3", "0", "0"]));
    assert_eq!(walk.notes["members"], json!(["\"A\"", "\"B\"", "\"A\"", "\"B\"", "\"A\"", "\"B\""]));
    assert!(walk.notes["width"].as_u64().unwrap() <= 360, "{:?}", walk.notes);
    let freed = async || api.stage(&version).await == "retired";
    eventually("its code is freed", freed).await;
    host.stop().await;
}
