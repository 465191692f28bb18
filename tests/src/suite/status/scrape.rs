//! A real Prometheus scrapes a running host, and its own tool looks at every page of metrics.

use std::{
    fs,
    io::Write as _,
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
    time::Duration,
};

use bulkhead_tests::host::eventually;
use serde_json::Value;
use tempfile::TempDir;

use super::{BASE, Service, TOKEN, golden};

/// Names that dashboards of replaced services know and `promtool` would have otherwise.
const KEPT_NAMES: [&str; 5] =
    ["http_server_requests_active_seconds", "system_cpu_count", "te_embed_", "te_predict_", "te_request_"];

/// Dropping it ends the process.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// Findings of `promtool check metrics`, a line each.
fn lint(page: &str) -> Vec<String> {
    let mut child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed: apt-get install prometheus");
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    let findings = said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    assert!(output.status.success() || !findings.is_empty(), "promtool failed without a word");
    findings
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_scrapes_with_the_token() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    let (port, target) = (free_port(), service.host.address().to_owned());
    let config = folder.path().join("prometheus.yml");
    let job = |name: &str, credentials: &str| {
        format!(
            "- job_name: {name}\n  scrape_interval: 1s\n  metrics_path: {BASE}/status/metrics\n  \
             authorization: {{ credentials: {credentials} }}\n  static_configs: [{{ targets: ['{target}'] }}]\n"
        )
    };
    let jobs = [job("zms", TOKEN), job("stranger", "wrong")].concat();
    fs::write(&config, format!("scrape_configs:\n{jobs}")).unwrap();
    let _prometheus = Prometheus(
        Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("tsdb").display()))
            .args([&format!("--web.listen-address=127.0.0.1:{port}"), "--log.level=error"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus is installed: apt-get install prometheus"),
    );
    let ask = async |query: &str| -> Option<f64> {
        let url = format!("http://127.0.0.1:{port}/api/v1/query");
        let url = reqwest::Url::parse_with_params(&url, [("query", query)]).unwrap();
        let answer: Value = service.host.client().get(url).send().await.ok()?.json().await.ok()?;
        answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
    };
    // A slow start is waited for.
    for _ in 0..20 {
        if ask("up{job=\"zms\"}").await.is_some() && ask("up{job=\"stranger\"}").await.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    eventually("the target is up and its series are there", async || {
        ask("up{job=\"zms\"}").await == Some(1.0)
            && ask("zms_processes{status=\"confirmed\"}").await == Some(2.0)
            && ask("zms_processes_confirmed").await == Some(2.0)
            && ask("zms_mail_queue_oldest_seconds").await.is_some_and(|age| age >= 480.0)
            && ask("sum(zms_processes)").await == Some(10.0)
            && ask("zms_collector_attempts_total{section=\"processes\",result=\"success\"}").await
                >= Some(1.0)
    })
    .await;
    assert_eq!(ask("up{job=\"stranger\"}").await, Some(0.0));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promtool_finds_nothing_in_any_page() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    let pages = bulkhead_tests::TestHost::builder().start().await;
    let page = async |url: String| {
        let answer = pages.client().get(url).header("x-token", TOKEN).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.text().await.unwrap()
    };
    for (name, url) in [
        ("status", service.host.url(&format!("{BASE}/status/metrics"))),
        ("admin", pages.admin_url("/metrics")),
        ("actuator", pages.url("/actuator/prometheus")),
        ("embedding", pages.url("/metrics")),
    ] {
        let findings = lint(&page(url).await);
        let known = |finding: &&String| !KEPT_NAMES.iter().any(|kept| finding.starts_with(kept));
        let unknown: Vec<&String> = findings.iter().filter(known).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:#?}");
    }
    assert!(!lint("# TYPE a_total gauge\na_total 1\n").is_empty(), "promtool finds what is there");
    pages.stop().await;
    service.stop().await;
}

#[tokio::test]
async fn openmetrics_is_given_to_who_asks() {
    let folder = TempDir::new().unwrap();
    let service: Service = golden(folder.path(), "").await;
    let accept = ("accept", "application/openmetrics-text; version=1.0.0");
    let answer = service.send("/status/metrics", &[("x-token", TOKEN), accept]).await;
    assert!(answer.header("content-type").starts_with("application/openmetrics-text; version=1.0.0"));
    assert!(answer.text.ends_with("# EOF\n"));
    assert!(answer.text.contains("# TYPE zms_collector_attempts counter\n"), "{}", answer.text);
    let plain = service.get("/status/metrics").await;
    assert_eq!(plain.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    service.stop().await;
}
