//! Retention of a slot's versions: which are remembered, and for how long.

use std::time::{Duration, SystemTime};

use bulkhead_telemetry::timestamp::rfc3339_millis;

use super::{SlotState, Stage, VersionId, VersionRecord};

/// Number of refused versions that are remembered.
const REFUSED: usize = 10;
/// Longer than any push takes. A push that has not ended by then was interrupted when its host stopped, which other
/// hosts cannot know.
const LONGEST_PUSH: Duration = Duration::from_hours(24);

/// Why a version that does not answer is remembered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RetentionClass {
    /// A rollback or swap can return to it.
    History,
    /// The same component answers or is in the history under other settings.
    Settings,
    /// It was refused, or its trial was interrupted when the host stopped.
    Refused,
    /// Its trial is running; permits limit how many there are.
    Running,
}

impl SlotState {
    /// Drops the oldest versions, but neither one that answers nor the newest, which has just arrived. Of the
    /// others it keeps the last `history` components that a rollback or swap can return to. The same component
    /// under other settings, and refused versions, have limits of their own. A version whose trial is running
    /// stays.
    pub fn trim(&mut self, history: usize) {
        let now = SystemTime::now();
        let cut_off = rfc3339_millis(now.checked_sub(LONGEST_PUSH).unwrap_or(now));
        self.trim_predecessors(history);
        for (class, most) in [
            (RetentionClass::History, history),
            (RetentionClass::Settings, history),
            (RetentionClass::Refused, REFUSED),
        ] {
            let gone = self.surplus(class, most, &cut_off);
            let newest = self.versions.last().map(|record| record.id.clone());
            let (active, candidate) = (self.active.clone(), self.candidate.clone());
            let stays = |id: &VersionId| {
                let tried = candidate.as_ref().map(|candidate| &candidate.version);
                active.as_ref() == Some(id) || tried == Some(id) || newest.as_ref() == Some(id)
            };
            self.versions.retain(|record| {
                // A component leaves the history with all its settings.
                let is_gone = match class {
                    RetentionClass::History => {
                        record.is_tried() && gone.iter().any(|gone| gone.component == record.component)
                    }
                    RetentionClass::Settings | RetentionClass::Refused | RetentionClass::Running => {
                        gone.iter().any(|gone| gone.id == record.id)
                    }
                };
                !is_gone || stays(&record.id)
            });
        }
        let known = &self.versions;
        self.previous.retain(|id| known.iter().any(|record| record.id == *id));
    }

    /// Returns the versions of a class in excess of `most`: the oldest first, those that a rollback may need last.
    fn surplus(&self, class: RetentionClass, most: usize, cut_off: &str) -> Vec<VersionRecord> {
        let newest = self.versions.last().map(|record| &record.id);
        let spare = |record: &&VersionRecord| {
            let is_spare = class == RetentionClass::Refused || newest != Some(&record.id);
            is_spare && !self.answers(&record.id) && self.retention_class(record, cut_off) == class
        };
        let spare: Vec<&VersionRecord> = self.versions.iter().filter(spare).collect();
        let needed: Vec<&VersionRecord> = self.previous.iter().filter_map(|id| self.get(id)).collect();
        let is_needed = |record: &&VersionRecord| {
            needed.iter().any(|known| match class {
                RetentionClass::History => known.component == record.component,
                RetentionClass::Settings | RetentionClass::Refused | RetentionClass::Running => {
                    known.id == record.id
                }
            })
        };
        let surplus = spare.len().saturating_sub(most);
        let (needed, others): (Vec<&VersionRecord>, Vec<&VersionRecord>) =
            spare.into_iter().partition(is_needed);
        others.into_iter().chain(needed).take(surplus).cloned().collect()
    }

    /// Returns why a version that does not answer is remembered. A trial that started before `cut_off` and has not
    /// ended was interrupted.
    fn retention_class(&self, record: &VersionRecord, cut_off: &str) -> RetentionClass {
        let is_same = |other: &&VersionRecord| other.component == record.component && other.is_tried();
        let last = self.versions.iter().rev().find(is_same);
        let answers = self.versions.iter().filter(is_same).any(|other| self.answers(&other.id));
        // Timestamps of one format sort as text.
        let is_cut_off = record.moves.last().is_none_or(|last| last.at.as_str() < cut_off);
        match (record.is_tried(), last) {
            (true, Some(last)) if last.id == record.id && !answers => RetentionClass::History,
            (true, _) => RetentionClass::Settings,
            (false, _) if record.stage() == Stage::Refused || is_cut_off => RetentionClass::Refused,
            (false, _) => RetentionClass::Running,
        }
    }

    /// Drops the earliest versions that a rollback could return to: keeps the last `history` components, and as
    /// many versions of the same components under other settings.
    fn trim_predecessors(&mut self, history: usize) {
        let component = |id: &VersionId| self.get(id).map(|record| record.component.clone());
        let line: Vec<_> = self.previous.iter().chain(&self.active).map(component).collect();
        // A version that a later version of the same component follows differs from it by its settings only.
        let repeats =
            line.iter().enumerate().map(|(at, own)| line.iter().skip(at + 1).any(|later| later == own));
        let line: Vec<(VersionId, bool)> = self.previous.iter().cloned().zip(repeats).collect();
        let components: Vec<usize> =
            (0..).zip(&line).filter(|(_, (_, repeats))| !repeats).map(|(at, _)| at).collect();
        let surplus = components.len().saturating_sub(history);
        let begin = surplus.checked_sub(1).and_then(|last| components.get(last)).map_or(0, |last| last + 1);
        let rest = line.get(begin..).unwrap_or_default();
        let mut surplus = rest.iter().filter(|(_, repeats)| *repeats).count().saturating_sub(history);
        let stays = |(id, repeats): &(VersionId, bool)| {
            let goes = *repeats && surplus > 0;
            surplus -= usize::from(goes);
            (!goes).then(|| id.clone())
        };
        self.previous = rest.iter().filter_map(stays).collect();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use bulkhead_runtime::compile::ComponentDigest;

    use super::{
        super::{
            Candidate, Move,
            tests::{record, sources, state},
        },
        *,
    };
    use crate::{HOST, tests::settings};

    #[test]
    fn trim_keeps_answering_and_previous_versions() {
        let mut state = state(&["active", "candidate", "before", "x", "y"]);
        let id = |state: &SlotState, at: usize| state.versions[at].id.clone();
        state.active = Some(id(&state, 0));
        state.candidate = Some(Candidate { version: id(&state, 1), weight: 5, shadow: false });
        state.previous = vec![id(&state, 2)];
        state.trim(2);
        assert_eq!(sources(&state), ["active", "candidate", "before", "x", "y"]);
        state.trim(1);
        assert_eq!(sources(&state), ["active", "candidate", "before", "y"]);
        state.trim(0);
        assert_eq!(sources(&state), ["active", "candidate", "y"], "the newest has just come");
        assert!(state.previous.is_empty());
    }

    fn refused(name: &str) -> VersionRecord {
        let mut record = record(name);
        record.step(Move::now(Stage::Refused, "ops", "no"));
        record
    }

    /// Returns the component of this name under other settings.
    fn under(name: &str, cpu_ms: u64) -> VersionRecord {
        let mut settings = settings();
        settings.limits.cpu_ms = cpu_ms;
        let mut record = VersionRecord::new(
            ComponentDigest::of(name.as_bytes()),
            1,
            &format!("{name}{cpu_ms}"),
            &settings,
        );
        record.step(Move::now(Stage::Trialled, HOST, ""));
        record
    }

    #[test]
    fn refused_pushes_displace_no_version() {
        let mut state = state(&["active", "good"]);
        state.active = Some(state.versions[0].id.clone());
        for at in 0..30 {
            state.receive(refused(&format!("bad{at}")));
            state.trim(1);
        }
        let sources = sources(&state);
        assert_eq!(sources[..2], ["active", "good"]);
        assert_eq!(sources.len(), 2 + REFUSED, "{sources:?}");
        assert_eq!(sources.last(), Some(&"bad29"), "the oldest of them are forgotten");
    }

    #[test]
    fn refused_pushes_displace_no_running_push() {
        let mut state = state(&["active"]);
        state.active = Some(state.versions[0].id.clone());
        let received = |name: &str, at: &str| {
            let mut record =
                VersionRecord::new(ComponentDigest::of(name.as_bytes()), 1, name, &crate::tests::settings());
            record.step(Move { at: at.to_owned(), ..Move::now(Stage::Received, "ops", "") });
            record
        };
        let now = rfc3339_millis(SystemTime::now());
        state.receive(received("left by a crash", "2020-01-01T00:00:00.000Z"));
        state.receive(received("running", &now));
        for at in 0..30 {
            let name = format!("bad{at}");
            state.receive(received(&name, &now));
            state.trim(1);
            let id = state.versions.last().unwrap().id.clone();
            state.step(&id, Stage::Refused, "ops", "no");
            state.trim(1);
        }
        let sources = sources(&state);
        assert_eq!(sources[..3], ["active", "running", "bad20"], "{sources:?}");
        assert_eq!(sources.len(), 2 + REFUSED, "{sources:?}");
    }

    /// Repeated reloads of one version keep what a rollback returns to before it.
    #[test]
    fn reloads_of_settings_displace_no_component() {
        let mut state = state(&["a", "b"]);
        (state.previous, state.active) =
            (vec![state.versions[0].id.clone()], Some(state.versions[1].id.clone()));
        for at in 1..30 {
            let record = under("b", at);
            state.previous.extend(state.active.replace(record.id.clone()));
            state.receive(record);
            state.trim(2);
        }
        assert_eq!(sources(&state), ["a", "b27", "b28", "b29"]);
        let before: Vec<&str> =
            state.previous.iter().map(|id| state.get(id).unwrap().source.as_str()).collect();
        assert_eq!(before, ["a", "b27", "b28"]);
    }

    #[test]
    fn component_leaves_with_all_its_settings() {
        let mut state = state(&["active", "a"]);
        state.active = Some(state.versions[0].id.clone());
        [under("a", 1), under("a", 2), record("b"), record("c")]
            .into_iter()
            .for_each(|one| state.receive(one));
        state.trim(2);
        assert_eq!(sources(&state), ["active", "a", "a1", "a2", "b", "c"], "two settings of one component");
        state.trim(1);
        assert_eq!(sources(&state), ["active", "b", "c"]);
    }

    #[test]
    fn other_settings_of_active_displace_no_component() {
        let mut state = state(&["x", "a"]);
        state.receive(under("a", 1));
        state.active = Some(state.versions[1].id.clone());
        state.receive(record("newest"));
        state.trim(1);
        assert_eq!(sources(&state), ["x", "a", "a1", "newest"]);
    }
}
