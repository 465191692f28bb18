//! Tests of the metrics endpoints.

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{V3, get, get_as, healthy_state};
use crate::{
    actuator::ActuatorState,
    metrics::{CaptchaMetrics, ClientLabels, Event, LedgerTable},
};

#[tokio::test]
async fn metrics_are_json_unless_text_is_preferred() {
    let state = healthy_state();
    let reply = get(&state, "/actuator/metrics").await;
    assert_eq!(reply.content_type(), V3);
    let body = reply.json();
    let names: Vec<&str> =
        body["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(names.is_sorted());
    for name in ["jvm.memory.used", "jvm.gc.pause", "http.server.requests.active", "process.uptime"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    let text = get_as(&state, "/actuator/metrics", "text/plain").await;
    assert_eq!(text.content_type(), "text/plain; version=0.0.4; charset=utf-8");
    assert!(text.body.contains("# TYPE jvm_memory_used_bytes gauge\n"));
}

#[tokio::test]
async fn scrapes_are_text_or_openmetrics() {
    let state = healthy_state();
    for path in ["/actuator/scrape", "/actuator/prometheus", "/actuator/metrics"] {
        let accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
        let reply = get_as(&state, path, accept).await;
        assert_eq!(reply.content_type(), "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(reply.body.ends_with("# EOF\n"));
    }
    let reply = get(&state, "/actuator/prometheus").await;
    assert_eq!(reply.content_type(), "text/plain; version=0.0.4; charset=utf-8");
    let path = "/actuator/scrape?includedNames=system_cpu_count,bulkhead_compile_cache";
    let reply = get(&state, path).await;
    let families: Vec<&str> = reply.body.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert_eq!(families, ["bulkhead_compile_cache_total counter", "system_cpu_count gauge"]);
}

/// Returns the value of each statistic of a meter.
async fn measured(state: &ActuatorState, query: &str) -> Vec<(String, f64)> {
    let reply = get(state, &format!("/actuator/metrics/{query}")).await;
    assert_eq!(reply.status, StatusCode::OK, "{query}");
    let body = reply.json();
    let measurements = body["measurements"].as_array().unwrap();
    let pair = |m: &Value| (m["statistic"].as_str().unwrap().to_owned(), m["value"].as_f64().unwrap());
    measurements.iter().map(pair).collect()
}

fn statistic(name: &str, value: f64) -> (String, f64) {
    (name.to_owned(), value)
}

const CLIENT: ClientLabels<'_> =
    ClientLabels { site: "test_site", cost: 1_000, whitelisted: false, visits: 1 };

fn captcha() -> (ActuatorState, Arc<CaptchaMetrics>) {
    let state = healthy_state();
    let captcha = state.metrics.set::<CaptchaMetrics>().unwrap();
    captcha.set_sites(["test_site"], &[], &[]);
    (state, captcha)
}

#[tokio::test]
async fn fact_8_allow_listed_client_has_label() {
    let (state, captcha) = captcha();
    let client = ClientLabels { cost: 1, whitelisted: true, ..CLIENT };
    captcha.event(&client, Event::ChallengeRequest);
    let tags = "tag=difficulty:1&tag=site_key:test_site&tag=same_source_address_request_count:1\
         &tag=is_whitelisted:true&tag=event_type:challenge_request";
    let measured = measured(&state, &format!("captcha.events?{tags}")).await;
    assert_eq!(measured, [statistic("COUNT", 1.0)]);
    let wrong = get(&state, "/actuator/metrics/captcha.events?tag=is_whitelisted:false").await;
    assert_eq!((wrong.status, wrong.body.as_str()), (StatusCode::NOT_FOUND, ""));
}

#[tokio::test]
async fn fact_9_visit_counts_are_bucketed() {
    let (state, captcha) = captcha();
    for visits in 1..=12 {
        captcha.event(&ClientLabels { visits, ..CLIENT }, Event::ChallengeRequest);
    }
    let all = "captcha.events?tag=event_type:challenge_request&tag=difficulty:1000";
    assert_eq!(measured(&state, all).await, [statistic("COUNT", 12.0)]);
    for (count, value) in [("1", 1.0), ("10", 1.0), ("11-100", 2.0)] {
        let one = format!("captcha.events?tag=same_source_address_request_count:{count}");
        assert_eq!(measured(&state, &one).await, [statistic("COUNT", value)]);
    }
    let body = get(&state, "/actuator/metrics/captcha.events?tag=difficulty:1000").await.json();
    let tags: Vec<&str> =
        body["availableTags"].as_array().unwrap().iter().map(|t| t["tag"].as_str().unwrap()).collect();
    assert_eq!(tags, ["event_type", "is_whitelisted", "same_source_address_request_count", "site_key"]);
    assert_eq!(body["availableTags"][1]["values"], json!(["false"]));
    assert!(body.get("baseUnit").is_none());
}

#[tokio::test]
async fn fact_10_successes_have_solve_times() {
    let (state, captcha) = captcha();
    for _ in 0..3 {
        captcha.event(&CLIENT, Event::VerifySuccess);
        captcha.solve_time(&CLIENT, 500.0);
    }
    let successes = "captcha.events?tag=event_type:verify_success";
    assert_eq!(measured(&state, successes).await, [statistic("COUNT", 3.0)]);
    let times = measured(&state, "captcha.client.solve.time").await;
    let expected = [("COUNT", 3.0), ("TOTAL", 1_500.0), ("MAX", 500.0)];
    assert_eq!(times, expected.map(|(name, value)| statistic(name, value)));
    let body = get(&state, "/actuator/metrics/captcha.client.solve.time").await.json();
    assert_eq!(body["baseUnit"], "milliseconds");
}

#[tokio::test]
async fn facts_11_and_12_failures_are_counted() {
    let (state, captcha) = captcha();
    for (event, times) in [(Event::VerifyFailure, 2), (Event::VerifyError, 3)] {
        for _ in 0..times {
            captcha.event(&CLIENT, event);
        }
        let query = format!("captcha.events?tag=event_type:{}", event.as_str());
        assert_eq!(measured(&state, &query).await, [statistic("COUNT", times.into())]);
    }
}

#[tokio::test]
async fn fact_13_invalidated_payloads_are_counted() {
    let (state, captcha) = captcha();
    for rows in [1, 0] {
        captcha.set_rows(LedgerTable::InvalidatedPayload, Some(rows));
        let measured = measured(&state, "captcha.invalidated.payloads").await;
        assert_eq!(measured, [statistic("VALUE", rows as f64)]);
    }
    captcha.set_rows(LedgerTable::InvalidatedPayload, None);
    let body = get(&state, "/actuator/metrics/captcha.invalidated.payloads").await.json();
    assert_eq!(body["measurements"][0]["value"], "NaN");
}

#[tokio::test]
async fn statistics_depend_on_metric_kind() {
    let state = healthy_state();
    state.metrics.compiled(Duration::from_millis(250));
    let _request = state.metrics.http.begin();
    let histogram = measured(&state, "bulkhead.compile").await;
    assert_eq!(histogram, [statistic("COUNT", 1.0), statistic("TOTAL_TIME", 0.25)]);
    let captcha = state.metrics.set::<CaptchaMetrics>().unwrap();
    captcha.verified(Duration::from_millis(250));
    let timer = measured(&state, "captcha.verify.duration").await;
    assert_eq!(timer, [statistic("COUNT", 1.0), statistic("TOTAL_TIME", 0.25), statistic("MAX", 0.25)]);
    let pause = measured(&state, "jvm.gc.pause").await;
    assert_eq!(pause, ["COUNT", "TOTAL_TIME", "MAX"].map(|name| statistic(name, 0.0)));
    let active = measured(&state, "http.server.requests.active").await;
    assert_eq!(active[0], statistic("ACTIVE_TASKS", 1.0));
    assert_eq!(active[1].0, "DURATION");
}

#[tokio::test]
async fn tags_are_listed_or_repeated() {
    let (state, captcha) = captcha();
    captcha.event(&CLIENT, Event::VerifySuccess);
    captcha.event(&CLIENT, Event::VerifyFailure);
    for tags in [
        "tag=event_type:verify_success,site_key:test_site",
        "tag=event_type:verify_success%2Csite_key:test_site",
        "tag=event_type:verify_success&tag=site_key:test_site",
    ] {
        let measured = measured(&state, &format!("captcha.events?{tags}")).await;
        assert_eq!(measured, [statistic("COUNT", 1.0)], "{tags}");
    }
    for tags in
        ["tag=event_type:verify_success,site_key:none", "tag=event_type:a,site_key:b&tag=site_key:test_site"]
    {
        let reply = get(&state, &format!("/actuator/metrics/captcha.events?{tags}")).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{tags}");
    }
}

#[tokio::test]
async fn wrong_names_and_tags_are_refused() {
    let state = healthy_state();
    for name in ["none.such", "jvm_memory_used_bytes", "jvm.memory.used?tag=area:attic", "%ff"] {
        let reply = get(&state, &format!("/actuator/metrics/{name}")).await;
        assert_eq!((reply.status, reply.body.as_str()), (StatusCode::NOT_FOUND, ""), "{name}");
    }
    for tag in ["area", ":heap", "", "area:heap,", "area:heap,id"] {
        let reply = get(&state, &format!("/actuator/metrics/jvm.memory.used?tag={tag}")).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{tag}");
        assert_eq!(reply.json()["code"], "bad_request");
    }
}
