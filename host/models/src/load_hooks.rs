//! Hooks that change the models between loading and serving.

use std::{
    error::Error,
    fmt, mem,
    sync::{Mutex, PoisonError},
};

use super::Inference;

/// The error of a hook.
pub type LoadHookError = Box<dyn Error + Send + Sync>;

type LoadHook = Box<dyn FnOnce(&mut Inference) -> Result<(), LoadHookError> + Send>;

/// Hooks that run once the models are loaded and before they serve, for instance to add a head.
#[derive(Default)]
pub struct LoadHooks(Mutex<Vec<LoadHook>>);

impl fmt::Debug for LoadHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadHooks").finish_non_exhaustive()
    }
}

impl LoadHooks {
    /// Adds a hook. It runs on a thread that may block.
    pub fn push(&self, hook: impl FnOnce(&mut Inference) -> Result<(), LoadHookError> + Send + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(hook));
    }

    /// Runs and removes every hook, in order.
    ///
    /// # Errors
    /// The error of the first hook that fails; later ones do not run.
    pub fn run(&self, inference: &mut Inference) -> Result<(), LoadHookError> {
        let hooks = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        hooks.into_iter().try_for_each(|hook| hook(inference))
    }
}
