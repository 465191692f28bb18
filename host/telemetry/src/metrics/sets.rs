//! Stores sets of metrics that services bring: each is registered once, and found by its type.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use prometheus::{Error, Registry, Result};

use crate::{
    family::{Family, SLOT_LABEL},
    series::SlotSeries,
};

/// Typed handles over families that belong together, such as those of one service.
pub trait MetricSet: Sized + Send + Sync + 'static {
    /// Every family of the set.
    const FAMILIES: &'static [&'static Family];

    /// Adds the families to a registry, and returns the handles.
    ///
    /// # Errors
    /// Only when the families are wrong: a name is taken, or a number of labels does not match.
    fn register(registry: &Registry) -> Result<Self>;

    /// Returns the series of each of its families that has a `slot` label. Those of a slot are removed with the slot.
    fn slot_series(&self) -> Vec<&dyn SlotSeries> {
        Vec::new()
    }
}

/// Removes a slot's series from the families of one set.
type RemoveSlot = Box<dyn Fn(&str) + Send + Sync>;

/// The sets that a host has registered.
#[derive(Default)]
pub(super) struct Sets(Mutex<Registered>);

#[derive(Default)]
struct Registered {
    sets: BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// In the order in which the sets came.
    families: Vec<&'static Family>,
    /// One for each set.
    remove_slot: Vec<RemoveSlot>,
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
        check_slot_series(&*set)?;
        let own = Arc::clone(&set);
        let remove_slot = move |slot: &str| {
            own.slot_series().iter().for_each(|series| series.remove_slot(slot));
        };
        registered.remove_slot.push(Box::new(remove_slot));
        registered.sets.insert(TypeId::of::<T>(), set.clone());
        registered.families.extend_from_slice(T::FAMILIES);
        Ok(set)
    }

    /// Removes a slot's series from the families of all sets.
    pub(super) fn remove_slot(&self, slot: &str) {
        let registered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        registered.remove_slot.iter().for_each(|remove| remove(slot));
    }

    /// Returns the families of all sets.
    pub(super) fn families(&self) -> Vec<&'static Family> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).families.clone()
    }
}

/// Checks that a set names the series of each of its families with a `slot` label.
fn check_slot_series<T: MetricSet>(set: &T) -> Result<()> {
    let series = set.slot_series();
    let is_named = |name: &str| series.iter().any(|series| series.family().name == name);
    let mut with_slot = T::FAMILIES.iter().filter(|family| family.labels.contains(&SLOT_LABEL));
    match with_slot.find(|family| !is_named(family.name)) {
        Some(family) => Err(Error::Msg(format!(
            "{} has a slot label; return its series from `slot_series` of its set",
            family.name
        ))),
        None => Ok(()),
    }
}
