//! The configuration in the console: dry run, reload, refusal, undo.

use bulkhead_tests::host::CONFIG_FILE;

use super::*;

fn go_there() -> [Value; 2] {
    [json!(["click", "nav >> role=link[name=\"Configuration\"]"]), see("h2", "Current configuration")]
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_tried_reloaded_and_undone() {
    let host = hosting_a().start().await;
    let file = host.folder().join(CONFIG_FILE);
    let text = std::fs::read_to_string(&file).unwrap();
    let added = "[log]\nlevel = \"debug\"\n[slots.captcha]\ncpu_ms = 150\nmax_concurrent = 3\n";
    std::fs::write(&file, format!("{text}{added}")).unwrap();
    let mut steps = log_in(&host, operator::ADMIN);
    steps.extend(go_there());
    steps.extend([
        see(".facts", "not since the host’s start"),
        button("Dry run"),
        see(".verdict.good h3", "A reload would succeed"),
        see(".verdict dt", "would take effect"),
        see(".verdict", "slots.captcha.cpu_ms"),
        note("focus", "document.activeElement.textContent"),
        note("before", "document.querySelector('main').innerText.includes('not since')"),
        button("Reload"),
        json!(["fill", "#reason", "more to see"]),
        confirm("Reload"),
        json!(["gone", "dialog"]),
        see(".verdict dt", "took effect"),
        see(".verdict dt", "needs a restart"),
        see(".facts", "1 time since the host’s start"),
        see(".facts", "more to see"),
        see("#announcement", "has been reloaded"),
        json!(["click", "main >> role=link[name=\"captcha\"]"]),
        see("h1", "captcha"),
        see("main", "generation 1"),
    ]);
    steps.extend(go_there());
    steps.extend([
        button("Undo"),
        see("dialog", "The file stays as it is"),
        confirm("Undo"),
        json!(["gone", "dialog"]),
        see(".facts", "2 times since the host’s start"),
        json!(["gone", "main >> role=button[name=/^Undo/]"]),
        json!(["click", "nav >> role=link[name=\"Audit log\"]"]),
        see(
            ".audit pre",
            "counts now: log.level, slots.captcha.cpu_ms; needs a restart: slots.captcha.max_concurrent",
        ),
    ]);
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["focus"], "A reload would succeed");
    assert_eq!(walk.notes["before"], true, "a trial changes nothing");
    assert_eq!(operator(&host).slot().await["active"]["cpu_ms"], 200);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_problems_are_shown_by_line() {
    let host = hosting_a().start().await;
    let file = host.folder().join(CONFIG_FILE);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("no_such_key = 1\n{text}[slots.captcha]\ncpu_ms = -1\n")).unwrap();
    let mut steps = log_in(&host, operator::ADMIN);
    steps.extend(go_there());
    steps.extend([
        button("Dry run"),
        see(".verdict.bad h3", "Nothing has changed"),
        see(".verdict .problem", "test.toml line 1: no_such_key"),
        see(".verdict .problem", "slots.captcha.cpu_ms"),
        button("Reload"),
        confirm("Reload"),
        see("dialog .problem", "unsound-configuration"),
        json!(["press", "Escape"]),
        see("h3", "The last attempt was refused"),
        see("[aria-labelledby=current-title] .problem", "no_such_key"),
        picture("configuration-refused"),
    ]);
    walk_well(&host, steps).await;

    let mut steps = log_in(&host, operator::READ);
    steps.extend(go_there());
    steps.extend([
        see("main", "A reload needs a token with the scope admin."),
        see("[aria-labelledby=current-title] .problem", "no_such_key"),
        note("enabled", ENABLED),
    ]);
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["enabled"], 0);
    host.stop().await;
}
