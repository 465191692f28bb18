//! What guests use of inference, by slot. Their waiting and computing is charged here, not to their CPU budget.

use std::fmt;

use prometheus::{Histogram, IntCounter, Registry, Result};

use super::Spent;
use crate::telemetry::{catalog, series::Series};

/// Why a guest's embedding call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedInference {
    /// The slot has used its tokens of this second.
    TokensPerSecond,
    /// The model is not on the slot's list, or not loaded.
    Model,
    /// The call asks for what cannot be.
    Invalid,
    /// The queue is full, the deadline over, or inference failed.
    Unavailable,
}

impl RefusedInference {
    const ALL: [Self; 4] = [Self::TokensPerSecond, Self::Model, Self::Invalid, Self::Unavailable];

    const fn as_str(self) -> &'static str {
        match self {
            Self::TokensPerSecond => "tokens-per-second",
            Self::Model => "model",
            Self::Invalid => "invalid",
            Self::Unavailable => "unavailable",
        }
    }
}

/// The families that have a slot label.
pub(super) struct InferenceFamilies {
    tokens: Series<IntCounter, 2>,
    queue: Series<Histogram, 1>,
    compute: Series<Histogram, 1>,
    refused: Series<IntCounter, 2>,
}

impl InferenceFamilies {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            tokens: Series::register(&catalog::INFERENCE_TOKENS, registry)?,
            queue: Series::register(&catalog::INFERENCE_QUEUE, registry)?,
            compute: Series::register(&catalog::INFERENCE_COMPUTE, registry)?,
            refused: Series::register(&catalog::INFERENCE_REFUSED, registry)?,
        })
    }

    pub(super) fn slot(&self, slot: &'static str) -> SlotInference {
        for reason in RefusedInference::ALL {
            self.refused.get([slot, reason.as_str()]);
        }
        SlotInference {
            slot,
            tokens: self.tokens.clone(),
            queue: self.queue.get([slot]),
            compute: self.compute.get([slot]),
            refused: self.refused.clone(),
        }
    }
}

/// What one slot's guests use of inference. Clones share the figures.
#[derive(Clone)]
pub struct SlotInference {
    slot: &'static str,
    tokens: Series<IntCounter, 2>,
    queue: Histogram,
    compute: Histogram,
    refused: Series<IntCounter, 2>,
}

impl fmt::Debug for SlotInference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotInference").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SlotInference {
    /// Names a model that the slot may use: its tokens begin at zero.
    pub fn know_model(&self, model: &str) {
        self.tokens.get([self.slot, model]);
    }

    /// Counts what a call took.
    pub fn spent(&self, model: &str, spent: &Spent) {
        self.tokens.get([self.slot, model]).inc_by(spent.tokens as u64);
        self.queue.observe(spent.queued.as_secs_f64());
        self.compute.observe((spent.tokenizing + spent.inference).as_secs_f64());
    }

    /// Counts a call that was refused.
    pub fn refused(&self, reason: RefusedInference) {
        self.refused.get([self.slot, reason.as_str()]).inc();
    }
}
