//! A map from types to values, by which services share values without knowing each other.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

type Values = BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// Values that one service inserts and others get by their types. The types belong to libraries that both use. Clones share
/// the values.
#[derive(Clone, Default)]
pub struct Extensions(Arc<Mutex<Values>>);

impl Extensions {
    /// Adds a value. It replaces one of the same type.
    pub fn insert<T: Send + Sync + 'static>(&self, value: Arc<T>) {
        self.lock().insert(TypeId::of::<T>(), value);
    }

    /// Returns the value of a type, if a service has added one.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.lock().get(&TypeId::of::<T>()).cloned();
        value.and_then(|value| value.downcast().ok())
    }

    /// Returns the value of a type; the default one, which is added, if no service has added one.
    pub fn get_or_default<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.lock();
        let known = values.get(&TypeId::of::<T>()).cloned();
        if let Some(known) = known.and_then(|value| value.downcast::<T>().ok()) {
            return known;
        }
        let value = Arc::new(T::default());
        values.insert(TypeId::of::<T>(), value.clone());
        value
    }

    fn lock(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn values_are_found_by_type() {
        let extensions = Extensions::default();
        assert_eq!(extensions.get::<u32>(), None);
        extensions.insert(Arc::new(7_u32));
        extensions.insert(Arc::new("text".to_owned()));
        assert_eq!(extensions.get::<u32>(), Some(Arc::new(7)));
        assert_eq!(extensions.get::<String>(), Some(Arc::new("text".to_owned())));
        extensions.insert(Arc::new(8_u32));
        assert_eq!(extensions.get::<u32>(), Some(Arc::new(8)));
    }

    #[test]
    fn default_value_is_added_once() {
        let extensions = Extensions::default();
        extensions.get_or_default::<AtomicU32>().store(7, Ordering::Relaxed);
        assert_eq!(extensions.get_or_default::<AtomicU32>().load(Ordering::Relaxed), 7);
    }
}
