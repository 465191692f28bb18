//! What others than the configuration of the models add to them before they serve.

use std::{
    error::Error,
    fmt, mem,
    sync::{Mutex, PoisonError},
};

use super::Inference;

/// Why an addition cannot be made.
pub type AdditionError = Box<dyn Error + Send + Sync>;

type Addition = Box<dyn FnOnce(&mut Inference) -> Result<(), AdditionError> + Send>;

/// What is added to the models once they are loaded, such as a head, before anyone uses them.
#[derive(Default)]
pub struct Additions(Mutex<Vec<Addition>>);

impl fmt::Debug for Additions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Additions").finish_non_exhaustive()
    }
}

impl Additions {
    /// Has `addition` made once the models are loaded. It runs on a thread that may block.
    pub fn push(&self, addition: impl FnOnce(&mut Inference) -> Result<(), AdditionError> + Send + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(addition));
    }

    /// Makes every addition, in order, and forgets it.
    ///
    /// # Errors
    /// That of the first addition that fails; later ones are not made.
    pub fn make(&self, inference: &mut Inference) -> Result<(), AdditionError> {
        let additions = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        additions.into_iter().try_for_each(|addition| addition(inference))
    }
}
