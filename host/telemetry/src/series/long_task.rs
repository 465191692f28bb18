//! Counts work in progress and adds up its age.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use prometheus::{Result, core::Metric, proto};

use crate::{family::Family, series::Cell};

/// Counts work in progress and adds up its age, without a list of it: the ages of n tasks are n times
/// now, less the sum of their starts.
#[derive(Clone)]
pub struct LongTask(Arc<Shared>);

struct Shared {
    base: Instant,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    tasks: u32,
    /// Sum of the starts, each measured from `base`.
    starts: Duration,
}

/// A task in progress; it ends when dropped.
pub struct InProgress {
    shared: Arc<Shared>,
    start: Duration,
}

impl LongTask {
    /// Begins a task.
    pub fn begin(&self) -> InProgress {
        let start = self.0.base.elapsed();
        let mut running = self.0.running();
        running.tasks = running.tasks.saturating_add(1);
        running.starts = running.starts.saturating_add(start);
        drop(running);
        InProgress { shared: Arc::clone(&self.0), start }
    }
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        let mut running = self.shared.running();
        running.tasks = running.tasks.saturating_sub(1);
        running.starts = running.starts.saturating_sub(self.start);
    }
}

impl Metric for LongTask {
    fn metric(&self) -> proto::Metric {
        let running = self.0.running();
        let age = (self.0.base.elapsed().saturating_mul(running.tasks)).saturating_sub(running.starts);
        let mut summary = proto::Summary::default();
        summary.set_sample_count(running.tasks.into());
        summary.set_sample_sum(age.as_secs_f64());
        let mut metric = proto::Metric::default();
        metric.set_summary(summary);
        metric
    }
}

impl Cell for LongTask {
    fn create(_: &Family) -> Result<Self> {
        let shared = Shared { base: Instant::now(), running: Mutex::default() };
        Ok(Self(Arc::new(shared)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::catalog;

    #[test]
    fn counts_what_has_not_ended() {
        let tasks = LongTask::create(&catalog::HTTP_ACTIVE).unwrap();
        let (first, second) = (tasks.begin(), tasks.begin());
        drop(first);
        assert_eq!(tasks.metric().get_summary().sample_count(), 1);
        drop(second);
        let idle = tasks.metric();
        assert_eq!(idle.get_summary().sample_count(), 0);
        assert_eq!(idle.get_summary().sample_sum(), 0.0);
    }
}
