//! What is remembered of a slot's versions, and for how long.

use super::{Book, Record, VersionId};

/// Versions that are remembered without having passed their trial.
const UNTRIED: usize = 10;

/// What a version that does not answer is remembered for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It can be gone back to.
    History,
    /// The same component answers, or can be gone back to, under other settings.
    Settings,
    /// It was refused, or is still being tried.
    Untried,
}

impl Book {
    /// Forgets the oldest versions, but never one that answers, and not the newest of all, which has just come. Of the
    /// rest the last `history` components stay that can be gone back to. The same component under other settings and
    /// versions that have not passed their trial take no place among those and have bounds of their own.
    pub fn trim(&mut self, history: usize) {
        self.trim_predecessors(history);
        for (place, most) in
            [(Place::History, history), (Place::Settings, history), (Place::Untried, UNTRIED)]
        {
            let gone = self.surplus(place, most);
            let newest = self.versions.last().map(|record| record.id.clone());
            let (active, candidate) = (self.active.clone(), self.candidate.clone());
            let stays = |id: &VersionId| {
                let tried = candidate.as_ref().map(|candidate| &candidate.version);
                active.as_ref() == Some(id) || tried == Some(id) || newest.as_ref() == Some(id)
            };
            self.versions.retain(|record| {
                // A component leaves the history with all its settings.
                let is_gone = match place {
                    Place::History => {
                        record.is_tried() && gone.iter().any(|gone| gone.component == record.component)
                    }
                    Place::Settings | Place::Untried => gone.iter().any(|gone| gone.id == record.id),
                };
                !is_gone || stays(&record.id)
            });
        }
        let known = &self.versions;
        self.before.retain(|id| known.iter().any(|record| record.id == *id));
    }

    /// The versions of a place that are more than `most`: the oldest first, those that a rollback may want last.
    fn surplus(&self, place: Place, most: usize) -> Vec<Record> {
        let newest = self.versions.last().map(|record| &record.id);
        let spare = |record: &&Record| {
            !self.answers(&record.id) && newest != Some(&record.id) && self.place(record) == place
        };
        let spare: Vec<&Record> = self.versions.iter().filter(spare).collect();
        let needed: Vec<&Record> = self.before.iter().filter_map(|id| self.get(id)).collect();
        let is_needed = |record: &&Record| {
            needed.iter().any(|known| match place {
                Place::History => known.component == record.component,
                Place::Settings | Place::Untried => known.id == record.id,
            })
        };
        let surplus = spare.len().saturating_sub(most);
        let (needed, others): (Vec<&Record>, Vec<&Record>) = spare.into_iter().partition(is_needed);
        others.into_iter().chain(needed).take(surplus).cloned().collect()
    }

    /// What a version that does not answer is remembered for.
    fn place(&self, record: &Record) -> Place {
        let is_same = |other: &&Record| other.component == record.component && other.is_tried();
        let last = self.versions.iter().rev().find(is_same);
        let answers = self.versions.iter().filter(is_same).any(|other| self.answers(&other.id));
        match last {
            _ if !record.is_tried() => Place::Untried,
            Some(last) if last.id == record.id && !answers => Place::History,
            _ => Place::Settings,
        }
    }

    /// Forgets the first versions that a rollback could go back to: all but the last `history` components, and of
    /// the same components under other settings all but as many.
    fn trim_predecessors(&mut self, history: usize) {
        let component = |id: &VersionId| self.get(id).map(|record| record.component.clone());
        let line: Vec<_> = self.before.iter().chain(&self.active).map(component).collect();
        // What the same component follows differs from that by its settings only.
        let repeats =
            line.iter().enumerate().map(|(at, own)| line.iter().skip(at + 1).any(|later| later == own));
        let line: Vec<(VersionId, bool)> = self.before.iter().cloned().zip(repeats).collect();
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
        self.before = rest.iter().filter_map(stays).collect();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::{
        super::{
            Candidate, Move, Stage,
            tests::{book, record, sources},
        },
        *,
    };
    use crate::{
        compile::ComponentDigest,
        deploy::{HOST, tests::settings},
    };

    #[test]
    fn what_answers_is_never_forgotten_and_what_a_rollback_wants_last() {
        let mut book = book(&["active", "candidate", "before", "x", "y"]);
        let id = |book: &Book, at: usize| book.versions[at].id.clone();
        book.active = Some(id(&book, 0));
        book.candidate = Some(Candidate { version: id(&book, 1), weight: 5, shadow: false });
        book.before = vec![id(&book, 2)];
        book.trim(2);
        assert_eq!(sources(&book), ["active", "candidate", "before", "x", "y"]);
        book.trim(1);
        assert_eq!(sources(&book), ["active", "candidate", "before", "y"]);
        book.trim(0);
        assert_eq!(sources(&book), ["active", "candidate", "y"], "the newest has just come");
        assert!(book.before.is_empty());
    }

    fn refused(name: &str) -> Record {
        let mut record = record(name);
        record.step(Move::now(Stage::Refused, "ops", "no"));
        record
    }

    /// The component of this name under other settings.
    fn under(name: &str, cpu_ms: u64) -> Record {
        let mut settings = settings();
        settings.limits.cpu_ms = cpu_ms;
        let mut record =
            Record::new(ComponentDigest::of(name.as_bytes()), 1, &format!("{name}{cpu_ms}"), &settings);
        record.step(Move::now(Stage::Trialled, HOST, ""));
        record
    }

    #[test]
    fn refused_pushes_displace_no_version() {
        let mut book = book(&["active", "good"]);
        book.active = Some(book.versions[0].id.clone());
        for at in 0..30 {
            book.receive(refused(&format!("bad{at}")));
            book.trim(1);
        }
        let sources = sources(&book);
        assert_eq!(sources[..2], ["active", "good"]);
        assert_eq!(sources.len(), 2 + UNTRIED + 1, "{sources:?}");
        assert_eq!(sources.last(), Some(&"bad29"), "the oldest of them are forgotten");
    }

    /// A version is reloaded again and again: what a rollback goes back to beyond it stays.
    #[test]
    fn reloads_of_settings_displace_no_component() {
        let mut book = book(&["a", "b"]);
        (book.before, book.active) = (vec![book.versions[0].id.clone()], Some(book.versions[1].id.clone()));
        for at in 1..30 {
            let record = under("b", at);
            book.before.extend(book.active.replace(record.id.clone()));
            book.receive(record);
            book.trim(2);
        }
        assert_eq!(sources(&book), ["a", "b27", "b28", "b29"]);
        let before: Vec<&str> = book.before.iter().map(|id| book.get(id).unwrap().source.as_str()).collect();
        assert_eq!(before, ["a", "b27", "b28"]);
    }

    #[test]
    fn a_component_leaves_with_all_its_settings() {
        let mut book = book(&["active", "a"]);
        book.active = Some(book.versions[0].id.clone());
        [under("a", 1), under("a", 2), record("b"), record("c")]
            .into_iter()
            .for_each(|one| book.receive(one));
        book.trim(2);
        assert_eq!(sources(&book), ["active", "a", "a1", "a2", "b", "c"], "two settings of one component");
        book.trim(1);
        assert_eq!(sources(&book), ["active", "b", "c"]);
    }

    #[test]
    fn a_component_that_answers_takes_no_place_under_other_settings() {
        let mut book = book(&["x", "a"]);
        book.receive(under("a", 1));
        book.active = Some(book.versions[1].id.clone());
        book.receive(record("newest"));
        book.trim(1);
        assert_eq!(sources(&book), ["x", "a", "a1", "newest"]);
    }
}
