//! The operational endpoints on a live host: health, probes, components, information and metrics.

use bulkhead_tests::TestHost;
use serde_json::{Value, json};

use super::{Answer, CLIENT, JAVA, SITE, Service};

const V3: &str = "application/vnd.spring-boot.actuator.v3+json";
const TEXT: &str = "text/plain;version=0.0.4;charset=utf-8";
const OPENMETRICS: &str = "application/openmetrics-text;version=1.0.0;charset=utf-8";
const API_KEY: &str = "an-api-key-of-more-than-32-characters";

fn with_details(show: &str) -> String {
    format!("{JAVA}\n[management.endpoint.health]\nshow-details = \"{show}\"\n")
}

#[tokio::test]
async fn the_index_links_every_endpoint() {
    let service = Service::start(JAVA).await;
    let answer = service.get("/actuator", "*/*").await;
    assert_eq!((answer.status.as_u16(), answer.content_type().as_str()), (200, V3));
    let links = answer.json()["_links"].as_object().unwrap().clone();
    for (name, path) in [
        ("self", ""),
        ("health", "/health"),
        ("info", "/info"),
        ("metrics", "/metrics"),
        ("scrape", "/scrape"),
        ("prometheus", "/prometheus"),
    ] {
        let href = service.0.url(&format!("/actuator{path}"));
        assert_eq!(links[name], json!({ "href": href, "templated": false }));
        assert_eq!(service.get(&format!("/actuator{path}"), "*/*").await.status, 200, "{name}");
    }
    assert_eq!(links["health-path"]["templated"], true);
    service.stop().await;
}

#[tokio::test]
async fn health_and_probes_show_state_only() {
    let service = Service::start(JAVA).await;
    let health = service.get("/actuator/health", "application/json").await;
    assert_eq!((health.status.as_u16(), health.content_type().as_str()), (200, "application/json"));
    assert_eq!(health.json(), json!({ "groups": ["liveness", "readiness"], "status": "UP" }));
    for probe in ["liveness", "readiness"] {
        let answer = service.get(&format!("/actuator/health/{probe}"), "*/*").await;
        assert_eq!((answer.status.as_u16(), answer.json()), (200, json!({ "status": "UP" })));
    }
    for probe in ["/livez", "/readyz"] {
        let answer = service.get(probe, "*/*").await;
        assert_eq!((answer.status.as_u16(), answer.json()), (200, json!({ "status": "UP" })), "{probe}");
    }
    for hidden in ["db", "diskSpace", "ping", "nothing"] {
        let answer = service.get(&format!("/actuator/health/{hidden}"), "*/*").await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (404, ""), "{hidden}");
    }
    service.stop().await;
}

#[tokio::test]
async fn components_are_shown_when_asked_for() {
    let service = Service::start(&with_details("always")).await;
    let health = service.get("/actuator/health", "*/*").await.json();
    let components = health["components"].as_object().unwrap();
    let names: Vec<_> = components.keys().collect();
    assert_eq!(names, ["db", "diskSpace", "livenessState", "ping", "readinessState"]);
    for (name, component) in components {
        assert_eq!(component["status"], "UP", "{name}");
        let answer = service.get(&format!("/actuator/health/{name}"), "*/*").await;
        assert_eq!((answer.status.as_u16(), &answer.json()["status"]), (200, &json!("UP")), "{name}");
    }
    assert_eq!(components["diskSpace"]["details"]["threshold"], 10_485_760);
    let readiness = service.get("/actuator/health/readiness", "*/*").await.json();
    assert_eq!(readiness["components"], json!({ "readinessState": { "status": "UP" } }));
    service.stop().await;
}

#[tokio::test]
async fn components_may_be_for_callers_with_credentials() {
    let auth = format!("{}\n", with_details("when-authorized")).replacen(
        "[captcha]\n",
        &format!("[captcha]\nauth = \"api-key\"\napi_keys = [\"{API_KEY}\"]\n"),
        1,
    );
    let service = Service::start(&auth).await;
    for (key, shown) in [(API_KEY, true), ("another-key-of-more-than-32-characters", false)] {
        let request = service.0.client().get(service.0.url("/actuator/health")).bearer_auth(key);
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json().get("components").is_some(), shown);
    }
    let anyone = service.get("/actuator/health", "*/*").await.json();
    assert!(anyone.get("components").is_none());
    service.stop().await;
}

#[tokio::test]
async fn without_credentials_nobody_is_authorised() {
    let service = Service::start(&with_details("when-authorized")).await;
    for request in [
        service.0.client().get(service.0.url("/actuator/health")).bearer_auth(API_KEY),
        service.0.client().get(service.0.url("/actuator/health")),
    ] {
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, 200);
        assert!(answer.json().get("components").is_none(), "{}", answer.text);
    }
    service.stop().await;
}

#[tokio::test]
async fn empty_slot_is_alive_without_service() {
    let builder = TestHost::builder().config(&with_details("always")).component(b"no component".to_vec());
    let service = Service(builder.start().await);
    for path in ["/actuator/health", "/actuator/health/readiness"] {
        let answer = service.get(path, "*/*").await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["status"]),
            (503, &json!("OUT_OF_SERVICE")),
            "{path}"
        );
    }
    assert_eq!(service.get("/actuator/health/liveness", "*/*").await.status, 200);
    let (status, body) = service.post("/challenge", &super::envelope(SITE, CLIENT)).await;
    assert_eq!((status, &body["code"]), (503, &json!("slot-empty")));
    service.stop().await;
}

#[tokio::test]
async fn info_names_the_application() {
    let service = Service::start(JAVA).await;
    let application = &service.get("/actuator/info", "*/*").await.json()["application"];
    assert_eq!(
        (&application["name"], &application["version"]),
        (&json!("bulkhead"), &json!(env!("CARGO_PKG_VERSION")))
    );
    assert!(application["description"].is_string());
    service.stop().await;
}

#[tokio::test]
async fn metrics_are_list_or_text_by_accept() {
    let service = Service::start(JAVA).await;
    service.challenge(SITE, CLIENT).await;
    for accept in ["*/*", "application/json", V3, "application/*"] {
        let answer = service.get("/actuator/metrics", accept).await;
        let body = answer.json();
        let names: Vec<_> = body["names"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert!(names.is_sorted() && names.len() > 20, "{accept}: {names:?}");
        for meter in ["captcha.events", "jvm.memory.used", "http.server.requests", "hikaricp.connections"] {
            assert!(names.contains(&format!("{meter:?}")), "{meter}");
        }
    }
    let none = Answer::of(service.0.client().get(service.0.url("/actuator/metrics"))).await;
    assert_eq!(none.content_type(), V3, "without a wish");
    for (accept, content_type) in [
        ("text/plain", TEXT),
        ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5", OPENMETRICS),
        ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", TEXT),
    ] {
        let answer = service.get("/actuator/metrics", accept).await;
        assert_eq!(answer.content_type(), content_type, "{accept}");
        assert!(answer.text.contains("# TYPE captcha_events"), "{accept}");
    }
    assert_eq!(service.get("/actuator/metrics", "image/png").await.status, 406);
    service.stop().await;
}

#[tokio::test]
async fn listed_meters_can_be_read_and_narrowed() {
    let service = Service::start(JAVA).await;
    let payload = service.solved(SITE, CLIENT).await;
    service.verify(SITE, &payload).await;
    let list = service.get("/actuator/metrics", "*/*").await.json();
    for name in list["names"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        let meter = service.meter(name).await;
        assert_eq!(meter["name"], name);
        assert!(!meter["measurements"].as_array().unwrap().is_empty(), "{meter}");
        for available in meter["availableTags"].as_array().unwrap() {
            let (tag, value) = (available["tag"].as_str().unwrap(), available["values"][0].as_str().unwrap());
            let url = service.0.url(&format!("/actuator/metrics/{name}"));
            let request = service.0.client().get(format!("{url}?tag={tag}:{}", value.replace('+', "%2B")));
            let narrowed = Answer::of(request).await.json();
            let left = narrowed["availableTags"].as_array().unwrap();
            assert!(left.iter().all(|left| left["tag"] != tag), "{name} {tag}:{value}");
        }
    }
    for (path, status) in [
        ("no.such.meter", 404),
        ("captcha.events?tag=site_key:nobody", 404),
        ("captcha.events?tag=event_type:challenge_request&tag=site_key:test_site", 200),
        ("captcha.events?tag=event_type:challenge_request,site_key:test_site", 200),
        ("captcha.events?tag=event_type:challenge_request,site_key:nobody", 404),
        ("captcha.events?tag=event_type:challenge_request,nonsense", 400),
        ("captcha.events?tag=nonsense", 400),
    ] {
        let answer = service.get(&format!("/actuator/metrics/{path}"), "*/*").await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.text.is_empty(), status == 404, "{path}: {}", answer.text);
    }
    service.stop().await;
}

#[tokio::test]
async fn scrapes_are_text_or_openmetrics() {
    let service = Service::start(JAVA).await;
    service.challenge(SITE, CLIENT).await;
    for path in ["/actuator/scrape", "/actuator/prometheus"] {
        let text = service.get(path, "*/*").await;
        assert_eq!(text.content_type(), TEXT);
        assert!(text.text.contains("# TYPE captcha_events_total counter\n") && !text.text.contains("# EOF"));

        let open = service.get(path, "application/openmetrics-text;version=1.0.0").await;
        assert_eq!(open.content_type(), OPENMETRICS);
        assert!(
            open.text.contains("# TYPE captcha_events counter\n")
                && open.text.contains("captcha_events_total{")
        );
        assert!(open.text.ends_with("# EOF\n"));

        let some = service
            .get(&format!("{path}?includedNames=captcha_events,jvm_threads_live_threads"), "*/*")
            .await;
        let families: Vec<_> = some.text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        assert_eq!(families.len(), 2, "{families:?}");
        assert_eq!(service.get(path, "application/json").await.status, 406);
    }
    service.stop().await;
}

#[tokio::test]
async fn only_reading_is_allowed() {
    let service = Service::start(JAVA).await;
    for path in
        ["/actuator", "/actuator/health", "/actuator/info", "/actuator/metrics", "/actuator/prometheus"]
    {
        let post = Answer::of(service.0.client().post(service.0.url(path))).await;
        assert_eq!(
            (post.status.as_u16(), &post.headers["allow"]),
            (405, &"GET, HEAD".parse().unwrap()),
            "{path}"
        );
        let head = Answer::of(service.0.client().head(service.0.url(path))).await;
        assert_eq!((head.status.as_u16(), head.text.as_str()), (200, ""), "{path}");
    }
    service.stop().await;
}
