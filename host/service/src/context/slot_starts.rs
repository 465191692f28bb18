//! The slots of a starting host, whose first versions are made ready at the same time.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::task::JoinSet;

/// The tasks that start the slots of a host, one a slot. Clones share them; dropping the last clone ends them.
#[derive(Clone)]
pub struct SlotStarts(Arc<Mutex<Option<JoinSet<()>>>>);

impl Default for SlotStarts {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Some(JoinSet::new()))))
    }
}

impl fmt::Debug for SlotStarts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotStarts").finish_non_exhaustive()
    }
}

impl SlotStarts {
    /// While the services of the host are started, calls `begin` and then runs `start` on a task of its own. Afterwards
    /// gives `start` back.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        begin: impl FnOnce(),
        start: F,
    ) -> Option<F> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(tasks) => {
                begin();
                tasks.spawn(start);
                None
            }
            None => Some(start),
        }
    }

    /// Returns the tasks, once every service is started.
    pub fn take(&self) -> JoinSet<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        future::{pending, ready},
        time::Duration,
    };

    use tokio::{task::yield_now, time::timeout};

    use super::*;

    /// Reached only by a failing test.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn later_start_is_given_back() {
        let (starts, begun) = (SlotStarts::default(), Cell::new(0));
        let spawn = |starts: &SlotStarts| starts.spawn(|| begun.set(begun.get() + 1), ready(()));
        assert!(spawn(&starts.clone()).is_none());
        let mut tasks = starts.take();
        assert!(spawn(&starts).is_some());
        assert_eq!((tasks.join_next().await.is_some(), tasks.join_next().await.is_some()), (true, false));
        assert_eq!(begun.get(), 1);
    }

    #[tokio::test]
    async fn dropped_starts_end_their_tasks() {
        let (starts, held) = (SlotStarts::default(), Arc::new(()));
        let own = Arc::clone(&held);
        let start = async move {
            pending::<()>().await;
            drop(own);
        };
        assert!(starts.spawn(|| {}, start).is_none());
        drop(starts);
        let ended = async {
            while Arc::strong_count(&held) > 1 {
                yield_now().await;
            }
        };
        assert!(timeout(PATIENCE, ended).await.is_ok());
    }
}
