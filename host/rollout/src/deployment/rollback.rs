//! Rollbacks by an operator or the host: the active version answers alone again if there is a candidate, else the
//! previous version answers. What they need is kept ready.

mod cluster;
mod criteria;
mod monitor;
mod precompile;
mod predecessor;

use bulkhead_runtime::slots::World;

use super::{Deployment, switch::NextVersions};
use crate::{DeployError, Expected, HOST, SlotState, VersionId, VersionRecord};

pub(super) use self::{monitor::MonitoredVersion, predecessor::HeldPredecessor};

/// The version that an automatic rollback removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RollbackTarget {
    /// The candidate.
    Candidate,
    /// The active version.
    Active,
}

impl<W: World> Deployment<W> {
    pub(super) async fn roll_back(&self, expected: &Expected) -> Result<(), DeployError> {
        let state = self.state();
        if let Some(active) = state.active.clone().zip(self.slot.active().ok())
            && state.candidate.is_some()
        {
            let next = NextVersions { active, candidate: None };
            return self.switch_in_memory(None, next, expected, |_, _| {}).await;
        }
        self.restore_previous(expected).await
    }

    /// Restores the previous version; a candidate is dropped.
    async fn restore_previous(&self, expected: &Expected) -> Result<(), DeployError> {
        let state = self.state();
        let before = state.previous.last().and_then(|id| state.get(id));
        let before = before.ok_or(DeployError::NoPredecessor(self.slot.name().as_str()))?;
        let version = self.ready_version(before).await?;
        let next = NextVersions { active: (before.id.clone(), version), candidate: None };
        self.switch_in_memory(Some(before), next, expected, |state, _| drop(state.previous.pop())).await
    }

    /// Rolls back the version that the host has found to be worse: the candidate or the active version.
    async fn roll_back_regression(
        &self,
        target: RollbackTarget,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        self.check_generation(expected)?;
        match target {
            RollbackTarget::Candidate => self.roll_back(expected).await,
            RollbackTarget::Active => self.restore_previous(expected).await,
        }
    }

    /// Switches to other versions for a rollback, whose versions are loaded: it takes effect before it is on disk,
    /// even if the disk is full.
    async fn switch_in_memory(
        &self,
        remembered: Option<&VersionRecord>,
        next: NextVersions<W>,
        expected: &Expected,
        update_previous: impl Fn(&mut SlotState, Option<VersionId>),
    ) -> Result<(), DeployError> {
        let (scope, guard) = (self.scope(expected), self.lock().await);
        self.check_generation(expected)?;
        if expected.actor != HOST {
            self.check_no_conflict(&guard).await?;
        }
        // Held versions were released if the rules have changed.
        if let Some(record) = remembered.filter(|record| self.held(&record.id).is_none()) {
            self.check_signature(record).await?;
        }
        let before = self.state();
        let old = self.answering_versions(&before);
        let change = self.change_to(&before, &next, expected, scope, &update_previous);
        let install = || {
            self.install(next.clone(), old);
            self.report_change(expected, scope);
        };
        self.commit_rollback(&guard, scope, change, install).await
    }
}
