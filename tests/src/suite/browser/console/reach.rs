//! The console by keyboard alone, in a narrow window, in the dark and without motion.

use super::*;
use crate::operators::{ask, letter, trapping};

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_within_the_keyboard_s_reach() {
    let host = hosting_a().start().await;
    let api = operator(&host);
    let version = api.push(trapping().component()).await;
    api.swap(&version).await;
    let tab = |selector: &str| json!(["tab", selector]);
    let press = |key: &str| json!(["press", key]);
    let steps = vec![
        json!(["go", host.admin_url("/console")]),
        see("h1", "Log in"),
        json!(["type", operator::ADMIN]),
        press("Enter"),
        see(".card", "captcha"),
        tab("main >> role=link[name=\"captcha\"]"),
        press("Enter"),
        see("h2", "Versions"),
        tab("main >> role=button[name=/^Roll back/]"),
        press("Enter"),
        see("dialog", "Roll captcha back?"),
        press("Escape"),
        json!(["gone", "dialog"]),
        note("back", "document.activeElement.textContent"),
        press("Enter"),
        json!(["type", "by keyboard"]),
        press("Enter"),
        json!(["gone", "dialog"]),
        see("main", "generation 2"),
        tab("#component"),
        tab("#history-title ~ ul summary >> nth=-1"),
        press("Enter"),
        tab("#least"),
        tab("#follow"),
        tab("[role=log]"),
        tab("nav >> role=link[name=\"Audit log\"]"),
        press("Enter"),
        see(".audit pre", "by keyboard"),
        tab("#log-out"),
        press("Enter"),
        see("h1", "Log in"),
    ];
    assert_eq!(ask(&host, 1).await.status(), 500, "the log has a line");
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["back"], "Roll back…", "a dialog gives the focus back");
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

/// What holds for a view: its width, and whether every field and every drawing has a name.
const FORM: &str = "({
    width: document.documentElement.scrollWidth,
    nameless: [...document.querySelectorAll('input, select, [role=img], [role=log], section, dialog')]
        .filter((it) => !it.labels?.length && !it.ariaLabel && !it.getAttribute('aria-labelledby')).map((it) => it.outerHTML),
    page: getComputedStyle(document.body).backgroundColor,
    motion: [...document.querySelectorAll('button')].map((it) => getComputedStyle(it).transitionDuration).join() })";

/// Every view with a candidate, a log and long names in it; what [`FORM`] says of each.
async fn look_around(name: &str, width: u32, features: Value) -> Vec<Value> {
    let host = hosting_a().component(trapping().component()).start().await;
    let api = operator(&host);
    for client in 1..4 {
        assert_eq!(ask(&host, client).await.status(), 500);
    }
    let long = format!("{}.wasm", "a-name-without-end-".repeat(9));
    let path = host.folder().join(&long);
    std::fs::write(&path, answering('B', "").component()).unwrap();
    let version = api.push(answering('C', "").component()).await;
    api.change("canary", json!({ "version": version, "weight": 20 })).await;

    let views = ["login", "slots", "slot", "dialog", "audit", "configuration"];
    let mut looks = views.iter().map(|view| [picture(&format!("{name}-{view}")), note(view, FORM)]);
    let mut look = || looks.next().unwrap();
    let mut steps = vec![
        json!(["size", width, 800]),
        json!(["media", features]),
        json!(["go", host.admin_url("/console")]),
        json!(["fill", "#token", "bulkhead_a-guess"]),
        button("Log in"),
        see(".problem", "unauthorized"),
    ];
    steps.extend(look());
    steps.extend(log_in(&host, operator::ADMIN));
    steps.extend(look());
    steps.extend([
        json!(["click", "main >> role=link[name=\"captcha\"]"]),
        see(".log", "unreachable"),
        json!(["files", "#component", path]),
        button("Upload and check"),
        see(".verdict.good", "passed its checks"),
        see(".verdict .comparison", "size"),
        json!(["click", ".version-card summary >> nth=0"]),
        json!(["click", ".version-card summary:has-text('Changes') >> visible=true"]),
        json!(["click", ".history summary >> nth=0"]),
        see(".history .comparison", "size"),
    ]);
    steps.extend(look());
    steps.extend([
        button("Promote"),
        see("dialog", "Promote the candidate"),
        see("dialog .comparison", "size"),
    ]);
    steps.extend(look());
    steps.extend([
        json!(["press", "Escape"]),
        json!(["click", "nav >> role=link[name=\"Audit log\"]"]),
        see(".audit", "candidate"),
    ]);
    steps.extend(look());
    let file = host.folder().join(bulkhead_tests::host::CONFIG_FILE);
    let text = std::fs::read_to_string(&file).unwrap();
    let added = "[log]\nlevel = \"debug\"\n[server]\nmax_connections = 7\n[slots.captcha]\ncpu_ms = 150\n";
    std::fs::write(&file, format!("{text}{added}")).unwrap();
    steps.extend([
        json!(["click", "nav >> role=link[name=\"Configuration\"]"]),
        button("Dry run"),
        see(".verdict.good", "server.max_connections"),
    ]);
    steps.extend(look());
    let walk = walk_well(&host, steps).await;
    host.stop().await;
    let forms: Vec<Value> = views.iter().map(|view| walk.notes[*view].clone()).collect();
    for (view, form) in views.iter().zip(&forms) {
        assert!(form["width"].as_u64().unwrap() <= width.into(), "{view} is too wide: {form}");
        assert_eq!(form["nameless"], json!([]), "{view}");
    }
    forms
}

#[tokio::test(flavor = "multi_thread")]
async fn views_fit_narrow_dark_and_still_windows() {
    let dark =
        look_around("narrow-dark", 360, json!({ "colorScheme": "dark", "reducedMotion": "reduce" })).await;
    let light = look_around("wide-light", 1280, json!({ "colorScheme": "light" })).await;
    for (dark, light) in dark.iter().zip(&light) {
        assert_ne!(dark["page"], light["page"]);
        assert!(dark["motion"].as_str().unwrap().split(',').all(|each| each.trim() == "0s"), "{dark}");
        assert_ne!(dark["motion"], light["motion"]);
    }
}
