//! The `auto` policy on a live host: bounded, few steps, and moved by what goes on at the site.

use std::collections::BTreeSet;

use serde_json::json;

use super::{CLIENT, Service, altcha, refused};

const CONFIG: &str = r#"
    [captcha.sites.busy]
    secret = "busy_secret"
    algorithm = "SHA-256"
    deterministic = false
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    auto = { target_solve_ms = 500, min_cost = 10, max_cost = 1000 }

    [captcha.sites.quiet]
    secret = "quiet_secret"
    algorithm = "SHA-256"
    deterministic = false
    difficulty_map = [{ min_visits = 1, cost = 1 }, { min_visits = 3, cost = 400 }]
    auto = { target_solve_ms = 500, min_cost = 10, max_cost = 1000 }
"#;

/// An address that has not been seen.
fn stranger(number: u32) -> String {
    format!("198.51.{}.{}", number / 250, number % 250 + 1)
}

#[tokio::test]
async fn a_network_that_asks_often_pays_more_within_bounds() {
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
async fn failures_and_solve_times_move_their_own_site_only() {
    let service = Service::start(CONFIG).await;
    // Clients report 5 ms for each unit of cost, so that 500 ms are a cost of 100.
    for number in 0..8 {
        let mut payload = service.solved("busy", &stranger(number)).await;
        let cost = payload["challenge"]["parameters"]["cost"].as_u64().unwrap();
        payload["solution"]["time"] = json!(5 * cost);
        assert_eq!(service.verify("busy", &payload).await["valid"], true);
    }
    let aimed = service.cost("busy", &stranger(100)).await;
    assert!((70..=300).contains(&aimed), "{aimed}");

    for number in 200..240 {
        let payload = altcha::unsolved(&service.challenge("busy", &stranger(number)).await);
        assert_eq!(service.verify("busy", &payload).await, refused("wrong_solution"));
    }
    let attacked = service.cost("busy", &stranger(300)).await;
    assert!(attacked > aimed && attacked <= 1000, "{attacked} after {aimed}");
    assert_eq!(service.cost("quiet", &stranger(301)).await, 10, "another site");
    service.stop().await;
}

#[tokio::test]
async fn one_solve_time_moves_nothing() {
    let service = Service::start(CONFIG).await;
    let mut payload = service.solved("busy", &stranger(1)).await;
    payload["solution"]["time"] = json!(0.1);
    assert_eq!(service.verify("busy", &payload).await["valid"], true);
    let cost = service.cost("busy", &stranger(2)).await;
    assert!(cost < 100, "{cost}");
    service.stop().await;
}

#[tokio::test]
async fn the_ladder_is_a_floor_and_the_allow_list_an_exception() {
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
