//! Versions come and go by the console.

use super::*;
use crate::operators::letter;

fn write(host: &TestHost, name: &str, bytes: &[u8]) -> String {
    let path = host.folder().join(name);
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn upload_shows_its_verdict_before_it_answers() {
    let host = hosting_a().start().await;
    let garbage = write(&host, "garbage.wasm", b"garbage");
    let unfit = write(&host, "unfit.wasm", &wat::parse_str("(component)").unwrap());
    let good = write(&host, "good.wasm", &answering('B', "").component());
    let mut steps = open(&host, operator::DEPLOY);
    steps.extend([
        json!(["files", "#component", garbage]),
        button("Upload and check"),
        see(".verdict.bad .problem", "not a WebAssembly component"),
        see(".verdict.bad", "refused"),
        json!(["files", "#component", unfit]),
        button("Upload and check"),
        see(".verdict.bad .problem", "does not export self-test"),
        see(".verdict.bad .moves", "received"),
        json!(["files", "#component", good]),
        button("Upload and check"),
        see(".verdict.good h3", "passed its checks"),
        see(".verdict.good .moves", "trialled"),
        see("main", "generation 0"),
        note("focus", "document.activeElement.textContent"),
        button("Swap to it"),
        see("dialog", "in place of"),
        json!(["fill", "#reason", "it is better"]),
        confirm("Swap"),
        json!(["gone", "dialog"]),
        see("main", "generation 1"),
        see("#announcement", "captcha now answers with"),
        // The same once more.
        json!(["files", "#component", good]),
        button("Upload and check"),
        see(".verdict.good h3", "already answers"),
    ]);
    let walk = walk_well(&host, steps).await;
    assert!(
        walk.notes["focus"].as_str().unwrap().ends_with("passed its checks"),
        "the verdict has the focus"
    );
    assert_eq!(letter(&host, 1).await, 'B');
    let (_, history) = operator(&host).get("/v1/slots/captcha/history").await;
    let versions = history["versions"].as_array().unwrap();
    let version = versions.iter().find(|version| version["source"] == "good.wasm").unwrap();
    let active = version["moves"].as_array().unwrap().last().unwrap();
    let expected = (&json!("active"), &json!("deploy"), &json!("it is better"));
    assert_eq!((&active["stage"], &active["actor"], &active["reason"]), expected);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn candidate_is_weighed_promoted_and_rolled_back() {
    let host = hosting_a().start().await;
    let version = operator(&host).push(answering('B', "").component()).await;
    let row = format!("li:has(summary:has-text('{}')) >> ", &version[..12]);
    let weight = |percent: u8| json!(["fill", "#share", percent.to_string()]);
    let mut steps = open(&host, operator::DEPLOY);
    steps.extend([
        json!(["click", format!("{row}summary")]),
        json!(["click", format!("{row}role=button[name=/^Start canary/]")]),
        see("dialog", "Each client stays with one version"),
        json!(["fill", "#first-share", "30"]),
        see("dialog output", "30 %"),
        confirm("Start canary"),
        see(".pill", "candidate 30 %"),
        note("at 30", "document.getElementById('share').value"),
        weight(60),
        button("Set share"),
        confirm("Set 60 %"),
        see(".pill", "candidate 60 %"),
        button("Promote"),
        confirm("Promote"),
        json!(["gone", ".pill.tried >> text=candidate 60"]),
        see(".version-card", &version[..12]),
        see("main", "generation 3"),
        button("Roll back"),
        json!(["fill", "#reason", "worse"]),
        confirm("Roll back"),
        json!(["gone", "dialog"]),
        see("main", "generation 4"),
    ]);
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["at 30"], "30", "the slider follows what is so");
    let posted: Vec<_> = walk.asked.iter().filter(|(method, ..)| method == "POST").collect();
    let posted: Vec<_> = posted.iter().map(|(_, address, _)| address.rsplit('/').next().unwrap()).collect();
    assert_eq!(posted, ["canary", "canary", "promote", "rollback"]);
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

/// A host that still compiles what all hosts should have has an earlier generation, and refuses changes of that.
#[tokio::test(flavor = "multi_thread")]
async fn change_names_the_generation_of_all_hosts() {
    let host = hosting_a().start().await;
    let b = operator(&host).push(answering('B', "").component()).await;
    let row = format!("li:has(summary:has-text('{}')) >> ", &b[..12]);
    // What a host says then; here its database would be ahead, so that this one refuses the number.
    let ahead = "(() => {
        const ask = window.fetch;
        window.fetch = async (url, init) => {
            if (init?.method === 'POST') window.sent = JSON.parse(init.body);
            const answer = await ask(url, init);
            if (!String(url).endsWith('/v1/slots/captcha')) return answer;
            const shared = { desired: 7, applied: 0, behind: 'it compiles', away: null };
            const slot = { ...(await answer.json()), shared, world: 'a world of its own' };
            return new Response(JSON.stringify(slot), { status: answer.status });
        };
        return true;
    })()";
    let mut steps = open(&host, operator::DEPLOY);
    steps.extend([
        note("ahead", ahead),
        see("main", "a world of its own, generation 0"),
        json!(["click", format!("{row}summary")]),
        json!(["click", format!("{row}role=button[name=/^Swap to it/]")]),
        see("dialog", "Swap captcha to"),
        confirm("Swap"),
        see("dialog .problem", "conflict"),
        note("sent", "window.sent.generation"),
        json!(["press", "Escape"]),
        json!(["gone", "dialog"]),
    ]);
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["sent"], 7);
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_of_two_operators_gets_conflict() {
    let host = hosting_a().start().await;
    let api = operator(&host);
    let (b, c) =
        (api.push(answering('B', "").component()).await, api.push(answering('C', "").component()).await);
    let row = format!("li:has(summary:has-text('{}')) >> ", &b[..12]);
    let somebody = format!(
        "fetch('/v1/slots/captcha/swap', {{ method: 'POST', body: JSON.stringify({{ version: '{c}', generation: 0 }}),
            headers: {{ 'content-type': 'application/json', authorization: 'Bearer {}' }} }}).then((it) => it.status)",
        operator::ADMIN
    );
    let mut steps = open(&host, operator::DEPLOY);
    steps.extend([
        json!(["click", format!("{row}summary")]),
        json!(["click", format!("{row}role=button[name=/^Swap to it/]")]),
        see("dialog", "Swap captcha to"),
        note("somebody", &somebody),
        confirm("Swap"),
        see("dialog .problem", "conflict"),
        note("offered", "[...document.querySelectorAll('dialog button')].filter((it) => it.checkVisibility()).map((it) => it.textContent)"),
        json!(["press", "Escape"]),
        json!(["gone", "dialog"]),
        see("main", "generation 1"),
    ]);
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["somebody"], 200);
    assert_eq!(walk.notes["offered"], json!(["Close"]));
    assert_eq!(letter(&host, 1).await, 'C');
    host.stop().await;
}
