//! The state that a capability of a service keeps in a store.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    sync::Arc,
};

use wasmtime::component::ResourceTable;

use super::{Capabilities, SlotResources};

/// State that a capability of a service keeps in a store: of one call, or of all calls of an instance that is reused.
pub trait CallState: Send + 'static {
    /// Returns the state of a store of the slot with these resources.
    fn new(resources: &Arc<SlotResources>) -> Self;
}

/// The states of a store, one of each type.
#[derive(Default)]
pub(super) struct CallStates(BTreeMap<TypeId, Box<dyn Any + Send>>);

impl CallStates {
    fn get_or_create<T: CallState>(&mut self, resources: &Arc<SlotResources>) -> &mut T {
        let create = || -> Box<dyn Any + Send> { Box::new(T::new(resources)) };
        match self.0.entry(TypeId::of::<T>()).or_insert_with(create).downcast_mut() {
            Some(state) => state,
            None => unreachable!("the state under the id of a type is of this type"),
        }
    }
}

impl Capabilities {
    /// Returns the state of a type, which is created on first use, and the table of the values behind the guest's handles.
    pub fn state_and_table<T: CallState>(&mut self) -> (&mut T, &mut ResourceTable) {
        (self.states.get_or_create(&self.resources), &mut self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::resources::tests::resources;

    #[derive(Debug, PartialEq)]
    struct Count(u32);

    impl CallState for Count {
        fn new(resources: &Arc<SlotResources>) -> Self {
            Self(resources.get::<u32>().copied().unwrap_or_default())
        }
    }

    #[derive(Debug, PartialEq)]
    struct Name(String);

    impl CallState for Name {
        fn new(resources: &Arc<SlotResources>) -> Self {
            Self(resources.slot.as_str().to_owned())
        }
    }

    #[test]
    fn state_is_created_once_for_each_type() {
        let mut resources = resources();
        resources.insert(Arc::new(7_u32));
        let (resources, mut states) = (Arc::new(resources), CallStates::default());
        assert_eq!(*states.get_or_create::<Count>(&resources), Count(7));
        states.get_or_create::<Count>(&resources).0 += 1;
        assert_eq!(*states.get_or_create::<Name>(&resources), Name("slot".into()));
        assert_eq!(*states.get_or_create::<Count>(&resources), Count(8));
    }
}
