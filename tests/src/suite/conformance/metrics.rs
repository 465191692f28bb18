//! Facts 8 to 13: the meters that dashboards of captchaservice read, as JSON.

use bulkhead_tests::{TestHost, guests::Guest};
use serde_json::{Value, json};

use super::{
    CLIENT, JAVA, SITE, Service, altcha, envelope, ledger, refused, valid, with_payload, within_a_minute,
};

/// The values of a tag that a meter's series have.
fn values(meter: &Value, tag: &str) -> Vec<String> {
    let tags = meter["availableTags"].as_array().unwrap();
    let found = tags.iter().find(|available| available["tag"] == tag);
    let values = found.unwrap_or_else(|| panic!("{tag} in {meter}"))["values"].as_array().unwrap();
    values.iter().map(|value| value.as_str().unwrap().to_owned()).collect()
}

impl Service {
    /// How many events of a kind there were.
    async fn events(&self, kind: &str) -> f64 {
        self.statistic(&format!("captcha.events?tag=event_type:{kind}"), "COUNT").await
    }

    async fn has_no_event(&self, kind: &str) -> bool {
        let path = format!("/actuator/metrics/captcha.events?tag=event_type:{kind}");
        self.get(&path, "*/*").await.status == 404
    }
}

#[tokio::test]
async fn fact_8_an_allow_listed_client() {
    let service = Service::start(JAVA).await;
    service.challenge(SITE, "10.1.2.3").await;
    let meter = service.meter("captcha.events").await;
    assert_eq!(meter["name"], "captcha.events");
    assert_eq!(meter["description"], "All captcha events: challenge requests and verification attempts");
    assert_eq!(meter["measurements"], json!([{ "statistic": "COUNT", "value": 1.0 }]));
    for (tag, value) in [
        ("difficulty", "1"),
        ("site_key", SITE),
        ("same_source_address_request_count", "1"),
        ("is_whitelisted", "true"),
        ("event_type", "challenge_request"),
    ] {
        assert_eq!(values(&meter, tag), [value], "{tag}");
    }
    service.stop().await;
}

#[tokio::test]
async fn fact_9_challenges_count_by_cost() {
    let service = Service::start(JAVA).await;
    for number in 1..=12 {
        service.challenge(SITE, CLIENT).await;
        assert_eq!(service.events("challenge_request").await, f64::from(number));
        let bucket = if number > 10 { "11-100".to_owned() } else { number.to_string() };
        let name = format!("captcha.events?tag=same_source_address_request_count:{bucket}");
        let inside = if number > 10 { number - 10 } else { 1 };
        assert_eq!(service.statistic(&name, "COUNT").await, f64::from(inside), "{name}");
    }
    let meter = service.meter("captcha.events").await;
    assert_eq!(values(&meter, "difficulty"), ["1000", "2000", "3000"]);
    assert_eq!(values(&meter, "is_whitelisted"), ["false"]);
    for (cost, issued) in [(1000, 2.0), (2000, 1.0), (3000, 9.0)] {
        let name = format!("captcha.events?tag=difficulty:{cost}&tag=site_key:{SITE}");
        assert_eq!(service.statistic(&name, "COUNT").await, issued, "the cost issued, not the next one");
    }
    service.stop().await;
}

#[tokio::test]
async fn fact_10_successes_and_their_solve_times() {
    let service = Service::start(JAVA).await;
    for number in 1..=3 {
        let mut payload = service.solved(SITE, "10.1.2.3").await;
        payload["solution"]["time"] = json!(500);
        assert_eq!(service.verify(SITE, &payload).await, valid());
        assert_eq!(service.events("verify_success").await, f64::from(number));
    }
    let meter = service.meter("captcha.client.solve.time").await;
    assert_eq!(meter["baseUnit"], "milliseconds");
    assert_eq!(
        meter["measurements"],
        json!([
            { "statistic": "COUNT", "value": 3.0 },
            { "statistic": "TOTAL", "value": 1500.0 },
            { "statistic": "MAX", "value": 500.0 },
        ])
    );

    // No time, or none that can be: a success without a solve time.
    for time in [Value::Null, json!(-1), json!(1e300)] {
        let mut payload = service.solved(SITE, "10.1.2.3").await;
        payload["solution"]["time"] = time.clone();
        assert_eq!(service.verify(SITE, &payload).await, valid(), "{time}");
    }
    assert_eq!(service.events("verify_success").await, 6.0);
    assert_eq!(service.statistic("captcha.client.solve.time", "COUNT").await, 3.0);

    // Nobody worked longer than the challenge was out.
    let mut payload = service.solved(SITE, "10.1.2.3").await;
    payload["solution"]["time"] = json!(3_600_000);
    assert_eq!(service.verify(SITE, &payload).await, valid());
    assert!(service.statistic("captcha.client.solve.time", "MAX").await < 600_000.0);
    service.stop().await;
}

#[tokio::test]
async fn fact_11_failures() {
    let service = Service::start(JAVA).await;
    for number in 1..=3 {
        let payload = altcha::unsolved(&service.challenge(SITE, CLIENT).await);
        assert_eq!(service.verify(SITE, &payload).await, refused("wrong_solution"));
        assert_eq!(service.events("verify_failure").await, f64::from(number));
    }
    assert!(service.has_no_event("verify_success").await);
    service.stop().await;
}

/// A component whose every call ends with `error`, laid out as the canonical ABI has it.
fn failing(error: &str) -> Vec<u8> {
    let data = format!(r#"(data (i32.const 1024) "\01\00\00\00\00\00\00\00{error}")"#);
    let text = r#"(data (i32.const 2048) "broken")"#;
    Guest::call("i32.const 1024").with_fields(&format!("{data}{text}")).component()
}

#[tokio::test]
async fn fact_12_abandoned_verification_is_not_valid() {
    let internal = failing(r"\02\00\00\00\00\08\00\00\06\00\00\00");
    let trap = Guest::call("unreachable").component();
    let trapped = |body: &Value| body["code"] == "trap" && body.get("valid").is_none();
    for (guest, status, is_right) in [
        (internal, 200, (|body| *body == json!({ "valid": false, "reason": "error" })) as fn(&Value) -> bool),
        // A fault of the sandbox is not a verdict.
        (trap, 500, trapped),
    ] {
        let service = Service(TestHost::builder().config(JAVA).component(guest).start().await);
        for number in 1..=3 {
            let body = with_payload(envelope(SITE, CLIENT), &json!({}));
            let (answered, body) = service.post("/verify", &body).await;
            assert_eq!(answered, status, "{body}");
            assert!(is_right(&body) && !body.to_string().contains("broken"), "{body}");
            assert_eq!(service.events("verify_error").await, f64::from(number));
        }
        assert!(service.has_no_event("verify_failure").await);
        service.stop().await;
    }
}

#[tokio::test]
async fn other_errors_are_400_or_503() {
    let malformed = failing(r"\00\00\00\00\00\08\00\00\06\00\00\00");
    let busy = failing(r"\01\00\00\00\07\00\00\00");
    for (guest, status, code) in [(malformed, 400, "invalid-payload"), (busy, 503, "busy")] {
        let service = Service(TestHost::builder().config(JAVA).component(guest).start().await);
        let url = service.0.url("/api/v1/captcha/verify");
        let body = with_payload(envelope(SITE, CLIENT), &json!({}));
        let response = service.0.client().post(url).json(&body).send().await.unwrap();
        assert_eq!(response.status(), status);
        let retry_after = response.headers().get("retry-after").map(|value| value.to_str().unwrap());
        assert_eq!(retry_after, (status == 503).then_some("7"));
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["code"], code);
        // A full house leaves the payload without a verdict; the client's own fault does not count.
        match status {
            400 => assert!(service.has_no_event("verify_error").await),
            _ => assert_eq!(service.events("verify_error").await, 1.0),
        }
        service.stop().await;
    }
}

#[tokio::test]
async fn fact_13_the_gauge_follows_the_table() {
    let service = Service::start(JAVA).await;
    let payload = service.solved(SITE, CLIENT).await;
    assert_eq!(service.verify(SITE, &payload).await, valid());
    let gauge = async || service.statistic("captcha.invalidated.payloads", "VALUE").await;
    within_a_minute("the gauge is 1", async || gauge().await == 1.0).await;

    let mut ledger = ledger(service.0.folder()).await;
    sqlx::query("DELETE FROM invalidated_payload").execute(&mut ledger).await.unwrap();
    within_a_minute("the gauge is 0", async || gauge().await == 0.0).await;
    service.stop().await;
}
