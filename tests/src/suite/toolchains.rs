//! Components as the toolchains of other languages build them, without options: they answer, with the instance pool and
//! without, and import stubs.

use std::{fs, path::Path};

use bulkhead_tests::{
    TestHost,
    child::Launch,
    host::{Builder, CONFIG_FILE},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    apps::{programs, sdks},
    captcha_http::solver,
    status,
};

/// How instances get their memory.
const ALLOCATORS: [&str; 2] = ["pooling", "on-demand"];

/// The services that a test does not need.
fn without(services: &[&str]) -> String {
    services.iter().map(|name| format!("[services.{name}]\nenabled = false\n")).collect()
}

/// An example that the set-up has built.
fn example(name: &str) -> Vec<u8> {
    // The set-up builds examples in Rust with the components.
    let folder = if name.ends_with("-rust") { "components" } else { "examples" };
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let path = target.join(folder).join(format!("{name}.wasm"));
    fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; `just test` builds it before it runs the suite", path.display())
    })
}

/// A host whose component for `slot` is an example.
fn hosting(slot: &'static str, name: &str, allocator: &str, config: &str) -> Builder {
    let config = format!("[sandbox]\nallocator = \"{allocator}\"\n{config}");
    TestHost::builder().config(&config).component_of(slot, example(name))
}

/// The stubs that `component check` lists of the component that a stopped host had for `slot`. The check finds the
/// host's compiled code.
async fn stubs(folder: &TempDir, slot: &str) -> Vec<String> {
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, config) = (path(&format!("guest-{slot}.wasm")), path(CONFIG_FILE));
    let check = ["component", "check", "--slot", slot, &file, "--config", &config];
    let checked = Launch::bulkhead(&check).env("BULKHEAD_DATA_DIR", &path("data")).finish().await;
    assert!(checked.succeeded(), "{}", checked.stderr);
    let listed = checked.stdout.lines().find_map(|line| line.strip_prefix("stubs: "));
    listed.unwrap_or_default().split(", ").map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn python_status_component_answers() {
    for allocator in ALLOCATORS {
        let database = TempDir::new().unwrap();
        let url = status::known_figures(database.path()).await;
        let config = format!(
            "{}[status]\ndatabase = \"{url}\"\ntokens = [\"{}\"]\n",
            without(&["embedding", "tickets", "captcha"]),
            status::TOKEN
        );
        let host = hosting("status", "status-python", allocator, &config).start().await;
        let get = async |path: &str| {
            let request = host.client().get(host.url(&format!("{}{path}", status::BASE)));
            let answer = request.header("x-token", status::TOKEN).send().await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        };
        let (code, text) = get("/status/").await;
        assert_eq!(code, 200, "{allocator}: {text}");
        let data = &serde_json::from_str::<Value>(&text).unwrap()["data"];
        status::answers::assert_valid(data);
        assert_eq!(data["mail"]["queueCount"], 2, "{data}");
        let (code, text) = get("/status/metrics").await;
        assert_eq!(code, 200, "{allocator}: {text}");
        assert!(text.lines().any(|line| line == "zms_mail_queue_length 2"), "{text}");
        let (_, text) = get("/healthcheck/").await;
        assert!(text.starts_with("OK") || text.starts_with("WARN - "), "{text}");
        let folder = host.stop().await;
        if allocator == "pooling" {
            let stubs = stubs(&folder, "status").await;
            for stub in
                ["wasi:cli/environment", "wasi:filesystem/types", "wasi:io/streams", "wasi:sockets/tcp"]
            {
                assert!(stubs.iter().any(|listed| listed == stub), "{stub}: {stubs:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn javascript_captcha_policy_answers() {
    for allocator in ALLOCATORS {
        let config = format!(
            "{}[captcha]\nhmac_key = \"a master key for the test suite only\"\n\
             [captcha.sites.shop]\nsecret = \"shop-secret\"\nalgorithm = \"SHA-256\"\n\
             difficulty_map = [{{ min_visits = 1, cost = 1 }}, {{ min_visits = 2, cost = 3 }}]\n",
            without(&["embedding", "tickets", "status"])
        );
        let host = hosting("captcha", "captcha-javascript", allocator, &config).start().await;
        let call = async |path: &str, members: Value| {
            let mut body =
                json!({ "siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.7" });
            body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            let request = host.client().post(host.url(&format!("/api/v1/captcha{path}"))).json(&body);
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
        };
        for cost in [1, 3] {
            let (code, issued) = call("/challenge", json!({ "action": "login" })).await;
            assert_eq!(code, 200, "{allocator}: {issued}");
            assert_eq!(issued["challenge"]["parameters"]["cost"], cost, "{issued}");
            let payload = solver::solve(&issued["challenge"]);
            let verify = async |members: Value| {
                let mut all = json!({ "payload": payload });
                all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
                let (code, verdict) = call("/verify", all).await;
                assert_eq!(code, 200, "{allocator}: {verdict}");
                (verdict["valid"].as_bool().unwrap(), verdict["reason"].clone())
            };
            assert_eq!(verify(json!({ "action": "order" })).await, (false, json!("wrong_action")));
            assert_eq!(verify(json!({ "action": "login" })).await, (true, Value::Null));
            assert_eq!(verify(json!({ "action": "login" })).await, (false, json!("replayed")));
        }
        let folder = host.stop().await;
        if allocator == "pooling" {
            let stubs = stubs(&folder, "captcha").await;
            for stub in ["wasi:cli/stdout", "wasi:http/outgoing-handler", "wasi:http/types", "wasi:io/error"]
            {
                assert!(stubs.iter().any(|listed| listed == stub), "{stub}: {stubs:?}");
            }
        }
    }
}

/// An example in each language answers as an app; those with an SDK do more.
#[tokio::test(flavor = "multi_thread")]
async fn hello_examples_answer_as_apps() {
    let languages = [("rust", "Rust"), ("python", "Python"), ("javascript", "JavaScript"), ("c", "C")];
    let (authority, mut config) =
        (programs::server().await, without(&["embedding", "tickets", "status", "captcha"]));
    for (id, _) in languages {
        let outgoing = format!("outgoing = ['http://{authority}']");
        config.push_str(&format!("[apps.{id}]\npath_prefix = '/{id}'\n{outgoing}\n"));
    }
    let mut builder = TestHost::builder().config(&config);
    for (id, _) in languages {
        builder = builder.app(id, example(&format!("hello-{id}")));
    }
    let host = builder.start().await;
    for (id, language) in languages {
        let answer = host.client().get(host.url(&format!("/{id}"))).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{language}");
        assert_eq!(answer.headers()["content-type"], "text/plain", "{language}");
        assert_eq!(answer.text().await.unwrap(), format!("Hello from {language}\n"));
    }
    for id in ["python", "javascript"] {
        sdks::assert_program_works(&host, &format!("/{id}"), &authority).await;
    }
    host.stop().await;
}
