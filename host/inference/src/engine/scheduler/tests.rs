//! Tests of the scheduler: who gets how many turns.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

const TURN: usize = 100;

const fn slot(id: u64) -> Caller {
    Caller { kind: CallerKind::Slot, id, weight: 1 }
}

const fn key(id: u64, weight: u32) -> Caller {
    Caller { kind: CallerKind::Key, id, weight }
}

const fn anonymous(id: u64) -> Caller {
    Caller { kind: CallerKind::Anonymous, id, weight: 1 }
}

/// Work that is never done, by the place in `callers`.
fn endless(callers: &[Caller]) -> Scheduler<usize> {
    let mut scheduler = Scheduler::new(Shares { slots: 25, anonymous: 50 });
    for (index, caller) in callers.iter().enumerate() {
        scheduler.push(*caller, 1_000_000, index);
    }
    scheduler
}

/// Gives a turn, and returns whose it was.
fn turn<W: Copy>(scheduler: &mut Scheduler<W>, tokens: usize) -> W {
    let place = scheduler.first(|_| true).unwrap();
    scheduler.begin_turn(&place);
    scheduler.charge(&place, tokens);
    *scheduler.get(&place).unwrap()
}

/// Returns how many of a hundred turns each caller gets.
fn hundred(callers: &[Caller]) -> Vec<usize> {
    let mut scheduler = endless(callers);
    let mut turns = vec![0; callers.len()];
    for _ in 0..100 {
        *turns.get_mut(turn(&mut scheduler, TURN)).unwrap() += 1;
    }
    turns
}

#[test]
fn turns_follow_weights_and_shares() {
    let near = |callers: &[Caller], wanted: &[usize]| {
        let turns = hundred(callers);
        let is_near = turns.iter().zip(wanted).all(|(turns, wanted)| turns.abs_diff(*wanted) <= 2);
        assert!(is_near && turns.len() == wanted.len(), "{callers:?}: {turns:?}, not {wanted:?}");
    };
    near(&[anonymous(1)], &[100]);
    near(&[anonymous(1), anonymous(2)], &[50, 50]);
    near(&[key(1, 3), key(2, 1)], &[75, 25]);
    near(&[slot(1), key(1, 1)], &[50, 50]);
    near(&[slot(1), key(1, 1), key(2, 1)], &[50, 25, 25]);
    near(&[slot(1), anonymous(1), anonymous(2)], &[50, 25, 25]);
    // Weights count within a kind only.
    near(&[key(1, 1000), anonymous(1)], &[50, 50]);
    near(&[slot(1), key(1, 1), anonymous(1), anonymous(2)], &[25, 25, 25, 25]);
}

#[test]
fn changed_shares_count_from_the_next_turn() {
    let mut scheduler = endless(&[key(1, 1), anonymous(1)]);
    scheduler.set_shares(Shares { slots: 25, anonymous: 20 });
    let mut turns = [0_usize, 0];
    for _ in 0..100 {
        turns[turn(&mut scheduler, TURN)] += 1;
    }
    assert!(turns[0].abs_diff(80) <= 2, "{turns:?}");
}

#[test]
fn turns_are_charged_by_tokens() {
    let mut scheduler = endless(&[key(1, 1), key(2, 1)]);
    let (mut tokens, mut turns) = ([0, 0], [0, 0]);
    for _ in 0..500 {
        let whose = *scheduler.get(&scheduler.first(|_| true).unwrap()).unwrap();
        let size = if whose == 0 { 400 } else { 50 };
        turn(&mut scheduler, size);
        tokens[whose] += size;
        turns[whose] += 1;
    }
    assert!(tokens[0].abs_diff(tokens[1]) <= 400, "{tokens:?}");
    assert!(turns[1] > 7 * turns[0], "{turns:?}");
}

#[test]
fn newcomer_is_next_behind_no_backlog() {
    for kind in CallerKind::ALL {
        let mut scheduler = endless(&[key(1, 1), key(2, 1), anonymous(1), slot(1)]);
        for _ in 0..37 {
            turn(&mut scheduler, TURN);
        }
        scheduler.push(Caller { kind, id: 99, weight: 1 }, 10, 100);
        assert_eq!(turn(&mut scheduler, 10), 100, "{kind:?}");
    }
}

#[test]
fn absent_caller_saves_nothing_up() {
    let mut scheduler = endless(&[key(1, 1)]);
    for _ in 0..50 {
        turn(&mut scheduler, TURN);
    }
    scheduler.push(key(2, 1), 1_000_000, 1);
    let mut turns = [0, 0];
    for _ in 0..20 {
        turns[turn(&mut scheduler, TURN)] += 1;
    }
    assert_eq!(turns, [10, 10]);
}

/// One request after the other is one caller still: each begins where the one before ended.
#[test]
fn caller_without_work_keeps_its_time() {
    let mut scheduler = endless(&[key(1, 1)]);
    let mut turns = [0, 0];
    let mut own = scheduler.push(key(2, 1), TURN, 1);
    for _ in 0..20 {
        let whose = turn(&mut scheduler, TURN);
        turns[whose] += 1;
        if whose == 1 {
            scheduler.remove(&own).unwrap();
            own = scheduler.push(key(2, 1), TURN, 1);
        }
    }
    assert_eq!(turns, [10, 10]);
}

#[test]
fn short_work_precedes_its_callers_long_work() {
    let mut scheduler = Scheduler::new(Shares::default());
    for (work, tokens) in [("long", 5000), ("equal", 5000), ("short", 10)] {
        scheduler.push(slot(1), tokens, work);
    }
    let order = scheduler.in_order(|_| true);
    let order: Vec<_> = order.iter().map(|place| *scheduler.get(place).unwrap()).collect();
    assert_eq!(order, ["short", "long", "equal"]);
    // What is served brings the end of long work nearer: short work cannot keep it waiting for ever.
    for _ in 0..50 {
        turn(&mut scheduler, TURN);
    }
    let place = scheduler.push(slot(1), 10, "late");
    scheduler.begin_turn(&place);
    assert_eq!(turn(&mut scheduler, TURN), "short");
    assert_eq!(
        scheduler.first(|work| *work != "short").map(|place| *scheduler.get(&place).unwrap()),
        Some("long")
    );
}

#[test]
fn anonymous_callers_beyond_limit_share_a_place() {
    let mut scheduler = Scheduler::new(Shares::default());
    for id in 1..=MOST_CALLERS as u64 + 500 {
        scheduler.push(anonymous(id), 10, id);
    }
    assert_eq!(scheduler.waiting.len(), MOST_CALLERS + 1);
    assert_eq!(scheduler.waiting[&FURTHER].works.len(), 500);
    // One that has a place keeps it, and other kinds get theirs.
    scheduler.push(anonymous(1), 10, 0);
    scheduler.push(key(1, 1), 10, 0);
    assert_eq!(scheduler.waiting.len(), MOST_CALLERS + 2);
    let places = scheduler.in_order(|_| true);
    for place in &places {
        scheduler.begin_turn(place);
        scheduler.charge(place, 10);
        scheduler.remove(place).unwrap();
    }
    assert!(scheduler.waiting.is_empty() && scheduler.idle.len() <= MOST_CALLERS);
    assert_eq!(scheduler.weights, ByKind::default());
}

#[test]
fn drained_scheduler_is_empty() {
    let mut scheduler = endless(&[key(1, 1), anonymous(1)]);
    let mut drained = scheduler.drain();
    drained.sort_unstable();
    assert_eq!(drained, [0, 1]);
    assert!(scheduler.first(|_| true).is_none() && scheduler.iter().next().is_none());
}
