//! How a slot's versions come to answer, as the operators' guide says it: a state machine without a host.

use std::collections::{BTreeMap, BTreeSet};

/// A component that passes its trial and traps on every call.
pub const TRAPPING: char = 'X';
/// Bytes that are no component.
pub const GARBAGE: char = 'Z';

/// A version: the letter of a component, and the mode in the settings that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub letter: char,
    pub mode: u8,
}

/// How a candidate is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It answers so many percent of the clients.
    Canary(u8),
    /// It gets copies of the calls.
    Shadow,
}

/// What is known of a version that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its trial has not ended, or was cut off.
    Received,
    /// It may answer.
    Tried,
    /// It may not.
    Refused,
}

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Push(char),
    Swap(Version),
    Canary(Option<Version>, u8),
    Shadow(Option<Version>),
    Promote,
    Rollback,
    /// The configuration is written with this mode and read again.
    Reload(u8),
}

/// What a slot remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelState {
    pub generation: u64,
    pub active: Version,
    pub candidate: Option<(Version, Trial)>,
    /// What a rollback goes back to, the next one last.
    pub before: Vec<Version>,
    pub known: BTreeMap<Version, Standing>,
}

impl ModelState {
    fn tried(&self, version: Version) -> Result<(), &'static str> {
        match self.known.get(&version) {
            None => Err("unknown-version"),
            Some(Standing::Tried) => Ok(()),
            Some(Standing::Received | Standing::Refused) => Err("untried"),
        }
    }

    /// Has `version` answer every call; the version that answered is gone back to by a rollback.
    fn replace(&mut self, version: Version) {
        self.generation += 1;
        self.before.push(self.active);
        self.before.retain(|before| *before != version);
        (self.active, self.candidate) = (version, None);
    }

    fn try_on(&mut self, wanted: Option<Version>, trial: Trial) -> Result<(), &'static str> {
        wanted.map_or(Ok(()), |version| self.tried(version))?;
        let version = match (self.candidate, wanted) {
            (Some((tried, _)), None) => tried,
            (Some((tried, _)), Some(wanted)) if tried == wanted => tried,
            (Some(_), Some(_)) => return Err("other-candidate"),
            (None, None) => return Err("no-candidate"),
            (None, Some(wanted)) if wanted == self.active => return Err("answering"),
            (None, Some(wanted)) => wanted,
        };
        self.generation += 1;
        self.candidate = Some((version, trial));
        Ok(())
    }

    /// Has the version before answer again; a candidate is given up.
    pub fn go_back(&mut self) -> Result<(), &'static str> {
        let before = self.before.pop().ok_or("no-predecessor")?;
        self.generation += 1;
        (self.active, self.candidate) = (before, None);
        // It has passed a trial once, whatever has become of a later push of it.
        self.known.insert(before, Standing::Tried);
        Ok(())
    }

    /// What an action makes of the state under settings with this mode, or why nothing.
    fn act(&mut self, action: Action, mode: u8) -> Result<(), &'static str> {
        match action {
            Action::Push(letter) => {
                let version = Version { letter, mode };
                if self.answers(version) {
                    return Ok(());
                }
                let standing = if letter == GARBAGE { Standing::Refused } else { Standing::Tried };
                self.known.insert(version, standing);
                if standing == Standing::Refused { Err("refused") } else { Ok(()) }
            }
            Action::Swap(version) => {
                self.tried(version)?;
                if self.active == version && self.candidate.is_none() {
                    return Err("answering");
                }
                self.replace(version);
                Ok(())
            }
            Action::Canary(version, weight) => self.try_on(version, Trial::Canary(weight)),
            Action::Shadow(version) => self.try_on(version, Trial::Shadow),
            Action::Promote => {
                let (version, _) = self.candidate.ok_or("no-candidate")?;
                self.replace(version);
                Ok(())
            }
            Action::Rollback if self.candidate.is_some() => {
                self.generation += 1;
                self.candidate = None;
                Ok(())
            }
            Action::Rollback => self.go_back(),
            Action::Reload(mode) => {
                if self.active.mode != mode {
                    let (version, candidate) = (Version { mode, ..self.active }, self.candidate);
                    self.known.insert(version, Standing::Tried);
                    self.replace(version);
                    self.candidate = candidate.filter(|(tried, _)| *tried != version);
                }
                Ok(())
            }
        }
    }

    pub fn answers(&self, version: Version) -> bool {
        self.active == version || self.candidate.is_some_and(|(tried, _)| tried == version)
    }

    /// The state of a host that starts with it under settings with this mode: what answers, answers under them.
    fn restarted(mut self, mode: u8) -> Self {
        let version = Version { mode, ..self.active };
        if version != self.active {
            self.generation += 1;
            self.known.insert(version, Standing::Tried);
            if let Some(at) = self.before.iter().position(|before| *before == version) {
                self.before.truncate(at);
            }
            self.active = version;
            self.candidate = self.candidate.filter(|(tried, _)| *tried != version);
        }
        self
    }
}

/// A slot, its data folder, and its settings.
#[derive(Clone, Debug)]
pub struct Model {
    /// What counts.
    pub state: ModelState,
    /// What is on disk, where that may be something else.
    unwritten: Option<ModelState>,
    /// The data folder takes nothing.
    pub is_blocked: bool,
    /// The mode in the settings.
    pub mode: u8,
    /// The modes that the running host has had.
    modes: BTreeSet<u8>,
    /// Versions that the running host has loaded under another mode than their own, which it has not known.
    elsewhere: BTreeSet<Version>,
}

impl Model {
    /// A host that has just started for the first time.
    pub fn new(letter: char, mode: u8) -> Self {
        let active = Version { letter, mode };
        let known = BTreeMap::from([(active, Standing::Tried)]);
        let state = ModelState { generation: 0, active, candidate: None, before: Vec::new(), known };
        let modes = BTreeSet::from([mode]);
        Self { state, unwritten: None, is_blocked: false, mode, modes, elsewhere: BTreeSet::new() }
    }

    /// What comes of an action: done, or the code of the refusal.
    pub fn act(&mut self, action: Action) -> Result<(), &'static str> {
        let mut after = self.state.clone();
        let done = after.act(action, self.mode);
        let writes = match action {
            Action::Reload(_) => true,
            Action::Push(letter) => !self.state.answers(Version { letter, mode: self.mode }),
            _ => after != self.state,
        };
        let is_rollback = action == Action::Rollback;
        if self.is_blocked && writes && !is_rollback {
            return Err("storage");
        }
        if let Action::Reload(mode) = action {
            self.mode = mode;
            self.modes.insert(mode);
        }
        if writes {
            self.count(after);
        }
        done
    }

    /// The host takes back, without an operator, the candidate or else the active version, both of which fail.
    pub fn take_back(&mut self) {
        let mut after = self.state.clone();
        after.act(Action::Rollback, self.mode).unwrap();
        self.count(after);
    }

    fn count(&mut self, after: ModelState) {
        let loaded = [Some(after.active), after.candidate.map(|(version, _)| version)].into_iter().flatten();
        for version in loaded.filter(|version| !self.state.answers(*version)) {
            if self.modes.contains(&version.mode) {
                continue;
            }
            self.elsewhere.insert(version);
        }
        let before = std::mem::replace(&mut self.state, after);
        if self.is_blocked {
            self.unwritten.get_or_insert(before);
        } else {
            self.unwritten = None;
        }
    }

    /// Whether the state is on disk; none where that depends on when the host tries again.
    pub fn is_kept(&self) -> Option<bool> {
        match (&self.unwritten, self.is_blocked) {
            (None, _) => Some(true),
            (Some(_), true) => Some(false),
            (Some(_), false) => None,
        }
    }

    /// The host says that its state is on disk.
    pub fn note_kept(&mut self) {
        self.unwritten = None;
    }

    /// The mode that a version runs with; none where the host has loaded it under one that it was not made for.
    pub fn mode_of(&self, version: Version) -> Option<u8> {
        (!self.elsewhere.contains(&version)).then_some(version.mode)
    }

    /// Every model that the host may be in after it was killed, while it was doing `action` if there is one, and has
    /// started again.
    pub fn after_kill(&self, action: Option<Action>) -> Vec<Self> {
        let mut states: Vec<ModelState> = self.unwritten.clone().into_iter().collect();
        let mode = match action {
            Some(Action::Reload(mode)) => mode,
            _ => self.mode,
        };
        if self.is_kept() != Some(false) {
            states.push(self.state.clone());
        }
        // Nothing is written into a folder that takes nothing.
        if let Some(action) = action.filter(|_| !self.is_blocked) {
            let mut after = self.state.clone();
            if let Action::Push(letter) = action
                && !after.answers(Version { letter, mode })
            {
                after.known.insert(Version { letter, mode }, Standing::Received);
                states.push(after.clone());
            }
            let _ = after.act(action, self.mode);
            states.push(after);
        }
        states.into_iter().map(|state| Self::started(state.restarted(mode), mode)).collect()
    }

    fn started(state: ModelState, mode: u8) -> Self {
        let candidate = state.candidate.map(|(version, _)| version).filter(|version| version.mode != mode);
        let elsewhere = candidate.into_iter().collect();
        let modes = BTreeSet::from([mode]);
        Self { state, unwritten: None, is_blocked: false, mode, modes, elsewhere }
    }
}
