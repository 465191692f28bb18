//! Tests of counts in memory: the window, the bound, and what is unknown.

#![allow(clippy::unwrap_used)]

use super::*;
use std::time::Instant;
use uuid::Uuid;

const WINDOW: Window = Window { length: 60_000, bucket: 1000 };

fn text(client: usize) -> String {
    format!("{client:064x}")
}

fn keys(client: usize) -> [ClientKey; 1] {
    [ClientKey::parse(&text(client)).unwrap()]
}

fn visit(client: usize, at: i64) -> Visit {
    Visit {
        id: Uuid::nil(),
        site: "shop".into(),
        client: text(client),
        allow_listed: false,
        at,
        since: Instant::now(),
        expires_at: at + WINDOW.length,
        bucket: at + WINDOW.length,
    }
}

/// Returns counts that know that there are no visits.
fn empty() -> WindowCounts {
    let mut counts = WindowCounts::new(WINDOW, 0);
    counts.learn_all(VisitRows::default(), &Unwritten::new());
    counts
}

/// Adds a visit; the database has none of a client that is unknown.
fn add(counts: &mut WindowCounts, client: usize, at: i64) {
    counts.follow(at);
    if !counts.knows("shop", &keys(client), at) {
        counts.learn("shop", &keys(client), VisitRows::default(), &Unwritten::new());
    }
    counts.add(&visit(client, at), at);
}

fn count(counts: &mut WindowCounts, client: usize, now: i64) -> (u64, u64) {
    counts.follow(now);
    let visits = counts.count("shop", &keys(client), now, &Unwritten::new());
    (visits.client, visits.site)
}

#[test]
fn client_key_is_64_hex_digits() {
    assert_ne!(keys(1), keys(2));
    assert_ne!(ClientKey::parse(&"1".repeat(64)), ClientKey::parse(&format!("{}2", "1".repeat(63))));
    for bad in ["", "1", &"A".repeat(64), &"1".repeat(65), &"ä".repeat(32)] {
        assert_eq!(ClientKey::parse(bad), None, "{bad}");
    }
}

#[test]
fn visits_count_inside_the_window() {
    let mut counts = empty();
    for at in [0, 10_000, 50_000] {
        add(&mut counts, 1, at);
    }
    add(&mut counts, 2, 50_000);
    for (now, expected) in [(50_000, (3, 4)), (60_000, (3, 4)), (60_001, (2, 3)), (110_000, (1, 2))] {
        assert_eq!(count(&mut counts, 1, now), expected, "at {now}");
    }
    assert_eq!(count(&mut counts, 1, 110_001), (0, 0));
    assert_eq!(count(&mut counts, 3, 110_001), (0, 0));
}

#[test]
fn dropped_clients_are_unknown_while_they_count() {
    let mut counts = empty();
    for client in 0..2 * MOST_CLIENTS {
        add(&mut counts, client, 1000);
        assert!(counts.recent.clients.len() + counts.earlier.clients.len() <= MOST_CLIENTS);
    }
    assert!(!counts.knows("shop", &keys(0), 1000), "it is not taken for a client without visits");
    assert!(counts.knows("shop", &keys(2 * MOST_CLIENTS - 1), 1000));
    assert!(counts.knows("shop", &keys(0), 1001 + WINDOW.length), "its visit has expired");
    assert!(!counts.take_dropped().is_empty());
}

#[test]
fn client_stays_while_it_comes() {
    let mut counts = empty();
    add(&mut counts, 1, 0);
    for minute in 1..10 {
        let now = minute * 50_000;
        add(&mut counts, 2, now);
        add(&mut counts, 1, now);
        assert_eq!(count(&mut counts, 1, now).0, 2);
        assert!(counts.knows("shop", &keys(3), now), "only expired visits were dropped");
    }
}

#[test]
fn a_busy_client_is_bounded() {
    let mut counts = empty();
    for _ in 0..COUNT_CEILING + 10 {
        add(&mut counts, 1, 1000);
    }
    assert_eq!(count(&mut counts, 1, 1000), (COUNT_CEILING, COUNT_CEILING + 10));
    let longest = counts.recent.clients.values().map(|expiries| expiries.len()).max();
    assert_eq!(longest, usize::try_from(COUNT_CEILING).ok());
}

#[test]
fn time_before_dropped_visits_makes_all_unknown() {
    let mut counts = empty();
    add(&mut counts, 1, 1_000_000);
    counts.follow(999_500);
    assert!(counts.knows("shop", &keys(2), 999_500), "a small correction");
    add(&mut counts, 2, 2_000_000);
    counts.follow(1_000_000);
    for client in 1..4 {
        assert!(!counts.knows("shop", &keys(client), 1_000_000));
    }
    let rows = VisitRows { clients: vec![(text(1), 1_060_000)], sites: vec![("shop".into(), 1_060_000, 7)] };
    counts.learn("shop", &keys(1), rows, &Unwritten::new());
    assert!(counts.knows("shop", &keys(1), 1_000_000) && !counts.knows("shop", &keys(2), 1_000_000));
    assert_eq!(count(&mut counts, 1, 1_000_000), (1, 7));
}

#[test]
fn unwritten_visits_are_learned_once() {
    let mut counts = WindowCounts::new(WINDOW, 0);
    let unwritten = Unwritten::from([Arc::new(visit(1, 0)), Arc::new(visit(2, 0))]);
    assert_eq!(counts.count("shop", &keys(1), 0, &unwritten), Visits { client: 1, site: 2 });
    for _ in 0..2 {
        let rows = VisitRows {
            clients: vec![(text(1), 30_000), ("of another form".into(), 30_000)],
            sites: vec![("shop".into(), 30_000, 5), ("forum".into(), 30_000, 5)],
        };
        counts.learn("shop", &keys(1), rows, &unwritten);
        assert_eq!(counts.count("shop", &keys(1), 0, &unwritten), Visits { client: 2, site: 7 });
    }
    counts.learn_all(VisitRows { clients: vec![(text(3), 30_000)], ..VisitRows::default() }, &unwritten);
    for (client, visits) in [(1, 2), (2, 1), (3, 1), (4, 0)] {
        assert_eq!(count(&mut counts, client, 0).0, visits, "{client}");
    }
}

#[test]
fn many_sites_are_read_again() {
    let mut counts = empty();
    for site in 0..2 * MOST_SITES {
        counts.follow(0);
        counts.add(&Visit { site: site.to_string(), ..visit(1, 0) }, 0);
        assert!(counts.sites.len() <= MOST_SITES + 1);
    }
    assert!(!counts.knows("0", &keys(1), 0));
}
