//! The monitor that rolls back a version that is worse than its baseline.

use std::{
    sync::{Arc, PoisonError, Weak},
    time::{Duration, Instant},
};

use bulkhead_runtime::slots::{CallCounts, Trial, Version, World};
use bulkhead_telemetry::one_line;

use super::{RollbackTarget, criteria::rollback_reason};
use crate::{DeployError, Deployment, Expected, HOST, VersionId, deployment::switch::NextVersions};

/// Pause before a failed rollback is retried; it doubles with every attempt.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest pause.
const MAX_RETRY: Duration = Duration::from_secs(30);

/// A rollback that failed and will be retried.
struct FailedRollback {
    generation: u64,
    pause: Duration,
    retry_at: Instant,
}

/// A version whose calls are compared with a baseline.
pub(in crate::deployment) struct MonitoredVersion<W: World> {
    version: Weak<Version<W>>,
    /// Its counts when the monitoring began.
    since: CallCounts,
    baseline: Baseline<W>,
}

/// The calls that a version is compared with.
enum Baseline<W: World> {
    /// Calls of the version that answers beside it, since these counts.
    Concurrent(Weak<Version<W>>, CallCounts),
    /// The final counts of the version that answered before, used until this time.
    Historical(CallCounts, Instant),
}

impl<W: World> MonitoredVersion<W> {
    fn candidate(candidate: &Arc<Version<W>>, active: &Arc<Version<W>>) -> Self {
        let baseline = Baseline::Concurrent(Arc::downgrade(active), active.tally.counts());
        Self { version: Arc::downgrade(candidate), since: candidate.tally.counts(), baseline }
    }

    fn fresh(fresh: &Arc<Version<W>>, before: &Arc<Version<W>>, window: Duration) -> Self {
        let baseline = Baseline::Historical(before.tally.counts(), Instant::now() + window);
        Self { version: Arc::downgrade(fresh), since: fresh.tally.counts(), baseline }
    }

    /// Returns whether the monitored version is a candidate.
    pub(in crate::deployment) const fn is_for_candidate(&self) -> bool {
        matches!(self.baseline, Baseline::Concurrent(..))
    }

    /// Returns whether `other` monitors the same candidate against the same version.
    fn continues(&self, other: &Self) -> bool {
        match (&self.baseline, &other.baseline) {
            (Baseline::Concurrent(baseline, _), Baseline::Concurrent(other_baseline, _)) => {
                Weak::ptr_eq(&self.version, &other.version) && Weak::ptr_eq(baseline, other_baseline)
            }
            _ => false,
        }
    }
}

impl<W: World> Deployment<W> {
    /// Starts to monitor a canary, or a version that has just become active.
    pub(in crate::deployment) fn monitor_change(
        &self,
        next: &NextVersions<W>,
        old: &[(VersionId, Arc<Version<W>>)],
    ) {
        let (_, active) = &next.active;
        let stable = old.first().map(|(_, version)| version);
        let mut monitored = self.monitored.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = match (&next.candidate, stable) {
            (Some((_, candidate, Trial::Canary(_))), _) => {
                Some(MonitoredVersion::candidate(candidate, active))
            }
            (_, Some(stable)) if !Arc::ptr_eq(stable, active) => {
                Some(MonitoredVersion::fresh(active, stable, self.slot.settings().rollout.watch))
            }
            // A candidate in shadow answers no call; the monitoring of the active version continues.
            (Some((_, _, Trial::Shadow)), _) => {
                monitored.take().filter(|watched| !watched.is_for_candidate())
            }
            (None, _) => None,
        };
        // Another weight, or the end of a trial, does not restart the monitoring.
        let is_same = watched.as_ref().zip(monitored.as_ref()).is_some_and(|(new, old)| new.continues(old));
        if !is_same {
            *monitored = watched;
        }
    }

    /// Monitors a canary against `active`.
    pub(in crate::deployment) fn monitor_candidate(
        &self,
        candidate: Option<&(Arc<Version<W>>, Trial)>,
        active: &Arc<Version<W>>,
    ) {
        if let Some((candidate, Trial::Canary(_))) = candidate {
            let monitored = MonitoredVersion::candidate(candidate, active);
            *self.monitored.lock().unwrap_or_else(PoisonError::into_inner) = Some(monitored);
        }
    }

    /// Starts the task that rolls back worse versions, for as long as the deployment lives.
    pub(in crate::deployment) fn spawn_rollback_monitor(&self) {
        let (deployment, slot) = (self.weak(), Arc::clone(&self.slot));
        self.spawn(async move {
            let mut failed: Option<FailedRollback> = None;
            loop {
                slot.rollback_check.notified().await;
                let Some(deployment) = deployment.upgrade() else { return };
                let generation = deployment.state().generation;
                let last = failed.take().filter(|failed| failed.generation == generation);
                if last.as_ref().is_some_and(|last| Instant::now() < last.retry_at) {
                    failed = last;
                } else if !deployment.check_regression().await {
                    let pause = last.map_or(FIRST_RETRY, |last| (last.pause * 2).min(MAX_RETRY));
                    failed = Some(FailedRollback { generation, pause, retry_at: Instant::now() + pause });
                    deployment.check_after(pause);
                }
            }
        });
    }

    /// Rolls back a version that is worse than its baseline; returns false if that must be retried.
    async fn check_regression(&self) -> bool {
        let Some((generation, target, reason)) = self.find_regression() else { return true };
        let slot = self.slot.name().as_str();
        tracing::warn!(slot, reason, "the version is worse than its baseline and is rolled back");
        // Calls move to the other version before the rollback is recorded.
        match (target, self.slot.active()) {
            (RollbackTarget::Candidate, _) => self.slot.suspend_candidate(),
            (RollbackTarget::Active, Ok(active)) => drop(self.slot.fall_back(active.serial())),
            (RollbackTarget::Active, Err(_)) => {}
        }
        let reason = format!("automatic rollback: {reason}");
        let expected = Expected { generation, actor: HOST.to_owned(), reason };
        match self.roll_back_regression(target, &expected).await {
            Ok(()) => {
                self.slot.metrics.rollout("automatic-rollback");
                true
            }
            // There is no version to return to.
            Err(error @ DeployError::NoPredecessor(_)) => {
                tracing::error!(slot, %error, "the rollback failed");
                *self.monitored.lock().unwrap_or_else(PoisonError::into_inner) = None;
                true
            }
            // An operator was faster, or the previous version is unavailable at the moment.
            Err(error) => {
                tracing::error!(slot, error = one_line(&error), "the rollback failed; it is retried");
                false
            }
        }
    }

    fn check_after(&self, pause: Duration) {
        let slot = Arc::clone(&self.slot);
        self.spawn(async move {
            tokio::time::sleep(pause).await;
            slot.rollback_check.notify_one();
        });
    }

    /// Returns the generation, the version to remove and the reason, and ends a monitoring whose time is over.
    fn find_regression(&self) -> Option<(u64, RollbackTarget, String)> {
        let generation = self.state().generation;
        if self.slot.has_fallen_back()
            && let Ok(active) = self.slot.active()
            && active.circuit.is_open()
        {
            return Some((generation, RollbackTarget::Active, open_circuit_reason(&active)));
        }
        let mut monitored = self.monitored.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = monitored.as_ref()?;
        let version = watched.version.upgrade();
        let fresh = version.as_ref().map(|version| version.tally.counts().since(watched.since));
        let (target, stable) = match &watched.baseline {
            Baseline::Concurrent(version, since) => {
                let counts = version.upgrade().map(|version| version.tally.counts().since(*since));
                (RollbackTarget::Candidate, counts)
            }
            Baseline::Historical(counts, until) => {
                (RollbackTarget::Active, (Instant::now() < *until).then_some(*counts))
            }
        };
        let Some((fresh, stable)) = fresh.zip(stable) else {
            *monitored = None;
            return None;
        };
        // A candidate whose circuit is open gets probes only, so that it would take long to compare enough calls.
        let broken = version.filter(|version| watched.is_for_candidate() && version.circuit.is_open());
        let reason = rollback_reason(fresh, stable, &self.slot.settings().rollout)
            .or_else(|| broken.map(|version| open_circuit_reason(&version)))?;
        Some((generation, target, reason))
    }
}

/// Returns the reason to remove a version whose circuit is open.
fn open_circuit_reason<W: World>(version: &Version<W>) -> String {
    format!("{} of its calls in a row failed", version.settings.rollout.circuit_failures)
}
