//! Stores sets of metrics that services bring: each is registered once, and found by its type.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use prometheus::{Registry, Result};

use crate::family::Family;

/// Typed handles over families that belong together, such as those of one service.
pub trait MetricSet: Sized + Send + Sync + 'static {
    /// Every family of the set.
    const FAMILIES: &'static [&'static Family];

    /// Adds the families to a registry, and returns the handles.
    ///
    /// # Errors
    /// Only when the families are wrong: a name is taken, or a number of labels does not match.
    fn register(registry: &Registry) -> Result<Self>;
}

/// The sets that a host has registered.
#[derive(Default)]
pub(super) struct Sets(Mutex<Registered>);

#[derive(Default)]
struct Registered {
    sets: BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// In the order in which the sets came.
    families: Vec<&'static Family>,
}

impl Sets {
    /// Returns the set of this type, and registers it the first time.
    pub(super) fn get<T: MetricSet>(&self, registry: &Registry) -> Result<Arc<T>> {
        let mut registered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = registered.sets.get(&TypeId::of::<T>()).cloned();
        if let Some(known) = known.and_then(|set| set.downcast::<T>().ok()) {
            return Ok(known);
        }
        let set = Arc::new(T::register(registry)?);
        registered.sets.insert(TypeId::of::<T>(), set.clone());
        registered.families.extend_from_slice(T::FAMILIES);
        Ok(set)
    }

    /// Returns the families of all sets.
    pub(super) fn families(&self) -> Vec<&'static Family> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).families.clone()
    }
}
