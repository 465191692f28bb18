use std::{
    sync::{Arc, PoisonError, Weak},
    time::{Duration, Instant},
};

use super::{
    DeployError, Deployment, Expected, HOST, VersionId,
    changes::{Next, Worse},
    verdict::verdict,
};
use crate::{
    slots::{Counts, Trial, Version, World},
    telemetry::one_line,
};

/// Pause before a rollback that was not made is tried again; it doubles with every try.
const FIRST: Duration = Duration::from_secs(1);
/// Longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// A rollback that was not made.
struct Failed {
    generation: u64,
    pause: Duration,
    again: Instant,
}

/// A version whose calls are compared with those of another.
pub(super) struct Watched<W: World> {
    version: Weak<Version<W>>,
    /// Its figures when the watch began.
    since: Counts,
    beside: Beside<W>,
}

/// What a version is compared with.
enum Beside<W: World> {
    /// The one that answers the other calls, from these figures on.
    Now(Weak<Version<W>>, Counts),
    /// The one that answered before, which ended with these figures; until then.
    Before(Counts, Instant),
}

impl<W: World> Watched<W> {
    pub(super) fn candidate(candidate: &Arc<Version<W>>, active: &Arc<Version<W>>) -> Self {
        let beside = Beside::Now(Arc::downgrade(active), active.tally.counts());
        Self { version: Arc::downgrade(candidate), since: candidate.tally.counts(), beside }
    }

    pub(super) fn fresh(fresh: &Arc<Version<W>>, before: &Arc<Version<W>>, window: Duration) -> Self {
        let beside = Beside::Before(before.tally.counts(), Instant::now() + window);
        Self { version: Arc::downgrade(fresh), since: fresh.tally.counts(), beside }
    }

    /// Whether it is over a candidate, beside the version that answers the other calls.
    pub(super) const fn is_of_candidate(&self) -> bool {
        matches!(self.beside, Beside::Now(..))
    }

    /// Whether this is the watch that is on already: of the same candidate beside the same version.
    pub(super) fn continues(&self, other: &Self) -> bool {
        match (&self.beside, &other.beside) {
            (Beside::Now(beside, _), Beside::Now(others, _)) => {
                Weak::ptr_eq(&self.version, &other.version) && Weak::ptr_eq(beside, others)
            }
            _ => false,
        }
    }
}

impl<W: World> Deployment<W> {
    /// Watches a candidate that answers, or a version that has just come to answer every call.
    pub(super) fn watch_over(&self, next: &Next<W>, old: &[(VersionId, Arc<Version<W>>)]) {
        let (_, active) = &next.active;
        let stable = old.first().map(|(_, version)| version);
        let mut watching = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = match (&next.candidate, stable) {
            (Some((_, candidate, Trial::Canary(_))), _) => Some(Watched::candidate(candidate, active)),
            (_, Some(stable)) if !Arc::ptr_eq(stable, active) => {
                Some(Watched::fresh(active, stable, self.slot.settings().rollout.watch))
            }
            // A candidate in shadow answers nobody; a watch over the active version goes on.
            (Some((_, _, Trial::Shadow)), _) => watching.take().filter(|watched| !watched.is_of_candidate()),
            (None, _) => None,
        };
        // Another weight, or the end of a trial, does not begin anew.
        let goes_on = watched.as_ref().zip(watching.as_ref()).is_some_and(|(new, old)| new.continues(old));
        if !goes_on {
            *watching = watched;
        }
    }

    /// Takes back versions that do worse, for as long as the deployment lives.
    pub(super) fn watch(&self) {
        let (deployment, slot) = (self.weak(), Arc::clone(&self.slot));
        self.spawn(async move {
            let mut failed: Option<Failed> = None;
            loop {
                slot.alarm.notified().await;
                let Some(deployment) = deployment.upgrade() else { return };
                let generation = deployment.book().generation;
                let last = failed.take().filter(|failed| failed.generation == generation);
                if last.as_ref().is_some_and(|last| Instant::now() < last.again) {
                    failed = last;
                } else if !deployment.judge().await {
                    let pause = last.map_or(FIRST, |last| (last.pause * 2).min(LONGEST));
                    failed = Some(Failed { generation, pause, again: Instant::now() + pause });
                    deployment.judge_after(pause);
                }
            }
        });
    }

    /// Takes back what does worse; false where it is to be tried again.
    async fn judge(&self) -> bool {
        let Some((generation, what, reason)) = self.worse() else { return true };
        let slot = self.slot.name().as_str();
        tracing::warn!(slot, reason, "the version does worse than the other and is rolled back");
        // Calls do not wait until the rollback is recorded, nor for what else is being recorded.
        match (what, self.slot.active()) {
            (Worse::Candidate, _) => self.slot.give_up_candidate(),
            (Worse::Active, Ok(active)) => drop(self.slot.fall_back(active.serial())),
            (Worse::Active, Err(_)) => {}
        }
        let reason = format!("automatic rollback: {reason}");
        let expected = Expected { generation, actor: HOST.to_owned(), reason };
        match self.take_back(what, &expected).await {
            Ok(()) => {
                self.slot.metrics.rollout("automatic-rollback");
                true
            }
            // There is nothing to go back to.
            Err(error @ DeployError::NoPredecessor(_)) => {
                tracing::error!(slot, %error, "the rollback was not made");
                *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = None;
                true
            }
            // An operator was faster, or the version before cannot be had just now.
            Err(error) => {
                tracing::error!(
                    slot,
                    error = one_line(&error),
                    "the rollback was not made; it is tried again"
                );
                false
            }
        }
    }

    fn judge_after(&self, pause: Duration) {
        let slot = Arc::clone(&self.slot);
        self.spawn(async move {
            tokio::time::sleep(pause).await;
            slot.alarm.notify_one();
        });
    }

    /// What must go and why, and in which generation that was so. A watch that has ended is forgotten.
    fn worse(&self) -> Option<(u64, Worse, String)> {
        let generation = self.book().generation;
        if self.slot.has_fallen_back()
            && let Ok(active) = self.slot.active()
            && active.circuit.is_open()
        {
            return Some((generation, Worse::Active, in_a_row(&active)));
        }
        let mut watching = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = watching.as_ref()?;
        let version = watched.version.upgrade();
        let fresh = version.as_ref().map(|version| version.tally.counts().since(watched.since));
        let (what, stable) = match &watched.beside {
            Beside::Now(version, since) => {
                let counts = version.upgrade().map(|version| version.tally.counts().since(*since));
                (Worse::Candidate, counts)
            }
            Beside::Before(counts, until) => (Worse::Active, (Instant::now() < *until).then_some(*counts)),
        };
        let Some((fresh, stable)) = fresh.zip(stable) else {
            *watching = None;
            return None;
        };
        // A candidate whose circuit is open gets probes only: calls to compare by would be long in coming.
        let broken = version.filter(|version| watched.is_of_candidate() && version.circuit.is_open());
        let reason = verdict(fresh, stable, &self.slot.settings().rollout)
            .or_else(|| broken.map(|version| in_a_row(&version)))?;
        Some((generation, what, reason))
    }
}

/// Why a version whose circuit is open must go.
fn in_a_row<W: World>(version: &Version<W>) -> String {
    format!("{} of its calls in a row failed", version.settings.rollout.circuit_failures)
}
