//! Changes of the versions that answer, as operators and the watched folder request them: swap, canary, shadow and
//! promote. The module `rollback` has the way back.

use bulkhead_runtime::slots::{Trial, World};

use super::{Deployment, commit::ChangeScope, switch::NextVersions};
use crate::{Change, DeployError, Expected, SlotState, VersionRecord};

impl<W: World> Deployment<W> {
    pub(super) async fn apply(&self, change: &Change, expected: &Expected) -> Result<(), DeployError> {
        self.check_not_removed()?;
        let is_shared = self.scope(expected) == ChangeScope::Cluster;
        if is_shared && *change == Change::Rollback {
            return self.roll_back_cluster(expected).await;
        }
        if is_shared {
            self.refresh().await?;
        }
        self.check_generation(expected)?;
        let name = match change {
            Change::Swap(name) | Change::Canary(Some(name), _) | Change::Shadow(Some(name)) => {
                Some(self.resolve_name(name, &expected.actor).await?)
            }
            Change::Canary(None, _) | Change::Shadow(None) | Change::Promote | Change::Rollback => None,
        };
        let name = name.as_deref();
        match change {
            Change::Swap(_) => self.swap(name.unwrap_or_default(), expected).await,
            Change::Canary(_, weight) => self.start_trial(name, Trial::Canary(*weight), expected).await,
            Change::Shadow(_) => self.start_trial(name, Trial::Shadow, expected).await,
            Change::Promote => self.promote(expected).await,
            Change::Rollback => self.roll_back(expected).await,
        }
    }

    /// Returns the version that `name` matches if it has passed its self-test.
    fn find_tried(&self, name: &str) -> Result<VersionRecord, DeployError> {
        let record = self.find_version(name)?;
        if record.is_tried() { Ok(record) } else { Err(DeployError::Untried(record.id)) }
    }

    async fn swap(&self, name: &str, expected: &Expected) -> Result<(), DeployError> {
        let record = self.find_tried(name)?;
        let state = self.state();
        if self.answering_id(&state).as_ref() == Some(&record.id) && state.candidate.is_none() {
            return Err(DeployError::Answering(record.id));
        }
        if state.candidate.as_ref().is_some_and(|candidate| candidate.version == record.id) {
            return self.promote(expected).await;
        }
        let version = self.fresh_version(&record).await?;
        let next = NextVersions { active: (record.id.clone(), version), candidate: None };
        self.switch_to(&record, next, expected, self.scope(expected), SlotState::push_previous).await
    }

    async fn start_trial(
        &self,
        name: Option<&str>,
        trial: Trial,
        expected: &Expected,
    ) -> Result<(), DeployError> {
        let (slot, state) = (self.slot.name().as_str(), self.state());
        let active = state.active.clone().zip(self.slot.active().ok()).ok_or(DeployError::NoActive(slot))?;
        let tried = state.candidate.as_ref().map(|candidate| &candidate.version);
        let wanted = name.map(|name| self.find_tried(name)).transpose()?;
        let (id, version) = match (tried, wanted) {
            (Some(tried), wanted) if wanted.as_ref().is_none_or(|wanted| wanted.id == *tried) => {
                let (version, _) = self.slot.candidate().ok_or(DeployError::NoCandidate(slot))?;
                (tried.clone(), version)
            }
            (Some(tried), _) => return Err(DeployError::OtherCandidate { slot, version: tried.clone() }),
            (None, None) => return Err(DeployError::NoCandidate(slot)),
            (None, Some(wanted)) if wanted.id == active.0 => return Err(DeployError::Answering(wanted.id)),
            (None, Some(wanted)) => (wanted.id.clone(), self.fresh_version(&wanted).await?),
        };
        let record = self.find_version(id.as_str())?;
        let next = NextVersions { active, candidate: Some((id, version, trial)) };
        self.switch_to(&record, next, expected, self.scope(expected), |_, _| {}).await
    }

    async fn promote(&self, expected: &Expected) -> Result<(), DeployError> {
        let none = DeployError::NoCandidate(self.slot.name().as_str());
        let candidate = self.state().candidate.clone().zip(self.slot.candidate());
        let (candidate, (version, _)) = candidate.ok_or(none)?;
        let record = self.find_version(candidate.version.as_str())?;
        let next = NextVersions { active: (candidate.version, version), candidate: None };
        self.switch_to(&record, next, expected, self.scope(expected), SlotState::push_previous).await
    }
}
