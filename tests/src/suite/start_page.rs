//! What `/` answers with and without `--demo`, by `Accept`.

use bulkhead_tests::TestHost;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// What Chromium and Firefox send when a person types an address.
const BROWSERS: [&str; 2] = [
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
];

/// What clients that are no browsers send, if anything.
const OTHERS: [Option<&str>; 8] = [
    None,
    Some("*/*"),
    Some(""),
    Some("text/*"),
    Some("application/json"),
    Some("application/json, text/html"),
    Some("application/json, text/html;q=0.9, */*;q=0.1"),
    Some("text/html;q=0, */*"),
];

async fn start(config: &str) -> TestHost {
    TestHost::builder().config(config).start().await
}

/// The whole answer to a request without a body, apart from the header lines that differ from answer to answer.
async fn ask(host: &TestHost, method: &str, accept: Option<&str>) -> String {
    let accept = accept.map(|accept| format!("accept: {accept}\r\n")).unwrap_or_default();
    let request = format!("{method} / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{accept}\r\n");
    let mut stream = TcpStream::connect(host.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let differs = |line: &&str| line.starts_with("date:") || line.starts_with("x-request-id:");
    answer.lines().filter(|line| !differs(line)).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn browser_at_root_gets_the_start_page() {
    let host = start("demo = true\n").await;
    for accept in BROWSERS {
        let answer = ask(&host, "GET", Some(accept)).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(answer.contains("content-type: text/html; charset=utf-8"), "{answer}");
        assert!(answer.lines().any(|line| line == "vary: accept"), "{answer}");
        assert!(answer.contains("<title>Bulkhead demonstration</title>"), "{answer}");
        let policy = answer.lines().find(|line| line.starts_with("content-security-policy:")).unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        let head = ask(&host, "HEAD", Some(accept)).await;
        assert!(head.starts_with("HTTP/1.1 200 OK") && !head.contains("<title>"), "{head}");
    }
    host.stop().await;
}

#[tokio::test]
async fn other_clients_at_root_ignore_demo_mode() {
    for more in ["", "[services.embedding]\nenabled = false\n"] {
        let (plain, demo) = (start(more).await, start(&format!("demo = true\n{more}")).await);
        let status = if more.is_empty() { "200 OK" } else { "404 Not Found" };
        for accept in OTHERS {
            let (without, with) = (ask(&plain, "GET", accept).await, ask(&demo, "GET", accept).await);
            assert!(without.starts_with(&format!("HTTP/1.1 {status}")), "{accept:?}: {without}");
            assert_eq!(without, with, "{accept:?}");
            assert!(with.contains("content-type: application/json"), "{accept:?}: {with}");
        }
        for accept in BROWSERS {
            assert_eq!(ask(&plain, "GET", Some(accept)).await, ask(&plain, "GET", None).await, "{accept}");
        }
        let (without, with) =
            (ask(&plain, "DELETE", Some(BROWSERS[0])).await, ask(&demo, "DELETE", Some(BROWSERS[0])).await);
        assert_eq!(without, with, "only reading gets the page");
        plain.stop().await;
        demo.stop().await;
    }
}

#[tokio::test]
async fn start_page_needs_demo_mode() {
    let host = start("").await;
    for path in ["app.js", "start.css", "what-runs.json", "guides/README.html"] {
        let response = host.client().get(host.url(&format!("/demo/start/{path}"))).send().await.unwrap();
        assert_eq!(response.status(), 404, "{path}");
    }
    host.stop().await;
}

#[tokio::test]
async fn running_services_have_paths_and_versions() {
    let host = start(
        "demo = true\n[services.embedding]\nenabled = false\n[services.tickets]\npath_prefix = \"/town\"\n\
         [services.captcha]\nlisten = \"127.0.0.2:0\"\n",
    )
    .await;
    let response = host.client().get(host.url("/demo/start/what-runs.json")).send().await.unwrap();
    let what: Value = response.json().await.unwrap();
    assert_eq!(what["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(what["console"], host.admin_url("/console"));
    let service = |name: &str| {
        let services = what["services"].as_array().unwrap();
        services.iter().find(|service| service["name"] == name).unwrap_or_else(|| panic!("{name}: {what}"))
    };
    assert_eq!(service("embedding")["state"], "off");
    assert_eq!(service("captcha")["state"], "elsewhere");
    let tickets = service("tickets");
    assert_eq!((&tickets["state"], &tickets["base"]), (&json!("on"), &json!("/town")));
    assert_eq!(tickets["docs"], "api/docs");
    let names: Vec<&Value> = tickets["slots"].as_array().unwrap().iter().map(|slot| &slot["name"]).collect();
    assert_eq!(names, [&json!("triage"), &json!("answer")]);
    let status = service("status");
    assert_eq!(status["base"], "/terminvereinbarung/api/2");
    let slot = &status["slots"][0];
    assert_eq!(slot["version"].as_str().unwrap().len(), 16, "{slot}");
    assert_eq!((&slot["source"], &slot["empty"]), (&json!("embedded"), &Value::Null));
    let guide = what["guides"][0]["path"].as_str().unwrap();
    let guide = host.client().get(host.url(&format!("/{guide}"))).send().await.unwrap();
    assert_eq!(guide.headers()["content-type"], "text/html; charset=utf-8");
    let text = guide.text().await.unwrap();
    assert!(text.contains("<h1 id=\"bulkhead\">Bulkhead</h1>"), "{text}");
    assert!(text.contains("<a href=\"host/services/captcha/README.html\">"), "{text}");
    host.stop().await;
}
