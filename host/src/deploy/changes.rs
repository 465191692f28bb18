use std::sync::{Arc, PoisonError};

use tokio::sync::MutexGuard;

use super::{Book, Candidate, Deploy as _, DeployError, Deployment, HOST, Record, Stage, VersionId};
use crate::slots::{Trial, Version, Weight, World};

/// What an operator wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// This version answers every call; a candidate is given up.
    Swap(String),
    /// This version, or without a name the candidate that there is, answers a share of the calls.
    Canary(Option<String>, Weight),
    /// This version, or without a name the candidate that there is, gets copies of the calls and answers none.
    Shadow(Option<String>),
    /// The candidate answers every call.
    Promote,
    /// The candidate is given up; without one, the version that answered before answers again.
    Rollback,
}

impl Change {
    /// The name in paths, metrics and logs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Swap(_) => "swap",
            Self::Canary(..) => "canary",
            Self::Shadow(_) => "shadow",
            Self::Promote => "promote",
            Self::Rollback => "rollback",
        }
    }
}

/// What whoever changes a slot has seen, who they are, and why they do it.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The generation that they have seen.
    pub generation: u64,
    /// The name of their token, or the host itself.
    pub actor: String,
    /// Their reason.
    pub reason: String,
}

/// How far a change reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// This host only: it is no concern of others.
    Alone,
    /// This host, which makes it by itself. Others follow once it is published.
    Here,
    /// All hosts that share their state, from the start.
    Everywhere,
}

/// Tries to change what other hosts are changing too.
pub(super) const ATTEMPTS: usize = 5;

/// What the host takes back by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worse {
    /// The candidate.
    Candidate,
    /// The active version.
    Active,
}

/// The versions that answer after a change.
pub(super) struct Next<W: World> {
    pub(super) active: (VersionId, Arc<Version<W>>),
    pub(super) candidate: Option<(VersionId, Arc<Version<W>>, Trial)>,
}

impl<W: World> Clone for Next<W> {
    fn clone(&self) -> Self {
        Self { active: self.active.clone(), candidate: self.candidate.clone() }
    }
}

impl<W: World> Deployment<W> {
    pub(super) async fn apply(&self, change: &Change, expected: &Expected) -> Result<(), DeployError> {
        let is_shared = self.reach(expected) == Reach::Everywhere;
        if is_shared && *change == Change::Rollback {
            return self.roll_back_everywhere(expected).await;
        }
        if is_shared {
            self.refresh().await?;
        }
        self.compare(expected)?;
        let name = match change {
            Change::Swap(name) | Change::Canary(Some(name), _) | Change::Shadow(Some(name)) => {
                Some(self.named(name, &expected.actor).await?)
            }
            Change::Canary(None, _) | Change::Shadow(None) | Change::Promote | Change::Rollback => None,
        };
        let name = name.as_deref();
        match change {
            Change::Swap(_) => self.swap(name.unwrap_or_default(), expected).await,
            Change::Canary(_, weight) => self.try_on(name, Trial::Canary(*weight), expected).await,
            Change::Shadow(_) => self.try_on(name, Trial::Shadow, expected).await,
            Change::Promote => self.promote(expected).await,
            Change::Rollback => self.roll_back(expected).await,
        }
    }

    /// What operators want holds for all hosts or for none; what a host does that is not where all should be, for none
    /// but itself.
    fn reach(&self, expected: &Expected) -> Reach {
        match (expected.actor == HOST, self.is_behind()) {
            (false, _) => Reach::Everywhere,
            (true, false) => Reach::Here,
            (true, true) => Reach::Alone,
        }
    }

    pub(super) fn compare(&self, expected: &Expected) -> Result<(), DeployError> {
        let expected = expected.generation;
        if self.book().generation == expected {
            return Ok(());
        }
        Err(DeployError::Conflict { expected, slot: Box::new(self.view()) })
    }

    /// A version that is remembered.
    pub(super) fn known(&self, name: &str) -> Result<Record, DeployError> {
        let unknown = || DeployError::UnknownVersion {
            slot: self.slot.name().as_str(),
            name: crate::telemetry::quoted(name),
        };
        self.book().find(name).cloned().ok_or_else(unknown)
    }

    /// A version that has passed its trial once.
    fn tried(&self, name: &str) -> Result<Record, DeployError> {
        let record = self.known(name)?;
        if record.is_tried() { Ok(record) } else { Err(DeployError::Untried(record.id)) }
    }

    async fn swap(&self, name: &str, expected: &Expected) -> Result<(), DeployError> {
        let record = self.tried(name)?;
        let book = self.book();
        if self.answering_id(&book).as_ref() == Some(&record.id) && book.candidate.is_none() {
            return Err(DeployError::Answering(record.id));
        }
        if book.candidate.as_ref().is_some_and(|candidate| candidate.version == record.id) {
            return self.promote(expected).await;
        }
        let version = self.revive(&record).await?;
        let next = Next { active: (record.id.clone(), version), candidate: None };
        self.switch_to(&record, next, expected, self.reach(expected), push_down).await
    }

    async fn try_on(&self, name: Option<&str>, trial: Trial, expected: &Expected) -> Result<(), DeployError> {
        let (slot, book) = (self.slot.name().as_str(), self.book());
        let active = book.active.clone().zip(self.slot.active().ok()).ok_or(DeployError::NoActive(slot))?;
        let tried = book.candidate.as_ref().map(|candidate| &candidate.version);
        let wanted = name.map(|name| self.tried(name)).transpose()?;
        let (id, version) = match (tried, wanted) {
            (Some(tried), wanted) if wanted.as_ref().is_none_or(|wanted| wanted.id == *tried) => {
                let (version, _) = self.slot.candidate().ok_or(DeployError::NoCandidate(slot))?;
                (tried.clone(), version)
            }
            (Some(tried), _) => return Err(DeployError::OtherCandidate(tried.clone())),
            (None, None) => return Err(DeployError::NoCandidate(slot)),
            (None, Some(wanted)) if wanted.id == active.0 => return Err(DeployError::Answering(wanted.id)),
            (None, Some(wanted)) => (wanted.id.clone(), self.revive(&wanted).await?),
        };
        let record = self.known(id.as_str())?;
        let next = Next { active, candidate: Some((id, version, trial)) };
        self.switch_to(&record, next, expected, self.reach(expected), |_, _| {}).await
    }

    async fn promote(&self, expected: &Expected) -> Result<(), DeployError> {
        let none = DeployError::NoCandidate(self.slot.name().as_str());
        let candidate = self.book().candidate.clone().zip(self.slot.candidate());
        let (candidate, (version, _)) = candidate.ok_or(none)?;
        let record = self.known(candidate.version.as_str())?;
        let next = Next { active: (candidate.version, version), candidate: None };
        self.switch_to(&record, next, expected, self.reach(expected), push_down).await
    }

    pub(super) async fn roll_back(&self, expected: &Expected) -> Result<(), DeployError> {
        let book = self.book();
        if let Some(active) = book.active.clone().zip(self.slot.active().ok())
            && book.candidate.is_some()
        {
            let next = Next { active, candidate: None };
            return self.switch_in_memory(None, next, expected, |_, _| {}).await;
        }
        self.go_back(expected).await
    }

    /// Has the version answer that answered before; a candidate is given up.
    async fn go_back(&self, expected: &Expected) -> Result<(), DeployError> {
        let book = self.book();
        let before = book.before.last().and_then(|id| book.get(id));
        let before = before.ok_or(DeployError::NoPredecessor(self.slot.name().as_str()))?;
        let version = self.loaded(before).await?;
        let next = Next { active: (before.id.clone(), version), candidate: None };
        self.switch_in_memory(Some(before), next, expected, |book, _| drop(book.before.pop())).await
    }

    /// Takes back what the host has found to be worse: the candidate, or else the active version.
    pub(super) async fn take_back(&self, what: Worse, expected: &Expected) -> Result<(), DeployError> {
        self.compare(expected)?;
        match what {
            Worse::Candidate => self.roll_back(expected).await,
            Worse::Active => self.go_back(expected).await,
        }
    }

    /// Has other versions answer, one of which is `remembered`: the slot's signature rules may have changed while it was
    /// made ready.
    async fn switch_to(
        &self,
        remembered: &Record,
        next: Next<W>,
        expected: &Expected,
        reach: Reach,
        line: impl Fn(&mut Book, Option<VersionId>),
    ) -> Result<(), DeployError> {
        for _ in 0..ATTEMPTS {
            let turn = self.turn().await;
            self.compare(expected)?;
            self.vouched(remembered).await?;
            match self.switch(&turn, next.clone(), expected, reach, &line).await {
                Err(DeployError::Overtaken) => drop(turn),
                switched => return switched,
            }
            // Another host was faster: either what answers is another now, or the change is made upon its books.
            self.refresh().await?;
        }
        Err(DeployError::Overtaken)
    }

    /// Has other versions answer: in the book, then in the slot, in one stroke each. `line` keeps what a rollback
    /// goes back to, given the version that answered. The caller has compared the generation in this turn.
    pub(super) async fn switch(
        &self,
        turn: &MutexGuard<'_, ()>,
        next: Next<W>,
        expected: &Expected,
        reach: Reach,
        line: impl Fn(&mut Book, Option<VersionId>),
    ) -> Result<(), DeployError> {
        let before = self.book();
        let old = self.answering(&before);
        let change = self.change_to(&before, &next, expected, reach, &line);
        self.commit(turn, None, reach, change).await?;
        self.install(next, old);
        self.has_changed(expected, reach);
        Ok(())
    }

    /// Has other versions answer after a rollback, whose versions are loaded: it counts before it is on disk, and though
    /// the disk may take nothing.
    async fn switch_in_memory(
        &self,
        remembered: Option<&Record>,
        next: Next<W>,
        expected: &Expected,
        line: impl Fn(&mut Book, Option<VersionId>),
    ) -> Result<(), DeployError> {
        let (reach, turn) = (self.reach(expected), self.turn().await);
        self.compare(expected)?;
        if expected.actor != HOST {
            self.is_not_overtaken(&turn).await?;
        }
        // What is held is let go where the rules change.
        if let Some(record) = remembered.filter(|record| self.held(&record.id).is_none()) {
            self.vouched(record).await?;
        }
        let before = self.book();
        let old = self.answering(&before);
        let change = self.change_to(&before, &next, expected, reach, &line);
        let install = || {
            self.install(next.clone(), old);
            self.has_changed(expected, reach);
        };
        self.commit_rollback(&turn, reach, change, install).await
    }

    /// What a change makes of the book `before`.
    fn change_to<'a>(
        &'a self,
        before: &'a Book,
        next: &'a Next<W>,
        expected: &'a Expected,
        reach: Reach,
        line: &'a impl Fn(&mut Book, Option<VersionId>),
    ) -> impl FnOnce(&mut Book) + 'a {
        move |book| {
            line(book, before.active.clone());
            let candidate = next.candidate.as_ref().map(|(id, _, trial)| (id, *trial));
            note(book, &next.active.0, candidate, expected);
            if let Some(active) =
                before.active.as_ref().filter(|id| self.has_substitute() && !book.answers(id))
            {
                book.step(active, Stage::Retired, HOST, "it was not compiled, so that no call of it runs");
            }
            if reach == Reach::Alone && self.shared.is_some() {
                book.generation = before.generation;
            }
        }
    }

    fn has_changed(&self, expected: &Expected, reach: Reach) {
        self.say(expected);
        self.has_switched(reach);
    }

    /// Has the versions answer that the book names, and lets the others go. Whoever calls has the turn.
    pub(super) fn install(&self, next: Next<W>, old: Vec<(VersionId, Arc<Version<W>>)>) {
        self.watch_over(&next, &old);
        if !self.slot.active().is_ok_and(|active| Arc::ptr_eq(&active, &next.active.1)) {
            self.set_uncompiled(None);
        }
        let Next { active: (_, active), candidate } = next;
        let predecessor = self.hold(&active, &old);
        self.slot.serve(active, candidate.map(|(_, version, trial)| (version, trial)), predecessor);
        *self.why_empty.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let book = self.book();
        for (id, version) in old {
            if !book.answers(&id) {
                self.drain(version, id);
            }
        }
    }

    fn say(&self, expected: &Expected) {
        let book = self.book();
        let (slot, generation) = (self.slot.name().as_str(), book.generation);
        let active = book.active.as_ref().map(VersionId::as_str);
        let candidate = book.candidate.as_ref().map(|candidate| candidate.version.as_str());
        let (actor, reason) = (&expected.actor, &expected.reason);
        tracing::info!(
            slot,
            generation,
            active,
            candidate,
            actor,
            reason,
            "the versions that answer have changed"
        );
    }

    /// The versions that answer, by the book and by the slot.
    pub(super) fn answering(&self, book: &Book) -> Vec<(VersionId, Arc<Version<W>>)> {
        let active = self.answering_id(book).zip(self.slot.active().ok());
        let candidate = book.candidate.clone().zip(self.slot.candidate());
        let candidate = candidate.map(|(candidate, (version, _))| (candidate.version, version));
        active.into_iter().chain(candidate).collect()
    }
}

/// What answered until now is what a rollback goes back to.
pub(super) fn push_down(book: &mut Book, active: Option<VersionId>) {
    book.before.extend(active);
}

/// Writes the versions that answer, and every step that leads there, into the book.
pub(super) fn note(
    book: &mut Book,
    active: &VersionId,
    candidate: Option<(&VersionId, Trial)>,
    expected: &Expected,
) {
    let before = book.clone();
    let Expected { actor, reason, .. } = expected;
    book.generation += 1;
    book.active = Some(active.clone());
    book.candidate = candidate.map(|(id, trial)| Candidate::new(id.clone(), trial));
    // What answers is not what a rollback goes back to.
    book.before.retain(|id| id != active);
    let was = [before.active.clone(), before.candidate.as_ref().map(|candidate| candidate.version.clone())];
    for id in was.into_iter().flatten() {
        if !book.answers(&id) {
            book.step(&id, Stage::Draining, actor, reason);
        }
    }
    if before.active.as_ref() != Some(active) {
        book.step(active, Stage::Active, actor, reason);
    }
    if let Some((id, trial)) = candidate {
        let reason = match trial {
            Trial::Canary(weight) => format!("{} % of the calls: {reason}", weight.percent()),
            Trial::Shadow => format!("in shadow: {reason}"),
        };
        book.step(id, Stage::Candidate, actor, reason.trim_end_matches(": "));
    }
}
