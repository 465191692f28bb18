//! What is remembered of a slot's versions, and for how long.

use std::time::{Duration, SystemTime};

use super::{Book, Record, Stage, VersionId};
use crate::telemetry::timestamp::rfc3339_millis;

/// Refused versions that are remembered.
const REFUSED: usize = 10;
/// Longer than any push. One that has not ended by then was cut off with its host, of which no other host learns.
const LONGEST_PUSH: Duration = Duration::from_hours(24);

/// What a version that does not answer is remembered for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It can be gone back to.
    History,
    /// The same component answers, or can be gone back to, under other settings.
    Settings,
    /// It was refused, or its trial was cut off with the host.
    Refused,
    /// It is being tried: permits bound how many are.
    Running,
}

impl Book {
    /// Forgets the oldest versions, but never one that answers, and not the newest of all, which has just come. Of the
    /// rest the last `history` components stay that can be gone back to. The same component under other settings and
    /// refused versions take no place among those and have bounds of their own. A version whose trial runs stays.
    pub fn trim(&mut self, history: usize) {
        let now = SystemTime::now();
        let cut_off = rfc3339_millis(now.checked_sub(LONGEST_PUSH).unwrap_or(now));
        self.trim_predecessors(history);
        for (place, most) in
            [(Place::History, history), (Place::Settings, history), (Place::Refused, REFUSED)]
        {
            let gone = self.surplus(place, most, &cut_off);
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
                    Place::Settings | Place::Refused | Place::Running => {
                        gone.iter().any(|gone| gone.id == record.id)
                    }
                };
                !is_gone || stays(&record.id)
            });
        }
        let known = &self.versions;
        self.before.retain(|id| known.iter().any(|record| record.id == *id));
    }

    /// The versions of a place that are more than `most`: the oldest first, those that a rollback may want last.
    fn surplus(&self, place: Place, most: usize, cut_off: &str) -> Vec<Record> {
        let newest = self.versions.last().map(|record| &record.id);
        let spare = |record: &&Record| {
            let is_spare = place == Place::Refused || newest != Some(&record.id);
            is_spare && !self.answers(&record.id) && self.place(record, cut_off) == place
        };
        let spare: Vec<&Record> = self.versions.iter().filter(spare).collect();
        let needed: Vec<&Record> = self.before.iter().filter_map(|id| self.get(id)).collect();
        let is_needed = |record: &&Record| {
            needed.iter().any(|known| match place {
                Place::History => known.component == record.component,
                Place::Settings | Place::Refused | Place::Running => known.id == record.id,
            })
        };
        let surplus = spare.len().saturating_sub(most);
        let (needed, others): (Vec<&Record>, Vec<&Record>) = spare.into_iter().partition(is_needed);
        others.into_iter().chain(needed).take(surplus).cloned().collect()
    }

    /// What a version that does not answer is remembered for. A trial that was under way at `cut_off`, and has not ended,
    /// never will.
    fn place(&self, record: &Record, cut_off: &str) -> Place {
        let is_same = |other: &&Record| other.component == record.component && other.is_tried();
        let last = self.versions.iter().rev().find(is_same);
        let answers = self.versions.iter().filter(is_same).any(|other| self.answers(&other.id));
        // Times of one form sort as text.
        let is_cut_off = record.moves.last().is_none_or(|last| last.at.as_str() < cut_off);
        match (record.is_tried(), last) {
            (true, Some(last)) if last.id == record.id && !answers => Place::History,
            (true, _) => Place::Settings,
            (false, _) if record.stage() == Stage::Refused || is_cut_off => Place::Refused,
            (false, _) => Place::Running,
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
            Candidate, Move,
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
        assert_eq!(sources.len(), 2 + REFUSED, "{sources:?}");
        assert_eq!(sources.last(), Some(&"bad29"), "the oldest of them are forgotten");
    }

    #[test]
    fn refused_pushes_displace_no_running_push() {
        let mut book = book(&["active"]);
        book.active = Some(book.versions[0].id.clone());
        let received = |name: &str, at: &str| {
            let mut record =
                Record::new(ComponentDigest::of(name.as_bytes()), 1, name, &crate::deploy::tests::settings());
            record.step(Move { at: at.to_owned(), ..Move::now(Stage::Received, "ops", "") });
            record
        };
        let now = rfc3339_millis(SystemTime::now());
        book.receive(received("left by a crash", "2020-01-01T00:00:00.000Z"));
        book.receive(received("running", &now));
        for at in 0..30 {
            let name = format!("bad{at}");
            book.receive(received(&name, &now));
            book.trim(1);
            let id = book.versions.last().unwrap().id.clone();
            book.step(&id, Stage::Refused, "ops", "no");
            book.trim(1);
        }
        let sources = sources(&book);
        assert_eq!(sources[..3], ["active", "running", "bad20"], "{sources:?}");
        assert_eq!(sources.len(), 2 + REFUSED, "{sources:?}");
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
