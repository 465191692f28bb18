//! The `auto` policy on a live host: bounded, few steps, and moved by what goes on at the site.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use super::{CLIENT, Service, altcha, refused};

const MINUTE: Duration = Duration::from_secs(60);

const CONFIG: &str = r#"
    [captcha.sites.busy]
    secret = "busy_secret"
    algorithm = "SHA-256"
    deterministic = false
    auto = { target_solve_ms = 500, min_cost = 10, max_cost = 1000 }

    [captcha.sites.quiet]
    secret = "quiet_secret"
    algorithm = "SHA-256"
    deterministic = false
    difficulty_map = [{ min_visits = 1, cost = 10 }, { min_visits = 3, cost = 400 }]
    auto = { target_solve_ms = 500, min_cost = 10, max_cost = 1000 }
"#;

/// An address that has not been seen.
fn stranger(number: u32) -> String {
    format!("198.51.{}.{}", number / 250, number % 250 + 1)
}

impl Service {
    /// Solves a challenge at the busy site for the client at `address`, which says that it took this long for each unit
    /// of cost, or this long in all. Returns the body that it was handed in with.
    async fn solve_in(&self, address: &str, time: impl Fn(f64) -> f64) -> Value {
        let mut payload = self.solved("busy", address).await;
        let cost = payload["challenge"]["parameters"]["cost"].as_f64().unwrap();
        payload["solution"]["time"] = json!(time(cost));
        let mut body = super::with_payload(super::envelope("busy", address), &payload);
        body["clientAddress"] = json!(address);
        assert_eq!(self.post("/verify", &body).await.1, super::valid());
        body
    }

    /// Hands in a challenge of the busy site unsolved, for the client at `address`.
    async fn fail(&self, address: &str) {
        let payload = altcha::unsolved(&self.challenge("busy", address).await);
        let body = super::with_payload(super::envelope("busy", address), &payload);
        assert_eq!(self.post("/verify", &body).await.1, refused("wrong_solution"));
    }
}

#[tokio::test]
async fn busy_network_pays_more_within_bounds() {
    let service = Service::start(CONFIG).await;
    let mut costs = Vec::new();
    for _ in 0..200 {
        costs.push(service.cost("busy", CLIENT).await);
    }
    assert_eq!(costs[0], 10, "the least, while nothing is known");
    assert!(costs.is_sorted() && costs[199] >= 50, "{costs:?}");
    assert!(costs.iter().all(|cost| (10..=1000).contains(cost)), "{costs:?}");
    let steps: BTreeSet<_> = costs.iter().collect();
    assert!(steps.len() > 3 && steps.len() <= 16, "{steps:?}");
    assert!(service.cost("busy", &stranger(1)).await < costs[199], "others pay for the site's load only");
    service.stop().await;
}

#[tokio::test]
async fn failures_and_times_move_their_site_only() {
    let (service, hands) = Service::start_movable(CONFIG).await;
    // Clients report 5 ms for each unit of cost, so that 500 ms are a cost of 100.
    for number in 0..8 {
        service.solve_in(&stranger(number), |cost| 5.0 * cost).await;
    }
    let begun = service.cost("busy", &stranger(99)).await;
    assert!(begun < 50, "a minute's step is bounded: {begun}");
    hands.advance(7 * MINUTE);
    let aimed = service.cost("busy", &stranger(100)).await;
    assert!((70..=300).contains(&aimed), "{aimed}");

    for number in 200..240 {
        service.fail(&stranger(number)).await;
    }
    let attacked = service.cost("busy", &stranger(300)).await;
    assert!(attacked > aimed && attacked <= 1000, "{attacked} after {aimed}");
    assert_eq!(service.cost("quiet", &stranger(301)).await, 10, "another site");
    service.stop().await;
}

/// Costs from 500 on, where a millisecond is no time for any browser.
const DEAR: &str = r#"
    [captcha.sites.busy]
    secret = "busy_secret"
    algorithm = "SHA-256"
    deterministic = false
    auto = { target_solve_ms = 500, min_cost = 500, max_cost = 50000 }
"#;

#[tokio::test]
async fn fifty_impossible_solve_times_move_nothing() {
    let (service, hands) = Service::start_movable(DEAR).await;
    for number in 0..50 {
        service.solve_in(&stranger(number), |_| 1.0).await;
        hands.advance(Duration::from_secs(6));
    }
    assert_eq!(service.cost("busy", &stranger(100)).await, 500);
    let times = service.get("/actuator/prometheus", "*/*").await.text;
    assert!(!times.contains("captcha_client_solve_time_milliseconds_count"), "{times}");
    service.stop().await;
}

#[tokio::test]
async fn solve_times_of_one_client_move_nothing() {
    let (service, hands) = Service::start_movable(CONFIG).await;
    for number in 0..8 {
        service.solve_in(&stranger(number), |cost| 50.0 * cost).await;
    }
    for _ in 0..50 {
        service.solve_in(CLIENT, |cost| cost / 10.0).await;
    }
    // Its solutions raise the site's rate for a while, which fades.
    hands.advance(9 * MINUTE);
    assert_eq!(service.cost("busy", &stranger(100)).await, 10);
    service.stop().await;
}

#[tokio::test]
async fn failures_of_one_client_move_little() {
    let service = Service::start(CONFIG).await;
    for _ in 0..40 {
        service.fail(CLIENT).await;
    }
    let cost = service.cost("busy", &stranger(100)).await;
    assert!((10..=20).contains(&cost), "all failing would be four times as much: {cost}");
    service.stop().await;
}

/// A back end sends a payload again after a lost answer, a visitor after a second click.
#[tokio::test]
async fn replays_move_nothing() {
    let service = Service::start(CONFIG).await;
    for number in 0..8 {
        let body = service.solve_in(&stranger(number), |cost| 50.0 * cost).await;
        assert_eq!(service.post("/verify", &body).await.1, refused("replayed"));
    }
    let cost = service.cost("busy", &stranger(100)).await;
    assert!((10..=20).contains(&cost), "all failing would be four times as much: {cost}");
    service.stop().await;
}

#[tokio::test]
async fn auto_without_ladder_stays_within_bounds() {
    let service = Service::start(
        "[captcha.sites.cheap]\nsecret = \"cheap_secret\"\n\
         auto = { target_solve_ms = 500, min_cost = 100, max_cost = 400 }\n",
    )
    .await;
    assert_eq!(service.cost("cheap", CLIENT).await, 100, "no ladder of 5000 below it");
    for _ in 0..100 {
        service.cost("cheap", CLIENT).await;
    }
    assert_eq!(service.cost("cheap", CLIENT).await, 400);
    service.stop().await;
}

#[tokio::test]
async fn ladder_is_a_floor_with_listed_exceptions() {
    let config = CONFIG.replace(
        "[captcha.sites.quiet]",
        "[captcha.sites.quiet]\nwhitelisted_source_addresses = [\"10.0.0.0/8\"]",
    );
    let service = Service::start(&config).await;
    let mut costs = Vec::new();
    for _ in 0..3 {
        costs.push(service.cost("quiet", CLIENT).await);
    }
    assert_eq!(costs[..2], [10, 10]);
    assert!((400..=1000).contains(&costs[2]), "{costs:?}");
    for _ in 0..40 {
        assert_eq!(service.cost("quiet", "10.0.0.1").await, 1);
    }
    service.stop().await;
}
