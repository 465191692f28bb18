#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::future::Future;

use super::*;

const MOST: usize = 6;
const SHARE: usize = 3;
/// Only a failing test waits for so long.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// One whose connections give way as soon as they are idle.
fn limit() -> Arc<ConnectionLimit> {
    let proxies = ["198.51.100.0/24".parse().unwrap()];
    let limit = ConnectionLimit::new(MOST, SHARE, proxies.into());
    Arc::new(ConnectionLimit { grace: Duration::ZERO, ..limit })
}

/// One whose connections also give way as soon as they wait for their clients.
fn impatient_limit() -> Arc<ConnectionLimit> {
    Arc::new(Arc::into_inner(limit()).unwrap().with_patience(Duration::ZERO))
}

/// One whose connections never give way.
fn strict_limit() -> Arc<ConnectionLimit> {
    let limit = Arc::into_inner(limit()).unwrap();
    Arc::new(ConnectionLimit { grace: Duration::MAX, ..limit })
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// What comes of a connection without waiting.
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

/// Whether a connection has been asked to leave.
fn is_asked(permit: &ConnectionPermit) -> bool {
    permit.limit.table().open[&permit.id].is_leaving
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
async fn own_idle_connections_make_room_within_a_share() {
    let limit = limit();
    let kept = open(&limit, &["192.0.2.1"; SHARE]).await;
    let other = open(&limit, &["192.0.2.2"]).await;
    let work = kept[0].pulse().turn();
    let more = open(&limit, &["192.0.2.1"]).await;
    assert!(!is_asked(&kept[0]), "it is at work");
    assert!(is_asked(&kept[1]) != is_asked(&kept[2]), "one of the others makes room");
    assert!(!is_asked(&other[0]), "no other address does");
    drop((work, more));
}

#[tokio::test]
async fn longest_idle_connection_gives_way_when_full() {
    let limit = limit();
    let mut kept = open(&limit, &["127.0.0.1"; 2]).await;
    kept.extend(open(&limit, &["127.0.0.1"; MOST - 2]).await);
    // Work is timed in milliseconds.
    tokio::time::sleep(Duration::from_millis(5)).await;
    drop(kept[0].pulse().turn());
    let newcomer = limit.admit(address("192.0.2.1"));
    let mut newcomer = std::pin::pin!(newcomer);
    tokio::select! {
        biased;
        _ = &mut newcomer => panic!("there is no room"),
        () = kept[1].must_leave() => {}
        () = tokio::time::sleep(LONGEST_WAIT) => panic!("nobody gives way"),
    }
    assert_eq!(kept.iter().filter(|permit| is_asked(permit)).count(), 1);
    kept.remove(1);
    assert!(timeout(LONGEST_WAIT, newcomer).await.unwrap().is_some());
}

#[tokio::test]
async fn stalled_connection_gives_way_when_none_is_idle() {
    let limit = impatient_limit();
    let kept = open(&limit, &["127.0.0.1"; MOST]).await;
    let _work: Vec<_> = kept.iter().map(|permit| permit.pulse().turn()).collect();
    kept[0].pulse().begin_wait();
    let newcomer = limit.admit(address("192.0.2.1"));
    let mut newcomer = std::pin::pin!(newcomer);
    tokio::select! {
        biased;
        _ = &mut newcomer => panic!("there is no room"),
        () = kept[0].must_leave() => {}
        () = tokio::time::sleep(LONGEST_WAIT) => panic!("nobody gives way"),
    }
    assert_eq!(kept.iter().filter(|permit| is_asked(permit)).count(), 1);
}

#[tokio::test]
async fn idle_connections_give_way_before_stalled_ones() {
    let limit = impatient_limit();
    let kept = open(&limit, &["127.0.0.1"; MOST]).await;
    let _work = kept[0].pulse().turn();
    kept[0].pulse().begin_wait();
    drop(timeout(LOOK_ROUND, limit.admit(address("192.0.2.1"))).await);
    assert!(!is_asked(&kept[0]) && kept.iter().any(is_asked));
}

#[tokio::test]
async fn a_connection_with_new_work_stays() {
    let limit = limit();
    let kept = open(&limit, &["192.0.2.1"; SHARE]).await;
    let more = open(&limit, &["192.0.2.1"]).await;
    let asked = kept.iter().find(|permit| is_asked(permit)).unwrap();
    let work = asked.pulse().turn();
    tokio::select! {
        biased;
        () = asked.must_leave() => panic!("it is at work"),
        () = std::future::ready(()) => {}
    }
    assert!(!is_asked(asked));
    assert_eq!(limit.table().networks.values().sum::<usize>(), SHARE + 1);
    drop((work, more, kept));
    assert!(limit.table().networks.is_empty());
    assert_eq!(limit.table().leaving, 0);
}

#[tokio::test]
async fn busy_connections_keep_others_waiting() {
    let limit = limit();
    let mut kept = open(&limit, &["127.0.0.1"; MOST]).await;
    let work: Vec<_> = kept.iter().map(|permit| permit.pulse().turn()).collect();
    let newcomer = tokio::spawn({
        let limit = Arc::clone(&limit);
        async move { limit.admit(address("127.0.0.1")).await.is_some() }
    });
    tokio::time::sleep(LOOK_ROUND * 3).await;
    assert!(!newcomer.is_finished() && !kept.iter().any(is_asked));
    drop(work);
    kept.pop();
    assert!(timeout(LONGEST_WAIT, newcomer).await.unwrap().unwrap());
}
