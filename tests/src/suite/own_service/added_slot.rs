//! A slot, its routes and its listener that a service adds and removes while its host runs.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    host::eventually,
    samples::Samples,
};
use futures_util::future::{join_all, join3};
use tempfile::TempDir;

use super::{CLIENTS, PROGRAM, TWO, added, component, metric, operator, serving};

const ROUNDS: usize = 20;
/// Below the base of a listener.
const SECOND: &str = "/adders/second/sum/5";

/// Adds a slot, or removes one; status and text of the answer.
async fn change(host: &Bulkhead, method: reqwest::Method, path: &str) -> (u16, String) {
    let answer = host.client().request(method, host.url(path)).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

async fn add(host: &Bulkhead, slot: &str) -> (u16, String) {
    change(host, reqwest::Method::PUT, &format!("/adders/{slot}")).await
}

async fn remove(host: &Bulkhead, slot: &str) -> (u16, String) {
    change(host, reqwest::Method::DELETE, &format!("/adders/{slot}")).await
}

/// The slots that operators see.
async fn listed(host: &Bulkhead) -> Vec<String> {
    let (_, listed) = operator(host).get("/v1/slots").await;
    let slots = listed["slots"].as_array().unwrap().iter();
    slots.map(|slot| slot["slot"].as_str().unwrap().to_owned()).collect()
}

async fn metrics_page(host: &Bulkhead) -> String {
    host.client().get(host.admin_url("/metrics")).send().await.unwrap().text().await.unwrap()
}

/// Waits until no permit and no slot of the pool is in use.
async fn assert_at_rest(host: &Bulkhead) {
    eventually("permits and pool slots are free", async || {
        let samples = Samples::parse(&metrics_page(host).await);
        let names = ["bulkhead_in_flight", "bulkhead_queue_depth", "bulkhead_pool_slots_in_use"];
        names.iter().flat_map(|name| samples.of(name)).all(|(_, in_use)| in_use == 0.0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slot_comes_and_goes_under_load() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let (done, answers, of_second) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    // Nothing of the first slot is lost.
    let load = async |_client: u64| {
        while !done.load(Ordering::Relaxed) {
            assert_eq!(added(&host).await, 1);
            answers.fetch_add(1, Ordering::Relaxed);
        }
    };
    // The second one answers or is not there, never in between.
    let load_of_second = async {
        while !done.load(Ordering::Relaxed) {
            let status = host.status(&host.url(SECOND)).await;
            assert!([200, 404].contains(&status), "{status}");
            of_second.fetch_add(u64::from(status == 200), Ordering::Relaxed);
        }
    };
    let changes = async {
        for round in 1..=ROUNDS {
            assert_eq!(add(&host, "second").await, (201, String::new()), "in round {round}");
            assert_eq!(listed(&host).await, ["adder", "second"]);
            assert_eq!(host.json(&host.url(SECOND)).await["sum"], 6);
            let before = (answers.load(Ordering::Relaxed), of_second.load(Ordering::Relaxed));
            eventually("the load goes on", async || {
                answers.load(Ordering::Relaxed) >= before.0 + CLIENTS
                    && of_second.load(Ordering::Relaxed) > before.1
            })
            .await;
            assert_eq!(remove(&host, "second").await, (204, String::new()), "in round {round}");
            assert_eq!(host.status(&host.url(SECOND)).await, 404);
            assert_eq!(listed(&host).await, ["adder"]);
        }
        done.store(true, Ordering::Relaxed);
    };
    join3(join_all((0..CLIENTS).map(load)), load_of_second, changes).await;
    let page = metrics_page(&host).await;
    assert!(page.contains("slot=\"adder\"") && !page.contains("slot=\"second\""), "{page}");
    assert_at_rest(&host).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_slot_keeps_its_versions() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    assert_eq!(add(&host, "second").await.0, 201);
    let second = operator(&host).of("second");
    let two = second.push(component(TWO)).await;
    second.swap(&two).await;
    assert_eq!(host.json(&host.url(SECOND)).await["sum"], 7);
    assert_eq!(remove(&host, "second").await.0, 204);
    assert_eq!(second.get("/v1/slots/second").await.0, 404);
    assert_eq!(add(&host, "second").await.0, 201);
    assert_eq!(host.json(&host.url(SECOND)).await["sum"], 7);
    assert_eq!(added(&host).await, 1);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn added_slot_is_operated_by_command_line() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    assert_eq!(add(&host, "second").await.0, 201);
    let two = operator(&host).of("second").push(component(TWO)).await;
    let run = async |arguments: &[&str]| {
        let launch = Launch::binary(PROGRAM, arguments).env("BULKHEAD_ADMIN_URL", &host.admin_url(""));
        launch.env("BULKHEAD_ADMIN_TOKEN", operator::DEPLOY).finish().await
    };
    let swapped = run(&["component", "swap", "second", &two]).await;
    assert!(swapped.succeeded(), "{}", swapped.stderr);
    assert_eq!(host.json(&host.url(SECOND)).await["sum"], 7);
    let unknown = run(&["component", "swap", "third", &two]).await;
    assert_eq!(unknown.status.code(), Some(1), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("the slots are adder, second"), "{}", unknown.stderr);
    let malformed = run(&["component", "swap", "Third", &two]).await;
    assert_eq!(malformed.status.code(), Some(2), "{}", malformed.stderr);
    assert!(malformed.stderr.contains("lower-case"), "{}", malformed.stderr);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_slot_has_no_series_anywhere() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    for round in 1..=2 {
        assert_eq!(add(&host, "second").await, (201, String::new()), "in round {round}");
        assert_eq!(host.json(&host.url(SECOND)).await["sum"], 6);
        // The service's own family begins again, like those of the platform.
        assert_eq!(metric(&host, "adder_sums_total{slot=\"second\"}").await, 1.0);
        assert_eq!(metric(&host, "bulkhead_calls_total{outcome=\"ok\",slot=\"second\"}").await, 1.0);
        assert_eq!(remove(&host, "second").await, (204, String::new()), "in round {round}");
        let page = metrics_page(&host).await;
        assert!(!page.contains("slot=\"second\""), "{page}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn added_listener_closes_with_its_routes() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = taken.local_addr().unwrap();
    let (base, add_there) = (format!("http://{address}"), format!("second?listen={address}"));
    let (status, refused) = add(&host, &add_there).await;
    assert_eq!(status, 409, "{refused}");
    assert!(refused.contains("(`adders.second.listen`)"), "{refused}");
    assert_eq!(listed(&host).await, ["adder"]);
    drop(taken);
    for round in 1..=3 {
        assert_eq!(add(&host, &add_there).await, (201, String::new()), "in round {round}");
        // Without a connection of the round before.
        let client = reqwest::Client::new();
        let answer = client.get(format!("{base}{SECOND}")).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(host.status(&host.url(SECOND)).await, 404, "it is not at the shared listener");
        assert_eq!(remove(&host, "second").await, (204, String::new()), "in round {round}");
        TcpStream::connect(address).unwrap_err();
    }
    assert_eq!(added(&host).await, 1);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conflicting_routes_are_refused_without_panic() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let (status, refused) = add(&host, "second?top").await;
    assert_eq!(status, 409, "{refused}");
    assert!(refused.contains("the routes of adder do not fit"), "{refused}");
    assert!(refused.contains("/sum/{number}") || refused.contains("/total"), "{refused}");
    assert_eq!(listed(&host).await, ["adder"]);
    assert_eq!(added(&host).await, 1);
    assert!(!host.text().contains("panicked"), "{}", host.text());
    assert_eq!(add(&host, "second").await, (201, String::new()));
    assert_eq!(host.json(&host.url(SECOND)).await["sum"], 6);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slot_without_room_is_refused() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    assert_eq!(add(&host, "second").await.0, 201);
    for (slot, reason) in
        [("third", "max_concurrent"), ("second", "choose another id"), ("Fourth", "lower-case")]
    {
        let (status, refused) = add(&host, slot).await;
        assert_eq!(status, 409, "{slot}: {refused}");
        assert!(refused.contains(reason), "{slot}: {refused}");
    }
    for (slot, reason) in [("adder", "was not added"), ("third", "there is no slot third")] {
        let (status, refused) = remove(&host, slot).await;
        assert_eq!(status, 409, "{slot}: {refused}");
        assert!(refused.contains(reason), "{slot}: {refused}");
    }
    assert_eq!(listed(&host).await, ["adder", "second"]);
    assert_eq!(host.json(&host.url(SECOND)).await["sum"], 6);
    // With a slot that was not removed.
    host.stop().await;
}
