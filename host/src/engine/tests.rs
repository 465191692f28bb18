//! Which allocator an engine ends up with.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::{self, Sources};

/// More address space than there is.
const ENDLESS: Limits = Limits { max_concurrent: 1_000_000, memory_bytes: 4 << 30, ..Limits::DEFAULT };

/// The default settings.
pub(crate) fn sandbox() -> Sandbox {
    let sources = Sources { file: None, environment: Vec::new(), flags: Vec::new(), root: true };
    config::load(sources).unwrap().config.sandbox
}

fn engine(allocator: Allocator, limits: &Limits) -> Result<Engine, EngineError> {
    Engine::new(&Sandbox { allocator, ..sandbox() }, [limits])
}

#[test]
fn the_default_limits_are_pooled() {
    assert!(engine(Allocator::Auto, &Limits::DEFAULT).unwrap().pool_metrics().is_some());
}

#[test]
fn a_pool_that_does_not_fit_is_done_without() {
    assert!(engine(Allocator::Auto, &ENDLESS).unwrap().pool_metrics().is_none());
}

#[test]
fn a_pool_that_is_demanded_and_does_not_fit_is_an_error_that_names_the_keys() {
    let error = engine(Allocator::Pooling, &ENDLESS).err().unwrap().to_string();
    assert!(error.contains("lower slots.*.max_concurrent or set sandbox.allocator"), "{error}");
}

#[test]
fn on_demand_has_no_pool() {
    assert!(engine(Allocator::OnDemand, &Limits::DEFAULT).unwrap().pool_metrics().is_none());
}
