//! The tables of pages that list outcomes, exit codes and routes have what the code has.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead::{invoke::Outcome, services::captcha::http::error::CaptchaApiError};
use bulkhead_tests::{TestHost, child::Launch};
use reqwest::header::ALLOW;
use serde_json::Value;

use super::{
    pages::{page, quoted, table},
    source::{Source, sources},
};
use crate::status::BASE;

/// How the table of a service's routes begins.
const ROUTES: &str = "| call | answer |";

/// Every outcome; a test compares it with the labels in the source.
const OUTCOMES: [Outcome; 10] = [
    Outcome::Ok,
    Outcome::GuestError,
    Outcome::Trap,
    Outcome::MemoryLimit,
    Outcome::ResponseTooLarge,
    Outcome::BadAnswer,
    Outcome::CpuBudget,
    Outcome::Overloaded,
    Outcome::Deadline,
    Outcome::Cancelled,
];

/// The texts between quotes of a file, between two marks.
fn texts(path: &str, begin: &str, end: &str) -> BTreeSet<String> {
    let source = page(path);
    let (_, rest) = source.split_once(begin).unwrap_or_else(|| panic!("{path} has no {begin}"));
    let (body, _) = rest.split_once(end).unwrap();
    body.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn page_lists_every_outcome() {
    let rows = table("host/README.md", "| outcome | HTTP | what happened |");
    let labels: BTreeSet<String> = OUTCOMES.iter().map(|outcome| outcome.as_str().to_owned()).collect();
    assert_eq!(texts("host/runtime/src/invoke/outcome.rs", "fn as_str(self)", "\n    }\n"), labels);
    assert_eq!(texts("host/telemetry/src/metrics/slot.rs", "const OUTCOMES", "];"), labels);
    let listed: Vec<&str> = rows.iter().flat_map(|row| quoted(&row[0])).collect();
    assert_eq!(listed, OUTCOMES.map(Outcome::as_str));
    for (outcome, row) in OUTCOMES.into_iter().zip(&rows) {
        if !matches!(outcome, Outcome::Ok | Outcome::GuestError | Outcome::Cancelled) {
            let answer = CaptchaApiError::from(outcome);
            assert!(row[1].starts_with(answer.status.as_str()), "{outcome:?}: {} is not {answer:?}", row[1]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_lists_every_exit_code() {
    let rows = table("host/rollout/README.md", "| exit code | meaning |");
    let exit = sources("host/cli/src").into_iter().find(|source| source.path.as_os_str() == "exit.rs");
    let code = exit.unwrap().served_code();
    let (_, rest) = code.split_once("pub enum Exit {").unwrap();
    let (variants, _) = rest.split_once('}').unwrap();
    let codes = variants.lines().filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "));
    let codes: Vec<&str> = ["0"].into_iter().chain(codes.map(|(_, code)| code)).collect();
    let listed: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(listed, codes);
    // Names of commands are words without the marks of keys and URLs.
    let named = rows.iter().flat_map(|row| quoted(&row[1])).filter(|name| !name.contains(['.', ':']));
    let named: BTreeSet<&str> = named.collect();
    assert!(named.len() > 5, "{named:?}");
    for name in named {
        let arguments: Vec<&str> = name.split(' ').chain(["--help"]).collect();
        let help = Launch::bulkhead(&arguments).finish().await;
        assert!(help.succeeded(), "the table names `{name}`, which is not a command: {}", help.stderr);
    }
}

/// The calls that a cell names, each a method and a path without its query. A path without a method has that of the one
/// before.
fn calls(cell: &str) -> Vec<(String, String)> {
    let mut method = "";
    let mut calls = Vec::new();
    for text in quoted(cell) {
        let mut path = text;
        if let Some((verb, rest)) = text.split_once(' ')
            && verb.chars().all(|c| c.is_ascii_uppercase())
        {
            (method, path) = (verb, rest);
        }
        let path = path.split('?').next().unwrap().replace("{base}", BASE);
        if path.starts_with('/') {
            calls.push((method.to_owned(), path));
        }
    }
    calls
}

/// The calls that the table of a service names.
fn listed(service: &str) -> BTreeSet<(String, String)> {
    let rows = table(&format!("host/services/{service}/README.md"), ROUTES);
    rows.iter().flat_map(|row| calls(&row[0])).collect()
}

async fn get(host: &TestHost, url: String) -> Value {
    host.client().get(url).send().await.unwrap().json().await.unwrap()
}

/// The operations of an OpenAPI document, each a method and a path.
fn operations(document: &Value) -> BTreeSet<(String, String)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        item.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.clone()))
    });
    operations.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_list_routes_of_openapi_documents() {
    let host = TestHost::builder().start().await;
    for (service, path) in [("embedding", "/openapi.json"), ("tickets", "/api/openapi.json")] {
        assert_eq!(listed(service), operations(&get(&host, host.url(path)).await), "{service}");
    }
    let document = get(&host, host.admin_url("/v1/openapi.json")).await;
    let mut named = BTreeSet::new();
    for row in table("host/rollout/README.md", "| call | scope | answer |") {
        for (method, path) in calls(&row[0]) {
            let about = document["paths"][&path][method.to_lowercase()]["description"].as_str();
            let scope = format!("Requires a token of scope {}.", row[1]);
            assert_eq!(about, Some(scope.as_str()), "{method} {path}");
            named.insert((method, path));
        }
    }
    assert_eq!(named, operations(&document));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_routes_take_the_listed_methods() {
    let host = TestHost::builder().start().await;
    for service in ["captcha", "status"] {
        let mut methods: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (method, path) in listed(service) {
            methods.entry(path).or_default().insert(method);
        }
        assert!(methods.len() > 3, "{methods:?}");
        for (path, methods) in methods {
            // No route takes this method; each says which ones it takes.
            let concrete = path.replace(['{', '}'], "");
            let answer = host.client().patch(host.url(&concrete)).send().await.unwrap();
            assert_eq!(answer.status(), 405, "{path}");
            let allowed = answer.headers()[ALLOW].to_str().unwrap().split(',').map(str::trim);
            let allowed = allowed.filter(|method| !["HEAD", "OPTIONS"].contains(method));
            assert_eq!(allowed.map(str::to_owned).collect::<BTreeSet<_>>(), methods, "{path}");
        }
    }
    host.stop().await;
}

/// The ends of paths in calls of `route`, from their first slash. Left out are those that answer every path below
/// another, and those without a text of their own.
fn routed(source: &Source) -> Vec<String> {
    let code: Vec<&str> = source.served_lines().collect();
    let code = code.join("\n");
    let arguments = code.split(".route(").skip(1).filter_map(|rest| rest.split_once(','));
    let arguments = arguments.filter(|(_, handler)| !handler.trim_start().starts_with("any("));
    let paths = arguments
        .filter_map(|(path, _)| path.split('"').nth(1).and_then(|path| path.find('/').map(|at| &path[at..])));
    let paths = paths.map(|path| path.replace("{{", "{").replace("}}", "}").replace("{*", "{"));
    paths.filter(|path| path.trim_start_matches('/').starts_with(char::is_alphabetic)).collect()
}

#[test]
fn pages_list_the_routes_of_sources() {
    // The paths of tickets are constants.
    for service in ["embedding", "captcha", "status"] {
        let sources = sources(&format!("host/services/{service}/src"));
        // The page of `--demo` is not part of the service's interface.
        let sources =
            sources.iter().filter(|source| !source.is_test() && !source.path.ends_with("http/demo.rs"));
        let routed: Vec<String> = sources.flat_map(routed).collect();
        assert!(routed.len() > 5, "{routed:?}");
        let listed = listed(service);
        let is_listed = |end: &&String| {
            listed.iter().any(|(_, path)| path.trim_end_matches('/').ends_with(end.trim_end_matches('/')))
        };
        let missing: Vec<&String> = routed.iter().filter(|end| !is_listed(end)).collect();
        assert!(missing.is_empty(), "the table of {service} has no {missing:?}");
    }
}

#[test]
fn routes_are_seen_in_every_form() {
    let text = "fn f() { Router::new().route(\"/a\", get(a)).route(&format!(\"{base}/b/{{*c}}\"), get(b))\n\
                .route(\n\"/d/{e}\",\n    post(d)).route(\"/f/{*g}\", any(f)).route(\"/{*h}\", get(h)).route(I, get(i)) }\n\
                // .route(\"/j\", get(j))\n";
    let source = Source { path: "a.rs".into(), text: text.into() };
    assert_eq!(routed(&source), ["/a", "/b/{c}", "/d/{e}"]);
}

#[test]
fn calls_of_a_cell_are_seen() {
    let cell = "`GET {base}/a?b=`, `/c` `{\"d\": e}`, `POST /{f}`, the same";
    let below = format!("{BASE}/a");
    let seen = [("GET", below.as_str()), ("GET", "/c"), ("POST", "/{f}")];
    assert_eq!(calls(cell), seen.map(|(method, path)| (method.to_owned(), path.to_owned())));
}
