//! Sequences of steps: made from a seed, given a meaning by the state that they meet, and shortened where they fail.

use super::model::{Action, GARBAGE, Model, TRAPPING, Trial, Version};

/// Components that may be pushed.
const LETTERS: [char; 6] = ['A', 'B', 'C', 'D', TRAPPING, GARBAGE];
/// Modes that the settings may have.
pub const MODES: u8 = 3;
/// Shares of the calls that a candidate may have.
const WEIGHTS: [u8; 4] = [0, 30, 60, 100];

/// A step before it has met a state: what it does, and numbers that choose with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: Kind,
    pub choice: u8,
    pub second: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Push,
    Swap,
    Canary,
    Weight,
    Shadow,
    ShadowAgain,
    Promote,
    Rollback,
    Reload,
    /// An action by somebody who has seen another generation.
    Stale,
    /// An action during which the host is killed.
    Interrupt,
    Kill,
    Restart,
    /// The data folder takes nothing from here on.
    Block,
    Unblock,
    /// Calls until the host takes the failing candidate back.
    Fail,
    /// A change that the model does not hear of.
    Sabotage,
}

/// How often each kind comes, of a hundred.
const SHARES: [(Kind, u64); 16] = [
    (Kind::Push, 16),
    (Kind::Swap, 14),
    (Kind::Canary, 12),
    (Kind::Weight, 4),
    (Kind::Shadow, 6),
    (Kind::ShadowAgain, 2),
    (Kind::Promote, 6),
    (Kind::Rollback, 12),
    (Kind::Reload, 6),
    (Kind::Stale, 3),
    (Kind::Interrupt, 7),
    (Kind::Kill, 3),
    (Kind::Restart, 1),
    (Kind::Block, 2),
    (Kind::Unblock, 3),
    (Kind::Fail, 3),
];

/// What a step means where it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Act(Action),
    Stale(Action),
    /// The host is killed so many microseconds after it was asked.
    Interrupt(Action, u64),
    Kill,
    Restart,
    Block,
    Unblock,
    Fail,
    Sabotage,
    /// There is nothing to do for it.
    Skip,
}

impl Step {
    /// What it means for a host in this state.
    pub fn meaning(self, model: &Model) -> Meaning {
        let action = |kind| self.action(kind, model);
        match self.kind {
            Kind::Kill => Meaning::Kill,
            Kind::Restart => Meaning::Restart,
            Kind::Block if !model.is_blocked => Meaning::Block,
            Kind::Unblock if model.is_blocked => Meaning::Unblock,
            Kind::Block | Kind::Unblock => Meaning::Skip,
            Kind::Fail if is_failing(model) => Meaning::Fail,
            Kind::Fail => Meaning::Skip,
            Kind::Sabotage => Meaning::Sabotage,
            Kind::Stale => match action(self.inner()) {
                // These name no generation.
                Some(Action::Push(_) | Action::Reload(_)) | None => Meaning::Skip,
                Some(action) => Meaning::Stale(action),
            },
            Kind::Interrupt => match action(self.inner()) {
                // The calls of a host that comes back with a failing version cannot be foreseen.
                Some(action) if !activates_failing(action, model) => {
                    Meaning::Interrupt(action, u64::from(self.second) * 300)
                }
                _ => Meaning::Skip,
            },
            kind => action(kind).map_or(Meaning::Skip, Meaning::Act),
        }
    }

    /// The kind of the action that is stale, or interrupted.
    fn inner(self) -> Kind {
        let inner =
            [Kind::Swap, Kind::Push, Kind::Rollback, Kind::Canary, Kind::Promote, Kind::Shadow, Kind::Reload];
        inner[usize::from(self.second) % inner.len()]
    }

    fn action(self, kind: Kind, model: &Model) -> Option<Action> {
        let choice = usize::from(self.choice);
        let mut versions: Vec<Version> = model.state.known.keys().copied().collect();
        // One that nobody has pushed.
        versions.push(Version { letter: '?', mode: 0 });
        let version = versions[choice % versions.len()];
        let weight = WEIGHTS[usize::from(self.second) % WEIGHTS.len()];
        Some(match kind {
            Kind::Push => Action::Push(LETTERS[choice % LETTERS.len()]),
            Kind::Swap => Action::Swap(version),
            Kind::Canary => Action::Canary(Some(version), weight),
            Kind::Weight => Action::Canary(None, weight),
            Kind::Shadow => Action::Shadow(Some(version)),
            Kind::ShadowAgain => Action::Shadow(None),
            Kind::Promote => Action::Promote,
            Kind::Rollback => Action::Rollback,
            Kind::Reload => Action::Reload(self.choice % MODES),
            _ => return None,
        })
    }
}

/// Whether some calls are answered by a candidate that traps.
pub fn is_failing(model: &Model) -> bool {
    matches!(model.state.candidate, Some((Version { letter: TRAPPING, .. }, Trial::Canary(1..))))
}

fn activates_failing(action: Action, model: &Model) -> bool {
    let mut after = model.clone();
    let _ = after.act(action);
    after.state.active.letter == TRAPPING
}

/// A generator of numbers that is the same for the same seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The steps of a seed.
pub fn sequence(seed: u64, length: usize) -> Vec<Step> {
    let mut numbers = Numbers(seed);
    let total: u64 = SHARES.iter().map(|(_, share)| share).sum();
    let step = |_| {
        let mut at = numbers.next() % total;
        let chosen = SHARES.iter().find(|(_, share)| {
            let is_it = at < *share;
            at = at.saturating_sub(*share);
            is_it
        });
        let [choice, second, ..] = numbers.next().to_le_bytes();
        Step { kind: chosen.unwrap().0, choice, second }
    };
    (0..length).map(step).collect()
}

/// Drops steps for as long as the rest still fails, with at most `tries` runs.
pub async fn shrink(
    mut steps: Vec<Step>,
    mut tries: usize,
    mut fails: impl AsyncFnMut(&[Step]) -> bool,
) -> Vec<Step> {
    let mut chunk = steps.len().div_ceil(2);
    while chunk > 0 {
        let mut at = 0;
        while at < steps.len() && tries > 0 {
            let end = (at + chunk).min(steps.len());
            let rest = [&steps[..at], &steps[end..]].concat();
            tries -= 1;
            if fails(&rest).await {
                steps = rest;
            } else {
                at = end;
            }
        }
        chunk /= 2;
    }
    steps
}

#[tokio::test]
async fn shrinking_keeps_only_what_fails() {
    let steps = sequence(7, 40);
    assert_eq!((steps.clone(), steps.len()), (sequence(7, 40), 40), "a seed has one sequence");
    assert_ne!(steps, sequence(8, 40));
    let (one, other) = (steps[11], steps[29]);
    let fails = async |some: &[Step]| some.contains(&one) && some.contains(&other);
    let least = shrink(steps.clone(), 1000, fails).await;
    assert_eq!(least, [one, other]);
    let mut runs = 0;
    let count = async |_: &[Step]| {
        runs += 1;
        false
    };
    assert_eq!(shrink(steps.clone(), 5, count).await, steps);
    assert_eq!(runs, 5, "it ends");
}
