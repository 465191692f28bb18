//! Tests of connection limits and evictions.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::future::Future;

use super::*;

const MOST: usize = 6;
const SHARE: usize = 3;
/// Only a failing test waits for so long.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Returns a limit whose connections are evicted as soon as they are idle.
fn limit() -> Arc<ConnectionLimit> {
    let proxies = ["198.51.100.0/24".parse().unwrap()];
    let limit = ConnectionLimit::new(MOST, SHARE, proxies.into());
    Arc::new(ConnectionLimit { idle_grace: Duration::ZERO, ..limit })
}

/// Returns a limit whose connections are also evicted as soon as they wait for their clients.
fn impatient_limit() -> Arc<ConnectionLimit> {
    Arc::new(Arc::into_inner(limit()).unwrap().with_stall_timeout(Duration::ZERO))
}

/// Returns a limit whose connections are never evicted.
fn strict_limit() -> Arc<ConnectionLimit> {
    let limit = Arc::into_inner(limit()).unwrap();
    Arc::new(ConnectionLimit { idle_grace: Duration::MAX, ..limit })
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Polls an admission once.
async fn at_once(admission: impl Future<Output = Option<ConnectionPermit>>) -> Option<ConnectionPermit> {
    tokio::select! {
        biased;
        permit = admission => permit,
        () = std::future::ready(()) => panic!("it waits"),
    }
}

async fn open(limit: &Arc<ConnectionLimit>, peers: &[&str]) -> Vec<ConnectionPermit> {
    let mut permits = Vec::new();
    for peer in peers {
        let permit = at_once(limit.admit(address(peer))).await;
        permits.push(permit.unwrap_or_else(|| panic!("{peer} has its share")));
    }
    permits
}

/// Returns whether a connection has been asked to close.
fn is_evicted(permit: &ConnectionPermit) -> bool {
    permit.limit.table().open[&permit.id].is_evicted
}

#[tokio::test]
async fn one_address_has_a_share() {
    let limit = strict_limit();
    let kept = open(&limit, &["192.0.2.1"; SHARE]).await;
    assert!(at_once(limit.admit(address("192.0.2.1"))).await.is_none());
    assert!(at_once(limit.admit(address("::ffff:192.0.2.1"))).await.is_none(), "the same address");
    let others = open(&limit, &["192.0.2.2"; SHARE]).await;
    drop((kept, others));
    assert!(limit.table().networks.is_empty());
    open(&limit, &["192.0.2.1"; SHARE]).await;
}

#[tokio::test]
async fn an_ipv6_network_has_one_share() {
    let limit = strict_limit();
    let _kept = open(&limit, &["2001:db8::1", "2001:db8::2", "2001:db8::ffff:3"]).await;
    assert!(at_once(limit.admit(address("2001:db8::4"))).await.is_none());
    open(&limit, &["2001:db8:0:1::4"]).await;
}

#[tokio::test]
async fn loopback_and_trusted_proxies_have_no_share() {
    for peer in ["127.0.0.1", "::1", "198.51.100.7", "::ffff:198.51.100.7"] {
        let limit = limit();
        let _kept = open(&limit, &[peer; MOST]).await;
    }
}

#[tokio::test]
async fn own_idle_connection_is_evicted_within_share() {
    let limit = limit();
    let kept = open(&limit, &["192.0.2.1"; SHARE]).await;
    let other = open(&limit, &["192.0.2.2"]).await;
    let work = kept[0].activity().begin_work();
    let more = open(&limit, &["192.0.2.1"]).await;
    assert!(!is_evicted(&kept[0]), "it is at work");
    assert!(is_evicted(&kept[1]) != is_evicted(&kept[2]), "one of the others is evicted");
    assert!(!is_evicted(&other[0]), "no other address does");
    drop((work, more));
}

#[tokio::test]
async fn longest_idle_connection_is_evicted() {
    let limit = limit();
    let mut kept = open(&limit, &["127.0.0.1"; 2]).await;
    kept.extend(open(&limit, &["127.0.0.1"; MOST - 2]).await);
    // Work is timed in milliseconds.
    tokio::time::sleep(Duration::from_millis(5)).await;
    drop(kept[0].activity().begin_work());
    let newcomer = limit.admit(address("192.0.2.1"));
    let mut newcomer = std::pin::pin!(newcomer);
    tokio::select! {
        biased;
        _ = &mut newcomer => panic!("there is no room"),
        () = kept[1].evicted() => {}
        () = tokio::time::sleep(LONGEST_WAIT) => panic!("no connection is evicted"),
    }
    assert_eq!(kept.iter().filter(|permit| is_evicted(permit)).count(), 1);
    kept.remove(1);
    assert!(timeout(LONGEST_WAIT, newcomer).await.unwrap().is_some());
}

#[tokio::test]
async fn stalled_connection_is_evicted_without_idle_one() {
    let limit = impatient_limit();
    let kept = open(&limit, &["127.0.0.1"; MOST]).await;
    let _work: Vec<_> = kept.iter().map(|permit| permit.activity().begin_work()).collect();
    kept[0].activity().begin_wait();
    let newcomer = limit.admit(address("192.0.2.1"));
    let mut newcomer = std::pin::pin!(newcomer);
    tokio::select! {
        biased;
        _ = &mut newcomer => panic!("there is no room"),
        () = kept[0].evicted() => {}
        () = tokio::time::sleep(LONGEST_WAIT) => panic!("no connection is evicted"),
    }
    assert_eq!(kept.iter().filter(|permit| is_evicted(permit)).count(), 1);
}

#[tokio::test]
async fn idle_connection_is_evicted_before_stalled_one() {
    let limit = impatient_limit();
    let kept = open(&limit, &["127.0.0.1"; MOST]).await;
    let _work = kept[0].activity().begin_work();
    kept[0].activity().begin_wait();
    drop(timeout(RESCAN_INTERVAL, limit.admit(address("192.0.2.1"))).await);
    assert!(!is_evicted(&kept[0]) && kept.iter().any(is_evicted));
}

#[tokio::test]
async fn a_connection_with_new_work_stays() {
    let limit = limit();
    let kept = open(&limit, &["192.0.2.1"; SHARE]).await;
    let more = open(&limit, &["192.0.2.1"]).await;
    let asked = kept.iter().find(|permit| is_evicted(permit)).unwrap();
    let work = asked.activity().begin_work();
    tokio::select! {
        biased;
        () = asked.evicted() => panic!("it is at work"),
        () = std::future::ready(()) => {}
    }
    assert!(!is_evicted(asked));
    assert_eq!(limit.table().networks.values().sum::<usize>(), SHARE + 1);
    drop((work, more, kept));
    assert!(limit.table().networks.is_empty());
    assert_eq!(limit.table().evicting, 0);
}

#[tokio::test]
async fn busy_connections_keep_others_waiting() {
    let limit = limit();
    let mut kept = open(&limit, &["127.0.0.1"; MOST]).await;
    let work: Vec<_> = kept.iter().map(|permit| permit.activity().begin_work()).collect();
    let newcomer = tokio::spawn({
        let limit = Arc::clone(&limit);
        async move { limit.admit(address("127.0.0.1")).await.is_some() }
    });
    tokio::time::sleep(RESCAN_INTERVAL * 3).await;
    assert!(!newcomer.is_finished() && !kept.iter().any(is_evicted));
    drop(work);
    kept.pop();
    assert!(timeout(LONGEST_WAIT, newcomer).await.unwrap().unwrap());
}
