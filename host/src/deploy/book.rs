mod trim;

use serde::{Deserialize, Serialize};

use super::{HOST, Move, Record, Stage, VersionId, audit::Entry};
use crate::{
    config::slots::SlotId,
    slots::{Trial, Weight},
};

/// Which versions of a slot answer, and which did: everything that a host needs to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// Grows with every change of what answers; whoever changes it says which one they saw.
    pub generation: u64,
    /// Grows with every change of the book.
    pub edition: u64,
    /// The version that answers.
    pub active: Option<VersionId>,
    /// The version that is tried.
    pub candidate: Option<Candidate>,
    /// Those that a rollback goes back to, the next one last.
    pub before: Vec<VersionId>,
    /// The latest date of a signature that the slot has taken, Unix seconds: older ones are no news.
    #[serde(default)]
    pub newest_signature: u64,
    /// Every version that is remembered, the oldest first.
    pub versions: Vec<Record>,
    /// Names the state that hosts share which this one was made from, or is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
}

/// A version under trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Which one.
    pub version: VersionId,
    /// Its share of the calls, percent.
    pub weight: u8,
    /// It answers none and gets copies of them.
    #[serde(default)]
    pub shadow: bool,
}

impl Candidate {
    pub(super) fn new(version: VersionId, trial: Trial) -> Self {
        Self { version, weight: trial.percent(), shadow: trial == Trial::Shadow }
    }

    /// How it is tried; none where its weight is no percentage.
    pub(super) fn trial(&self) -> Option<Trial> {
        if self.shadow { Some(Trial::Shadow) } else { Weight::new(self.weight).map(Trial::Canary) }
    }
}

impl Book {
    /// A version by its id.
    pub fn get(&self, id: &VersionId) -> Option<&Record> {
        self.versions.iter().find(|record| record.id == *id)
    }

    /// The version that answers.
    pub fn active(&self) -> Option<&Record> {
        self.active.as_ref().and_then(|id| self.get(id))
    }

    /// Of the versions that answer the one that was moved last: what the last change was about.
    pub(super) fn latest(&self) -> Option<&Record> {
        let candidate = self.candidate.as_ref().and_then(|candidate| self.get(&candidate.version));
        let moved = |record: &&Record| record.moves.last().map(|step| step.at.clone());
        // Times of one form sort as text; of two that came at once the candidate is tried beside the other.
        self.active().into_iter().chain(candidate).max_by_key(moved)
    }

    /// The latest version that goes by `name`.
    pub fn find(&self, name: &str) -> Option<&Record> {
        self.versions.iter().rev().find(|record| record.is_called(name))
    }

    /// Adds a version, or takes up again one that is known.
    pub fn receive(&mut self, record: Record) {
        match self.versions.iter().position(|known| known.id == record.id) {
            Some(known) => {
                let mut known = self.versions.remove(known);
                record.moves.iter().cloned().for_each(|step| known.step(step));
                let Record { source, signed_by, signed_at, configured, .. } = record;
                // What it has been signed with once it is signed with still.
                let (signed_by, signed_at) = match signed_by {
                    Some(_) => (signed_by, signed_at),
                    None => (known.signed_by.clone(), known.signed_at),
                };
                self.versions.push(Record { source, signed_by, signed_at, configured, ..known });
            }
            None => self.versions.push(record),
        }
    }

    /// Moves a version.
    pub fn step(&mut self, id: &VersionId, stage: Stage, actor: &str, reason: &str) {
        self.add(id, Move::now(stage, actor, reason));
    }

    /// Adds a step of a version.
    pub(super) fn add(&mut self, id: &VersionId, step: Move) {
        if let Some(record) = self.versions.iter_mut().find(|record| record.id == *id) {
            record.step(step);
        }
    }

    /// Retires the versions whose last calls ended with the host that had them.
    pub(super) fn end_drains(&mut self) {
        for record in self.versions.iter_mut().filter(|record| record.stage() == Stage::Draining) {
            record.step(Move::now(Stage::Retired, HOST, "the host that had its last calls has ended"));
        }
    }

    /// Retires what drains elsewhere only. `own` is what this host had, `running` what answers on it.
    pub(super) fn end_elsewhere(&mut self, own: &Self, running: &[&VersionId]) {
        for record in self.versions.iter_mut().filter(|record| record.stage() == Stage::Draining) {
            let known = own.get(&record.id);
            let stage = known.map(Record::stage);
            if running.contains(&&record.id) || stage == Some(Stage::Draining) {
                continue;
            }
            let end = known.and_then(|known| known.moves.last()).filter(|last| last.stage == Stage::Retired);
            let end = end.cloned();
            record.step(
                end.unwrap_or_else(|| Move::now(Stage::Retired, HOST, "no call of it runs on this host")),
            );
        }
    }

    /// Whether a component belongs to a version that answers.
    pub(super) fn is_wanted(&self, component: &str) -> bool {
        self.versions.iter().any(|record| record.component == component && self.answers(&record.id))
    }

    /// The version that a rollback of the active one goes back to.
    pub fn predecessor(&self) -> Option<&Record> {
        self.before.last().and_then(|id| self.get(id))
    }

    /// Whether a version is active or the candidate.
    pub fn answers(&self, id: &VersionId) -> bool {
        self.active.as_ref() == Some(id)
            || self.candidate.as_ref().is_some_and(|candidate| candidate.version == *id)
    }

    /// Whether the same versions answer as by `other`, in the same generation. What a host that is not where all should
    /// be changes by itself leaves the generation.
    pub(super) fn answers_as(&self, other: &Self) -> bool {
        let point = |book: &Self| (book.generation, book.active.clone(), book.candidate.clone());
        point(self) == point(other)
    }

    /// Whether calls are answered by a version: it is active, or a candidate that is not in shadow.
    pub(super) fn is_serving(&self, id: &VersionId) -> bool {
        let candidate = self.candidate.as_ref().filter(|candidate| !candidate.shadow);
        self.active.as_ref() == Some(id) || candidate.is_some_and(|candidate| candidate.version == *id)
    }

    /// The audit log's lines of every step that this book has and `before` has not.
    pub(super) fn entries(&self, slot: SlotId, before: &Self) -> Vec<Entry> {
        let steps = self.versions.iter().flat_map(|record| {
            let known = before.get(&record.id).map_or(&[][..], |known| &known.moves);
            // Steps are only added, and the oldest forgotten; another host's may have come between.
            let new = record.moves.iter().filter(|step| !known.contains(step));
            new.map(|step| Entry::new(slot, self.generation, record, step))
        });
        let mut entries: Vec<Entry> = steps.collect();
        // Times of one form sort as text.
        entries.sort_by(|one, other| one.at.cmp(&other.at));
        entries
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use crate::{compile::ComponentDigest, deploy::tests::settings};

    pub(super) fn record(name: &str) -> Record {
        let mut record = Record::new(ComponentDigest::of(name.as_bytes()), 1, name, &settings());
        record.step(Move::now(Stage::Trialled, "ops", ""));
        record
    }

    pub(super) fn book(names: &[&str]) -> Book {
        let mut book = Book::default();
        names.iter().for_each(|name| book.receive(record(name)));
        book
    }

    pub(super) fn sources(book: &Book) -> Vec<&str> {
        book.versions.iter().map(|record| record.source.as_str()).collect()
    }

    #[test]
    fn versions_are_found_by_the_first_digits_of_id_and_component() {
        let book = book(&["a", "b"]);
        let record = &book.versions[0];
        for name in
            [record.id.as_str(), &record.component, &record.component[7..15], &record.id.as_str()[..8]]
        {
            assert_eq!(book.find(name).map(|found| found.source.as_str()), Some("a"), "{name}");
        }
        for name in ["", "sha256:", &record.id.as_str()[..7], "ffffffffffffffff"] {
            assert_eq!(book.find(name), None, "{name}");
        }
    }

    #[test]
    fn last_change_is_about_the_version_that_was_moved_last() {
        let mut book = book(&["a", "b"]);
        assert_eq!(book.latest(), None);
        let [a, b] = [0, 1].map(|at| book.versions[at].id.clone());
        let step = |stage, at: &str| Move { at: at.to_owned(), ..Move::now(stage, "ops", "") };
        (book.active, book.candidate) =
            (Some(a.clone()), Some(Candidate { version: b.clone(), weight: 5, shadow: false }));
        book.add(&a, step(Stage::Active, "9999-01-01T00:00:00.000Z"));
        for (id, stage, at, latest) in [
            (&b, Stage::Candidate, "9999-01-01T00:00:00.000Z", &b),
            (&a, Stage::Active, "9999-01-02T00:00:00.000Z", &a),
            (&b, Stage::Candidate, "9999-01-03T00:00:00.000Z", &b),
        ] {
            book.add(id, step(stage, at));
            assert_eq!(book.latest().map(|record| &record.id), Some(latest), "{at}");
        }
        book.candidate = None;
        assert_eq!(book.latest().map(|record| &record.id), Some(&a));
    }

    #[test]
    fn what_was_draining_when_the_host_ended_is_retired() {
        let mut book = book(&["a", "b"]);
        let id = book.versions[0].id.clone();
        book.step(&id, Stage::Draining, "ops", "swap");
        book.end_drains();
        let stages: Vec<_> = book.versions.iter().map(Record::stage).collect();
        assert_eq!(stages, [Stage::Retired, Stage::Trialled]);
    }

    #[test]
    fn a_component_that_comes_again_goes_on_with_its_steps() {
        let mut book = book(&["a", "b"]);
        book.receive(record("a"));
        assert_eq!(sources(&book), ["b", "a"]);
        assert_eq!(book.versions[1].moves.len(), 2);
    }

    #[test]
    fn every_new_step_is_a_line_of_the_audit_log() {
        let before = book(&["a"]);
        let mut after = before.clone();
        after.generation = 1;
        after.step(&before.versions[0].id, Stage::Active, "ops", "swap");
        after.receive(record("b"));
        let entries = after.entries(SlotId::new("captcha"), &before);
        let lines: Vec<_> = entries.iter().map(|entry| (entry.stage, entry.generation)).collect();
        assert_eq!(lines, [(Stage::Active, 1), (Stage::Trialled, 1)]);
        assert_eq!(after.entries(SlotId::new("captcha"), &after).len(), 0);
    }

    #[test]
    fn what_drains_elsewhere_has_ended_here() {
        let mut own = book(&["here", "ended", "drains", "elsewhere"]);
        let ids: Vec<VersionId> = own.versions.iter().map(|record| record.id.clone()).collect();
        let mut shared = own.clone();
        ids.iter().for_each(|id| shared.step(id, Stage::Draining, "ops", "swap"));
        own.step(&ids[1], Stage::Retired, HOST, "ended here");
        own.step(&ids[2], Stage::Draining, "ops", "swap");
        shared.end_elsewhere(&own, &[&ids[0]]);
        let stages: Vec<_> = shared.versions.iter().map(Record::stage).collect();
        assert_eq!(stages, [Stage::Draining, Stage::Retired, Stage::Draining, Stage::Retired]);
        assert_eq!(shared.versions[1].moves.last().unwrap().reason, "ended here");
    }

    #[test]
    fn a_step_of_another_host_costs_no_line_and_makes_none_twice() {
        let mut own = book(&["a"]);
        let id = own.versions[0].id.clone();
        let mut shared = own.clone();
        own.step(&id, Stage::Retired, HOST, "here");
        shared.step(&id, Stage::Active, "ops", "there");
        let stages: Vec<_> =
            shared.entries(SlotId::new("captcha"), &own).into_iter().map(|entry| entry.stage).collect();
        assert_eq!(stages, [Stage::Active]);
    }

    /// What one host writes, a later one reads.
    #[test]
    fn it_is_kept_as_json() {
        let mut book = book(&["a"]);
        book.active = Some(book.versions[0].id.clone());
        let text = serde_json::to_string(&book).unwrap();
        assert_eq!(serde_json::from_str::<Book>(&text).unwrap(), book);
    }
}
