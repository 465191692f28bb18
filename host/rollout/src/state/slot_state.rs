//! The state of a slot: its versions, which of them answer, and which answered before.

mod retention;

use bulkhead_config::slots::SlotId;
use bulkhead_runtime::slots::{Trial, Weight};
use serde::{Deserialize, Serialize};

use super::{AuditEntry, Move, Stage, VersionRecord};
use crate::{HOST, VersionId};

/// Which versions of a slot answer and which answered before: everything that a host needs to resume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotState {
    /// Increases with every change of the versions that answer; a change names the generation that its author has
    /// seen.
    pub generation: u64,
    /// Increases with every change of the state.
    #[serde(rename = "edition")]
    pub revision: u64,
    /// The version that answers.
    pub active: Option<VersionId>,
    /// The candidate.
    pub candidate: Option<Candidate>,
    /// Versions that a rollback returns to, the next one last.
    #[serde(rename = "before")]
    pub previous: Vec<VersionId>,
    /// Date of the latest signature that the slot has accepted, Unix seconds; older signatures are rejected.
    #[serde(default)]
    pub newest_signature: u64,
    /// Every remembered version, the oldest first.
    pub versions: Vec<VersionRecord>,
    /// Identifies the shared state that this state was made from or is equal to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
}

/// A version that gets copies or a share of the calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its id.
    pub version: VersionId,
    /// Its share of the calls, percent.
    pub weight: u8,
    /// It receives copies of calls and answers none.
    #[serde(default)]
    pub shadow: bool,
}

impl Candidate {
    pub(crate) fn new(version: VersionId, trial: Trial) -> Self {
        Self { version, weight: trial.percent(), shadow: trial == Trial::Shadow }
    }

    /// Returns how the version is tried; `None` if the weight is not a percentage.
    pub(crate) fn trial(&self) -> Option<Trial> {
        if self.shadow { Some(Trial::Shadow) } else { Weight::new(self.weight).map(Trial::Canary) }
    }
}

impl SlotState {
    /// Returns a version by its id.
    pub fn get(&self, id: &VersionId) -> Option<&VersionRecord> {
        self.versions.iter().find(|record| record.id == *id)
    }

    /// Returns the active version.
    pub fn active(&self) -> Option<&VersionRecord> {
        self.active.as_ref().and_then(|id| self.get(id))
    }

    /// Returns whichever of the answering versions was moved last: the version that the last change concerned.
    pub(crate) fn latest(&self) -> Option<&VersionRecord> {
        let candidate = self.candidate.as_ref().and_then(|candidate| self.get(&candidate.version));
        let moved = |record: &&VersionRecord| record.moves.last().map(|step| step.at.clone());
        // Timestamps of one format sort as text; of two equal ones the candidate's is the later move.
        self.active().into_iter().chain(candidate).max_by_key(moved)
    }

    /// Returns the latest version that `name` matches.
    pub fn find(&self, name: &str) -> Option<&VersionRecord> {
        self.versions.iter().rev().find(|record| record.matches_name(name))
    }

    /// Adds a version, or merges it into the record of the same version.
    pub fn receive(&mut self, record: VersionRecord) {
        match self.versions.iter().position(|known| known.id == record.id) {
            Some(known) => {
                let mut known = self.versions.remove(known);
                record.moves.iter().cloned().for_each(|step| known.step(step));
                let VersionRecord { source, signed_by, signed_at, configured, .. } = record;
                // A version that was signed once stays signed.
                let (signed_by, signed_at) = match signed_by {
                    Some(_) => (signed_by, signed_at),
                    None => (known.signed_by.clone(), known.signed_at),
                };
                self.versions.push(VersionRecord { source, signed_by, signed_at, configured, ..known });
            }
            None => self.versions.push(record),
        }
    }

    /// Moves a version to a stage now.
    pub fn step(&mut self, id: &VersionId, stage: Stage, actor: &str, reason: &str) {
        self.add_move(id, Move::now(stage, actor, reason));
    }

    /// Appends a move to a version.
    pub(crate) fn add_move(&mut self, id: &VersionId, step: Move) {
        if let Some(record) = self.versions.iter_mut().find(|record| record.id == *id) {
            record.step(step);
        }
    }

    /// Appends the version that answered until now to those that a rollback goes back to.
    pub(crate) fn push_previous(&mut self, active: Option<VersionId>) {
        self.previous.extend(active);
    }

    /// Records which versions answer from now on, in a new generation, and the moves that lead there.
    pub(crate) fn record_change(
        &mut self,
        active: &VersionId,
        candidate: Option<(&VersionId, Trial)>,
        actor: &str,
        reason: &str,
    ) {
        let before = self.clone();
        self.generation += 1;
        self.active = Some(active.clone());
        self.candidate = candidate.map(|(id, trial)| Candidate::new(id.clone(), trial));
        // A rollback does not go back to a version that answers.
        self.previous.retain(|id| id != active);
        let answered =
            [before.active.clone(), before.candidate.as_ref().map(|candidate| candidate.version.clone())];
        for id in answered.into_iter().flatten() {
            if !self.answers(&id) {
                self.step(&id, Stage::Draining, actor, reason);
            }
        }
        if before.active.as_ref() != Some(active) {
            self.step(active, Stage::Active, actor, reason);
        }
        if let Some((id, trial)) = candidate {
            let reason = match trial {
                Trial::Canary(weight) => format!("{} % of the calls: {reason}", weight.percent()),
                Trial::Shadow => format!("in shadow: {reason}"),
            };
            self.step(id, Stage::Candidate, actor, reason.trim_end_matches(": "));
        }
    }

    /// Retires versions whose last calls ended when the host stopped.
    pub(crate) fn retire_drains(&mut self) {
        for record in self.versions.iter_mut().filter(|record| record.stage() == Stage::Draining) {
            record.step(Move::now(Stage::Retired, HOST, "the host that had its last calls has stopped"));
        }
    }

    /// Retires versions that drain only on other hosts. `own` is the previous state of this host, `running` are the
    /// versions that answer on it.
    pub(crate) fn retire_remote_drains(&mut self, own: &Self, running: &[&VersionId]) {
        for record in self.versions.iter_mut().filter(|record| record.stage() == Stage::Draining) {
            let known = own.get(&record.id);
            let stage = known.map(VersionRecord::stage);
            if running.contains(&&record.id) || stage == Some(Stage::Draining) {
                continue;
            }
            let end = known.and_then(|known| known.moves.last()).filter(|last| last.stage == Stage::Retired);
            let end = end.cloned();
            record.step(
                end.unwrap_or_else(|| Move::now(Stage::Retired, HOST, "it has no running call on this host")),
            );
        }
    }

    /// Returns whether a component belongs to a version that answers.
    pub(crate) fn serves_component(&self, component: &str) -> bool {
        self.versions.iter().any(|record| record.component == component && self.answers(&record.id))
    }

    /// Returns the version that a rollback of the active one returns to.
    pub fn predecessor(&self) -> Option<&VersionRecord> {
        self.previous.last().and_then(|id| self.get(id))
    }

    /// Returns whether a version is active or the candidate.
    pub fn answers(&self, id: &VersionId) -> bool {
        self.active.as_ref() == Some(id)
            || self.candidate.as_ref().is_some_and(|candidate| candidate.version == *id)
    }

    /// Returns whether the same versions answer as in `other`, in the same generation. Automatic changes of a host
    /// that lags behind the shared state leave the generation unchanged.
    pub(crate) fn serves_same_as(&self, other: &Self) -> bool {
        let point = |state: &Self| (state.generation, state.active.clone(), state.candidate.clone());
        point(self) == point(other)
    }

    /// Returns whether a version answers calls: it is active, or a candidate that is not in shadow.
    pub(crate) fn is_serving(&self, id: &VersionId) -> bool {
        let candidate = self.candidate.as_ref().filter(|candidate| !candidate.shadow);
        self.active.as_ref() == Some(id) || candidate.is_some_and(|candidate| candidate.version == *id)
    }

    /// Returns an audit entry for every move that this state has and `before` does not have.
    pub(super) fn audit_entries(&self, slot: SlotId, before: &Self) -> Vec<AuditEntry> {
        let steps = self.versions.iter().flat_map(|record| {
            let known = before.get(&record.id).map_or(&[][..], |known| &known.moves);
            // Moves are only appended and the oldest ones dropped; moves of another host may lie in between.
            let new = record.moves.iter().filter(|step| !known.contains(step));
            new.map(|step| AuditEntry::new(slot, self.generation, record, step))
        });
        let mut entries: Vec<AuditEntry> = steps.collect();
        // Timestamps of one format sort as text.
        entries.sort_by(|one, other| one.at.cmp(&other.at));
        entries
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use bulkhead_runtime::compile::ComponentDigest;

    use super::*;
    use crate::tests::settings;

    pub(super) fn record(name: &str) -> VersionRecord {
        let mut record = VersionRecord::new(ComponentDigest::of(name.as_bytes()), 1, name, &settings());
        record.step(Move::now(Stage::Trialled, "ops", ""));
        record
    }

    pub(super) fn state(names: &[&str]) -> SlotState {
        let mut state = SlotState::default();
        names.iter().for_each(|name| state.receive(record(name)));
        state
    }

    pub(super) fn sources(state: &SlotState) -> Vec<&str> {
        state.versions.iter().map(|record| record.source.as_str()).collect()
    }

    #[test]
    fn versions_are_found_by_id_prefix() {
        let state = state(&["a", "b"]);
        let record = &state.versions[0];
        for name in
            [record.id.as_str(), &record.component, &record.component[7..15], &record.id.as_str()[..8]]
        {
            assert_eq!(state.find(name).map(|found| found.source.as_str()), Some("a"), "{name}");
        }
        for name in ["", "sha256:", &record.id.as_str()[..7], "ffffffffffffffff"] {
            assert_eq!(state.find(name), None, "{name}");
        }
    }

    #[test]
    fn latest_is_the_last_moved_version() {
        let mut state = state(&["a", "b"]);
        assert_eq!(state.latest(), None);
        let [a, b] = [0, 1].map(|at| state.versions[at].id.clone());
        let step = |stage, at: &str| Move { at: at.to_owned(), ..Move::now(stage, "ops", "") };
        (state.active, state.candidate) =
            (Some(a.clone()), Some(Candidate { version: b.clone(), weight: 5, shadow: false }));
        state.add_move(&a, step(Stage::Active, "9999-01-01T00:00:00.000Z"));
        for (id, stage, at, latest) in [
            (&b, Stage::Candidate, "9999-01-01T00:00:00.000Z", &b),
            (&a, Stage::Active, "9999-01-02T00:00:00.000Z", &a),
            (&b, Stage::Candidate, "9999-01-03T00:00:00.000Z", &b),
        ] {
            state.add_move(id, step(stage, at));
            assert_eq!(state.latest().map(|record| &record.id), Some(latest), "{at}");
        }
        state.candidate = None;
        assert_eq!(state.latest().map(|record| &record.id), Some(&a));
    }

    #[test]
    fn drains_of_a_stopped_host_are_retired() {
        let mut state = state(&["a", "b"]);
        let id = state.versions[0].id.clone();
        state.step(&id, Stage::Draining, "ops", "swap");
        state.retire_drains();
        let stages: Vec<_> = state.versions.iter().map(VersionRecord::stage).collect();
        assert_eq!(stages, [Stage::Retired, Stage::Trialled]);
    }

    #[test]
    fn repeated_push_extends_the_moves() {
        let mut state = state(&["a", "b"]);
        state.receive(record("a"));
        assert_eq!(sources(&state), ["b", "a"]);
        assert_eq!(state.versions[1].moves.len(), 2);
    }

    #[test]
    fn every_new_move_is_an_audit_entry() {
        let before = state(&["a"]);
        let mut after = before.clone();
        after.generation = 1;
        after.step(&before.versions[0].id, Stage::Active, "ops", "swap");
        after.receive(record("b"));
        let entries = after.audit_entries(SlotId::new("captcha"), &before);
        let lines: Vec<_> = entries.iter().map(|entry| (entry.stage, entry.generation)).collect();
        assert_eq!(lines, [(Stage::Active, 1), (Stage::Trialled, 1)]);
        assert_eq!(after.audit_entries(SlotId::new("captcha"), &after).len(), 0);
    }

    #[test]
    fn remote_drains_are_retired() {
        let mut own = state(&["here", "ended", "drains", "elsewhere"]);
        let ids: Vec<VersionId> = own.versions.iter().map(|record| record.id.clone()).collect();
        let mut shared = own.clone();
        ids.iter().for_each(|id| shared.step(id, Stage::Draining, "ops", "swap"));
        own.step(&ids[1], Stage::Retired, HOST, "ended here");
        own.step(&ids[2], Stage::Draining, "ops", "swap");
        shared.retire_remote_drains(&own, &[&ids[0]]);
        let stages: Vec<_> = shared.versions.iter().map(VersionRecord::stage).collect();
        assert_eq!(stages, [Stage::Draining, Stage::Retired, Stage::Draining, Stage::Retired]);
        assert_eq!(shared.versions[1].moves.last().unwrap().reason, "ended here");
    }

    #[test]
    fn moves_of_other_hosts_are_logged_once() {
        let mut own = state(&["a"]);
        let id = own.versions[0].id.clone();
        let mut shared = own.clone();
        own.step(&id, Stage::Retired, HOST, "here");
        shared.step(&id, Stage::Active, "ops", "there");
        let stages: Vec<_> =
            shared.audit_entries(SlotId::new("captcha"), &own).into_iter().map(|entry| entry.stage).collect();
        assert_eq!(stages, [Stage::Active]);
    }

    /// A later version of the host reads what an earlier one has written.
    #[test]
    fn state_round_trips_as_json() {
        let mut state = state(&["a"]);
        state.active = Some(state.versions[0].id.clone());
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<SlotState>(&text).unwrap(), state);
    }
}
