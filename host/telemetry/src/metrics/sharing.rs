//! Figures of the state that hosts share.

use prometheus::{Gauge, IntCounter, Registry, Result};

use crate::{catalog, series::Series};

/// What comes of following it, there at zero once a slot shares.
const RESULTS: [&str; 4] = ["applied", "refused", "failed", "published"];

/// The state that hosts share; without series on a host that shares none.
pub struct Sharing {
    reachable: Series<Gauge, 0>,
    generations: Series<Gauge, 2>,
    follows: Series<IntCounter, 2>,
}

impl Sharing {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            reachable: Series::register(&catalog::SHARED_REACHABLE, registry)?,
            generations: Series::register(&catalog::SLOT_GENERATION, registry)?,
            follows: Series::register(&catalog::SHARED_FOLLOWS, registry)?,
        })
    }

    /// Whether the database has answered.
    pub fn reached(&self, answers: bool) {
        self.reachable.get([]).set(f64::from(u8::from(answers)));
    }

    /// A slot's generations: the one that all hosts should have, if it is known, and the one here.
    pub fn generations(&self, slot: &str, desired: Option<u64>, applied: u64) {
        for result in RESULTS {
            self.follows.get([slot, result]);
        }
        if let Some(desired) = desired {
            self.generations.get([slot, "desired"]).set(desired as f64);
        }
        self.generations.get([slot, "applied"]).set(applied as f64);
    }

    /// Counts what came of following: `applied`, `refused`, `failed` or `published`.
    pub fn follow(&self, slot: &str, result: &'static str) {
        self.follows.get([slot, result]).inc();
    }
}
