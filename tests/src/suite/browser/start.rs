//! The start page of a demonstration, its guides, and the pages that show APIs.

use bulkhead_tests::TestHost;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::chromium::{Walk, walk};
use crate::tickets::answer::{DOCUMENTS, answering, import};

/// Of the toy model's words, so that it is sorted; its question has an answer in the base.
const TICKET: &str = "hello world hello world hello world hello world. What does mooring cost?";

/// A demonstration that sorts and answers tickets by a toy model; `more` is added to the configuration, and `change`
/// alters it.
async fn demonstration(more: &str, change: impl Fn(String) -> String) -> (TestHost, TempDir) {
    let folder = TempDir::new().unwrap();
    let config = change(answering(folder.path(), ""));
    import(folder.path(), DOCUMENTS, &[]).await;
    let config = format!("demo = true\n{config}\n{more}");
    (TestHost::builder().config(&config).start().await, folder)
}

fn see(selector: &str, text: &str) -> Value {
    json!(["see", selector, text])
}

fn click(selector: &str) -> Value {
    json!(["click", selector])
}

fn note(name: &str, expression: &str) -> Value {
    json!(["note", name, expression])
}

fn button(name: &str) -> Value {
    click(&format!("main >> role=button[name=\"{name}\"]"))
}

/// How wide the page is, and how dark.
const LOOK: &str = "({ width: document.documentElement.scrollWidth,
    page: getComputedStyle(document.body).backgroundColor,
    nameless: [...document.querySelectorAll('main :is(input, textarea, section)')]
        .filter((it) => !it.labels?.length && !it.getAttribute('aria-labelledby')).map((it) => it.outerHTML) })";

/// Walks, and asserts that no request leaves the host and that the browser finds no fault.
async fn walk_well(host: &TestHost, steps: Vec<Value>) -> Walk {
    let walk = walk(steps).await;
    walk.assert_no_faults();
    assert!(walk.cookies.is_empty(), "{:?}", walk.cookies);
    assert!(walk.unseen.is_empty(), "the focus cannot be seen on {:?}", walk.unseen);
    for (_, address, _) in &walk.asked {
        let is_own = address.starts_with(&host.url("/")) || address.starts_with("data:");
        assert!(is_own, "{address}");
    }
    walk
}

/// Every form tried in a window of a width, in a colour scheme; how the page looks at the end.
async fn try_every_form(host: &TestHost, width: u32, scheme: &str) -> Value {
    let mut steps = vec![
        json!(["size", width, 800]),
        json!(["media", { "colorScheme": scheme }]),
        json!(["go", host.url("/")]),
        see("[data-service=embedding]", "toy (ready)"),
        see("[data-service=tickets]", "from embedded"),
        see("[data-service=status]", "/terminvereinbarung/api/2"),
        see("#status .tile", "5000"),
        see("#status .tiles", "Confirmed"),
        json!(["fill", "#text-a", "hello world"]),
        json!(["fill", "#text-b", "ahoy mate"]),
        button("Compare"),
        // Means of the words' vectors: [4.5, 1, -4.5, 0.5] and [12.5, 1, -12.5, 0.5].
        see("#likeness", "0.994"),
        see("#embedding .answer", "4 for each text"),
        json!(["fill", "#text-b", "hello world"]),
        button("Compare"),
        see("#likeness", "1.000"),
        json!(["fill", "#ticket", TICKET]),
        button("Sort and answer"),
        see("#category", "greeting"),
        see("#response", "12 EUR"),
        see("#tickets .sources", "Mooring cost"),
        note("source", "document.querySelector('#tickets .sources a').href"),
        note("replay", "document.getElementById('replay').disabled"),
        button("Solve and verify"),
        see("#verdict.good", "Verified"),
        see("#captcha .answer", "PBKDF2/SHA-256 at cost"),
        button("Send the same solution again"),
        see("#verdict.bad", "Refused"),
        see("#captcha .answer", "replayed"),
        json!(["fill", "#status-token", "wrong"]),
        button("Read the status"),
        see("#status .problem", "401"),
        json!(["fill", "#status-token", "demo"]),
        button("Read the status"),
        see("#status .tiles", "Bookable times"),
        see("#apis", "embedding"),
        see("#guides", "Security"),
        note("console", "document.querySelector('#console a').href"),
    ];
    steps.push(note("look", LOOK));
    let walk = walk_well(host, steps).await;
    assert_eq!(walk.notes["source"], "https://port.example/mooring");
    assert_eq!(walk.notes["replay"], true, "nothing is there to be sent again");
    assert_eq!(walk.notes["console"], host.admin_url("/console"));
    let look = &walk.notes["look"];
    assert!(look["width"].as_u64().unwrap() <= width.into(), "too wide: {look}");
    assert_eq!(look["nameless"], json!([]));
    look["page"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn start_page_forms_show_what_services_answer() {
    let (host, _folder) = demonstration("", |config| config).await;
    let light = try_every_form(&host, 1280, "light").await;
    let dark = try_every_form(&host, 360, "dark").await;
    assert_ne!(light, dark);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn start_page_follows_prefixes_keys_and_listeners() {
    let more = "[services.embedding]\npath_prefix = \"/vectors\"\n[services.tickets]\npath_prefix = \"/town\"\n\
        [services.status]\nenabled = false\n[services.captcha]\nlisten = \"127.0.0.2:0\"\n";
    let with_keys = |config: String| {
        let config = config.replace("[embedding]\n", "[embedding]\napi_keys = [\"one\"]\n");
        config.replace("[tickets]\n", "[tickets]\napi_key = \"a-key-of-tickets-that-is-long-enough\"\n")
    };
    let (host, _folder) = demonstration(more, with_keys).await;
    let steps = vec![
        json!(["go", host.url("/")]),
        see("[data-service=embedding]", "/vectors"),
        see("[data-service=status]", "is off"),
        see("[data-service=captcha]", "has a listener of its own"),
        see("#embedding .key", "The key stays in this page."),
        note("hidden", "['status', 'captcha'].map((id) => document.getElementById(id).checkVisibility())"),
        json!(["fill", "#text-a", "hello world"]),
        json!(["fill", "#text-b", "hello world"]),
        button("Compare"),
        see("#embedding .problem", "401"),
        json!(["fill", "#embedding-key", "one"]),
        button("Compare"),
        see("#embedding .answer", "toy"),
        json!(["fill", "#ticket", TICKET]),
        button("Sort and answer"),
        see("#tickets .problem", "401: Unauthorized"),
        json!(["fill", "#tickets-key", "a-key-of-tickets-that-is-long-enough"]),
        button("Sort and answer"),
        see("#category", "greeting"),
        see("#tickets .sources", "Mooring cost"),
        note("apis", "[...document.querySelectorAll('#apis a')].map((link) => new URL(link.href).pathname)"),
        note("kept", "localStorage.length + sessionStorage.length"),
        json!(["tab", "#guides a >> nth=-1"]),
        click("#apis >> role=link[name=\"tickets\"]"),
        see(".opblock:has([data-path=\"/api/v1/triage\"])", "Sort a ticket"),
    ];
    let walk = walk_well(&host, steps).await;
    assert_eq!(walk.notes["hidden"], json!([false, false]));
    assert_eq!(walk.notes["apis"], json!(["/vectors/docs", "/town/api/docs", "/v1/docs"]));
    assert_eq!(walk.notes["kept"], 0, "keys are kept in the page only");
    assert!(walk.asked.iter().all(|(_, address, _)| !address.contains('?')), "{:?}", walk.asked);
    host.stop().await;
}

/// A page that shows an API, with one call of it tried; its answer, and the colour of the page.
async fn try_a_call(
    host: &TestHost,
    page: &str,
    path: &str,
    body: &Value,
    look: (u32, &str),
) -> (Value, Value) {
    let (width, scheme) = look;
    let call = format!(".opblock-post:has([data-path=\"{path}\"])");
    let inside = |selector: &str| format!("{call} {selector}");
    let steps = vec![
        json!(["size", width, 800]),
        json!(["media", { "colorScheme": scheme }]),
        json!(["go", host.url(page)]),
        click(&inside(".opblock-summary-control")),
        click(&inside(".try-out__btn")),
        json!(["fill", inside("textarea.body-param__text"), body.to_string()]),
        click(&inside("button.execute")),
        see(&inside(".live-responses-table .response-col_status"), "200"),
        note(
            "answer",
            &format!(
                "document.querySelector('{}').innerText",
                inside(".live-responses-table .highlight-code")
            ),
        ),
        note("look", LOOK),
        note("title", "document.title"),
    ];
    let walk = walk_well(host, steps).await;
    let look = &walk.notes["look"];
    assert!(look["width"].as_u64().unwrap() <= width.into(), "too wide: {look}");
    assert!(walk.notes["title"].as_str().unwrap().starts_with("Bulkhead "), "{}", walk.notes["title"]);
    let answer = walk.notes["answer"].as_str().unwrap();
    // The name of the button that lies over it.
    let answer = answer.trim_start_matches("Download");
    (serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}")), look["page"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn api_pages_try_calls() {
    let (host, _folder) = demonstration("", |config| config).await;
    let inputs = json!({ "inputs": "hello world" });
    let (vectors, light) = try_a_call(&host, "/docs", "/embed", &inputs, (1280, "light")).await;
    assert_eq!(vectors[0].as_array().unwrap().len(), 4, "{vectors}");
    let (again, dark) = try_a_call(&host, "/docs", "/embed", &inputs, (360, "dark")).await;
    assert_eq!(vectors, again);
    assert_ne!(light, dark);
    let ticket = json!({ "text": TICKET });
    let (triage, _) = try_a_call(&host, "/api/docs", "/api/v1/triage", &ticket, (360, "light")).await;
    assert_eq!(triage["triage"]["category"]["name"], "greeting", "{triage}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guides_are_pages_with_links() {
    let host = TestHost::builder().config("demo = true\n").start().await;
    let steps = vec![
        json!(["size", 360, 800]),
        json!(["go", host.url("/")]),
        click("#guides >> role=link[name=\"Bulkhead\"]"),
        see("h1", "Bulkhead"),
        see("table a", "embedding"),
        note("width", "document.documentElement.scrollWidth"),
        click("main >> role=link[name=\"SECURITY.md\"]"),
        see("h1", "Security"),
        note("title", "document.title"),
        click("role=link[name=\"Demonstration host\"]"),
        see("h1", "A demonstration host"),
    ];
    let walk = walk_well(&host, steps).await;
    assert!(walk.notes["width"].as_u64().unwrap() <= 360, "too wide: {:?}", walk.notes);
    assert_eq!(walk.notes["title"], "Security");
    host.stop().await;
}
