//! The models that a configuration names: their folders, names and state.

pub(crate) mod examine;
pub(crate) mod model_ref;
pub(crate) mod names;
