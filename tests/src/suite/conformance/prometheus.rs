//! What a scraper of the Prometheus text gets: names, labels and values.

use std::collections::BTreeMap;

use serde_json::json;

use super::{CLIENT, JAVA, SITE, Service, altcha, envelope, valid, with_payload, within_a_minute};

/// Every sample, `name{labels}` to value.
type Samples = BTreeMap<String, f64>;

impl Service {
    async fn scrape(&self) -> Samples {
        let answer = self.get("/actuator/prometheus", "*/*").await;
        assert_eq!(answer.content_type(), "text/plain;version=0.0.4;charset=utf-8");
        let samples = answer.text.lines().filter(|line| !line.starts_with('#'));
        samples
            .map(|line| {
                let (name, value) = line.rsplit_once(' ').unwrap();
                (name.to_owned(), value.parse().unwrap())
            })
            .collect()
    }
}

fn named<'a>(samples: &'a Samples, start: &str) -> Vec<&'a String> {
    samples.keys().filter(|name| name.starts_with(start)).collect()
}

#[tokio::test]
async fn verifications_are_counted_by_site_and_outcome() {
    let service = Service::start(JAVA).await;
    let requests = |site: &str, outcome: &str| {
        format!("captcha_requests_total{{outcome=\"{outcome}\",site=\"{site}\"}}")
    };
    let samples = service.scrape().await;
    for (site, outcome) in [(SITE, "valid"), (SITE, "invalid"), ("unknown", "valid"), ("unknown", "invalid")]
    {
        assert_eq!(samples[&requests(site, outcome)], 0.0, "there from the start");
    }

    let payload = service.solved(SITE, CLIENT).await;
    assert_eq!(service.verify(SITE, &payload).await, valid());
    service.verify(SITE, &payload).await;
    service.verify(SITE, &altcha::unsolved(&service.challenge(SITE, CLIENT).await)).await;
    let mut stranger = with_payload(envelope(SITE, CLIENT), &payload);
    stranger["siteKey"] = json!("evil_name");
    assert_eq!(service.post("/verify", &stranger).await.0, 401);
    stranger["siteKey"] = json!(SITE);
    stranger["siteSecret"] = json!("evil_secret");
    assert_eq!(service.post("/verify", &stranger).await.0, 401);
    assert_eq!(service.post("/verify", &envelope(SITE, CLIENT)).await.0, 400);

    let samples = service.scrape().await;
    assert_eq!(samples[&requests(SITE, "valid")], 1.0);
    assert_eq!(samples[&requests(SITE, "invalid")], 2.0);
    assert_eq!(samples[&requests("unknown", "invalid")], 3.0);
    for (site, reason, count) in [
        (SITE, "replayed", 1.0),
        (SITE, "wrong_solution", 1.0),
        ("unknown", "unauthorized", 2.0),
        ("unknown", "bad_request", 1.0),
    ] {
        let name = format!("captcha_rejections_total{{reason=\"{reason}\",site=\"{site}\"}}");
        assert_eq!(samples[&name], count, "{name}");
    }
    assert!(!samples.keys().any(|name| name.contains("evil")), "a name that a client sent is not a label");
    service.stop().await;
}

#[tokio::test]
async fn the_java_service_s_names_are_kept() {
    let service = Service::start(JAVA).await;
    let mut payload = service.solved(SITE, CLIENT).await;
    payload["solution"]["time"] = json!(250);
    assert_eq!(service.verify(SITE, &payload).await, valid());
    let samples = service.scrape().await;
    let client = format!(
        "difficulty=\"1000\",is_whitelisted=\"false\",same_source_address_request_count=\"1\",site_key=\"{SITE}\""
    );
    for (statistic, value) in [("count", 1.0), ("sum", 250.0), ("max", 250.0)] {
        let name = format!("captcha_client_solve_time_milliseconds_{statistic}{{{client}}}");
        assert_eq!(samples[&name], value, "{name}");
    }
    for kind in ["challenge_request", "verify_success"] {
        let name = format!(
            "captcha_events_total{{difficulty=\"1000\",event_type=\"{kind}\",is_whitelisted=\"false\",\
             same_source_address_request_count=\"1\",site_key=\"{SITE}\"}}"
        );
        assert_eq!(samples[&name], 1.0, "{name}");
    }
    assert!(samples.contains_key("captcha_invalidated_payloads"));
    service.stop().await;
}

#[tokio::test]
async fn work_latency_and_rows_are_there() {
    let service = Service::start(JAVA).await;
    service.challenge(SITE, "10.0.0.1").await;
    let payload = service.solved(SITE, CLIENT).await;
    assert_eq!(service.verify(SITE, &payload).await, valid());
    let samples = service.scrape().await;
    let cost = |le: &str| samples[&format!("captcha_issued_cost_bucket{{site=\"{SITE}\",le=\"{le}\"}}")];
    assert_eq!((cost("1"), cost("500"), cost("1000"), cost("+Inf")), (1.0, 1.0, 2.0, 2.0));
    assert_eq!(samples[&format!("captcha_issued_cost_sum{{site=\"{SITE}\"}}")], 1001.0);
    assert_eq!(samples["captcha_verify_duration_seconds_count"], 1.0);
    assert_eq!(samples["captcha_verify_duration_seconds_bucket{le=\"+Inf\"}"], 1.0);
    assert!(samples["captcha_verify_duration_seconds_sum"] > 0.0);
    assert!(samples["captcha_verify_duration_seconds_max"] > 0.0);
    within_a_minute("rows are counted", async || {
        let samples = service.scrape().await;
        samples["captcha_active_rows{table=\"captcha_request\"}"] == 2.0
            && samples["captcha_active_rows{table=\"invalidated_payload\"}"] == 1.0
            && samples["captcha_invalidated_payloads"] == 1.0
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn requests_are_timed_by_route() {
    let service = Service::start(JAVA).await;
    service.challenge(SITE, CLIENT).await;
    service.post("/challenge", &json!({})).await;
    service.get("/api/v1/captcha/no/such/path", "*/*").await;
    let samples = service.scrape().await;
    let count = |labels: &str| {
        let found = samples.iter().find(|(name, _)| {
            name.starts_with("http_server_requests_seconds_count{")
                && labels.split(' ').all(|l| name.contains(l))
        });
        found.unwrap_or_else(|| panic!("{labels} in {samples:?}")).1
    };
    let challenge = "uri=\"/api/v1/captcha/challenge\" method=\"POST\"";
    assert_eq!(*count(&format!("{challenge} status=\"200\" outcome=\"SUCCESS\" exception=\"none\"")), 1.0);
    assert_eq!(*count(&format!("{challenge} status=\"400\" outcome=\"CLIENT_ERROR\"")), 1.0);
    assert!(!samples.keys().any(|name| name.contains("no/such/path")), "routes, not paths");
    for statistic in ["sum", "max"] {
        assert!(!named(&samples, &format!("http_server_requests_seconds_{statistic}{{")).is_empty());
    }
    service.stop().await;
}

#[tokio::test]
async fn process_figures_have_names_of_dashboards() {
    let service = Service::start(JAVA).await;
    service.challenge(SITE, CLIENT).await;
    let samples = service.scrape().await;
    for name in [
        "hikaricp_connections{",
        "hikaricp_connections_active{",
        "hikaricp_connections_idle{",
        "hikaricp_connections_pending{",
        "hikaricp_connections_max{",
        "hikaricp_connections_min{",
        "hikaricp_connections_timeout_total{",
        "hikaricp_connections_acquire_seconds_count{",
        "hikaricp_connections_acquire_seconds_sum{",
        "hikaricp_connections_acquire_seconds_max{",
        "hikaricp_connections_usage_seconds_count{",
        "hikaricp_connections_usage_seconds_sum{",
        "hikaricp_connections_usage_seconds_max{",
    ] {
        let found = named(&samples, name);
        assert!(found.len() == 1 && found[0].contains("pool=\"captcha\""), "{name} {found:?}");
    }
    assert!(samples["hikaricp_connections_acquire_seconds_count{pool=\"captcha\"}"] >= 1.0);
    assert_eq!(samples["hikaricp_connections_max{pool=\"captcha\"}"], 10.0);
    for (area, id) in [("heap", "allocator"), ("nonheap", "wasm")] {
        for kind in ["used", "committed", "max"] {
            let name = format!("jvm_memory_{kind}_bytes{{area=\"{area}\",id=\"{id}\"}}");
            assert!(samples.contains_key(&name), "{name}");
        }
    }
    assert!(samples["jvm_memory_used_bytes{area=\"heap\",id=\"allocator\"}"] > 0.0);
    for statistic in ["count", "sum", "max"] {
        assert_eq!(samples[&format!("jvm_gc_pause_seconds_{statistic}")], 0.0, "nothing pauses");
    }
    assert!(samples["jvm_threads_live_threads"] > 1.0);
    assert_eq!(samples["jvm_threads_daemon_threads"], samples["jvm_threads_live_threads"] - 1.0);
    for name in [
        "process_uptime_seconds",
        "process_cpu_usage",
        "process_files_open_files",
        "system_cpu_count",
        "system_cpu_usage",
        "system_load_average_1m",
    ] {
        assert!(samples.contains_key(name), "{name}");
    }
    let [started, ready] = ["started", "ready"].map(|state| {
        samples[&format!("application_{state}_time_seconds{{main_application_class=\"bulkhead\"}}")]
    });
    assert!(started > 0.0 && started <= ready && ready <= samples["process_uptime_seconds"]);
    service.stop().await;
}

/// Families of the replaced service: each one is exposed, or the page says that it is gone.
#[tokio::test]
async fn families_are_kept_or_named_as_gone() {
    let service = Service::start(JAVA).await;
    let payload = service.solved(SITE, CLIENT).await;
    assert_eq!(service.verify(SITE, &payload).await, valid());
    let samples = service.scrape().await;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let page = std::fs::read_to_string(format!("{root}/host/services/captcha/README.md")).unwrap();
    let page = page.split("\n## ").find(|part| part.starts_with("What differs from captchaservice")).unwrap();
    let gone = page.split("Gone are").nth(1).expect("the page says what is gone");
    for family in JAVA_FAMILIES {
        let kept = samples.keys().any(|name| name.starts_with(family));
        let stem = gone.contains(&format!("`{family}`")) || gone.contains(&format!("`{family}*`"));
        assert!(kept != stem, "{family}: exposed {kept}, named as gone {stem}");
    }
    service.stop().await;
}

/// Beginnings of the names that the replaced service exposes.
const JAVA_FAMILIES: [&str; 36] = [
    "application_ready_time_seconds",
    "application_started_time_seconds",
    "captcha_client_solve_time_milliseconds_",
    "captcha_events_total",
    "captcha_invalidated_payloads",
    "disk_free_bytes",
    "disk_total_bytes",
    "executor_",
    "hikaricp_connections_acquire_seconds_",
    "hikaricp_connections_creation_seconds_",
    "hikaricp_connections_timeout_total",
    "hikaricp_connections_usage_seconds_",
    "http_server_requests_active_seconds_",
    "http_server_requests_seconds_",
    "jdbc_connections_",
    "jvm_buffer_",
    "jvm_classes_",
    "jvm_compilation_",
    "jvm_gc_memory_",
    "jvm_gc_pause_seconds_",
    "jvm_info",
    "jvm_memory_used_bytes",
    "jvm_threads_daemon_threads",
    "jvm_threads_live_threads",
    "jvm_threads_peak_threads",
    "jvm_threads_states_threads",
    "logback_events_total",
    "process_cpu_usage",
    "process_files_open_files",
    "process_uptime_seconds",
    "spring_data_repository_invocations_seconds_",
    "system_cpu_count",
    "system_cpu_usage",
    "system_load_average_1m",
    "tasks_scheduled_execution_seconds_",
    "tomcat_sessions_",
];

#[tokio::test]
async fn families_have_help_and_type_first() {
    let service = Service::start(JAVA).await;
    service.challenge(SITE, CLIENT).await;
    let text = service.get("/actuator/scrape", "text/plain").await.text;
    let (mut family, mut helped) = (String::new(), String::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(name)) => helped = name.to_owned(),
            (Some("#"), Some("TYPE"), Some(name)) => {
                assert_eq!(name, helped);
                family = name.to_owned();
            }
            _ => assert!(line.starts_with(&family) && !family.is_empty(), "{line} under {family}"),
        }
    }
    service.stop().await;
}
