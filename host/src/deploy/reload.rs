//! The configuration, read anew while the host runs. A configuration is a version: it is tried before it counts, and the
//! one before can come back.

mod keys;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, mem,
    sync::Arc,
};

use arc_swap::ArcSwap;
use tokio::sync::Mutex;

pub use self::keys::Followed;
use self::keys::{Set, changes, live_settings, sort};
pub use self::view::{ConfigurationView, Reloaded, Reversioned};
use super::{DeployError, Entry, Expected, HOST, Move, Rehearsed, Roster, Stage, VaultError, VersionId};
use crate::{
    background,
    config::{Config, Loaded, Problems, tokens::Token},
    telemetry::logs,
};

/// Reads the configuration as at the start.
pub type Source = Arc<dyn Fn() -> Result<Loaded, Problems> + Send + Sync>;

/// Operators' tokens by their names, as they are now.
pub type Tokens = ArcSwap<BTreeMap<String, Token>>;

/// Why the configuration stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// It is not sound.
    #[error("{0}")]
    Unsound(Problems),
    /// A slot's component may not answer under it, or something else has changed the slot.
    #[error("slot {slot}: {error}")]
    Slot {
        /// Which.
        slot: &'static str,
        /// Why.
        error: DeployError,
    },
    /// The host has been started without a configuration that could be read again.
    #[error("this host has no configuration that could be read again")]
    NoSource,
    /// Nothing has changed since the start, or it is undone.
    #[error("there is no configuration before this one; it has not been read anew, or that is undone")]
    NoPredecessor,
    /// The audit log takes no line.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The host stops.
    #[error("the host is stopping")]
    Stopping,
}

/// Takes from a configuration what a service can change while it runs.
pub type Follow = Box<dyn Fn(&Config) + Send + Sync>;

/// A configuration, and the digests of all its keys.
struct Configuration {
    revision: VersionId,
    config: Config,
    tokens: Arc<BTreeMap<String, Token>>,
    set: Set,
}

impl Configuration {
    fn new(loaded: &Loaded) -> Self {
        Self {
            revision: VersionId::of_configuration(&loaded.set),
            config: loaded.config.clone(),
            tokens: Arc::new(loaded.config.admin.tokens.clone()),
            set: loaded.set.clone(),
        }
    }
}

/// What there is to undo and to compare with; whoever reloads holds it.
struct State {
    /// Keys that count, which are those of the last configuration but for what waits for a restart.
    running: Set,
    present: Arc<Configuration>,
    before: Option<Arc<Configuration>>,
    /// Services that take their part of a configuration, with the keys of which it consists.
    followers: Vec<(Followed, Follow)>,
}

/// What another configuration means, ready to be performed.
struct Plan {
    answer: Reloaded,
    rehearsed: Vec<(&'static str, Box<dyn Rehearsed>)>,
}

/// Who asks, and for what.
struct Asked<'a> {
    actor: &'a str,
    /// What is done, for the log and the audit log.
    what: &'static str,
    reason: &'a str,
}

impl Asked<'_> {
    fn said(&self) -> String {
        let Self { what, reason, .. } = self;
        if reason.is_empty() { (*what).to_owned() } else { format!("{what}: {reason}") }
    }
}

/// Reads the configuration anew and has everything that can follow at once follow.
pub struct Reloader {
    source: Option<Source>,
    roster: Arc<Roster>,
    tokens: Arc<Tokens>,
    state: Mutex<State>,
    view: ArcSwap<ConfigurationView>,
}

impl fmt::Debug for Reloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloader").field("roster", &self.roster).finish_non_exhaustive()
    }
}

impl Reloader {
    /// A host runs with `loaded`; `source` reads it anew.
    pub fn new(loaded: &Loaded, source: Option<Source>, roster: Arc<Roster>) -> Self {
        let present = Arc::new(Configuration::new(loaded));
        let view = ConfigurationView {
            revision: present.revision.clone(),
            generation: 0,
            last: Move::now(Stage::Active, HOST, "the start of the host"),
            previous: None,
            restart: Vec::new(),
            refused: None,
        };
        Self {
            source,
            roster,
            tokens: Arc::new(ArcSwap::new(Arc::clone(&present.tokens))),
            state: Mutex::new(State {
                running: present.set.clone(),
                present,
                before: None,
                followers: Vec::new(),
            }),
            view: ArcSwap::from_pointee(view),
        }
    }

    /// The tokens that count; a reload replaces them.
    pub fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.tokens)
    }

    /// Has a service take its part of the configuration that counts, and of each one after it: what is `followed`
    /// counts at once.
    pub async fn follow(&self, followed: Followed, follow: Follow) {
        let mut state = self.state.lock().await;
        follow(&state.present.config);
        state.followers.push((followed, follow));
    }

    /// The configuration that counts.
    pub fn view(&self) -> Arc<ConfigurationView> {
        self.view.load_full()
    }

    /// Reads the configuration anew. Every slot's component is tried under its new settings before the first of them
    /// counts, so that a configuration that one of them cannot run under changes nothing.
    ///
    /// # Errors
    /// Why everything is as it was; [`DeployError`] of a later slot only when an earlier one has switched already, which
    /// then has its new settings.
    pub async fn reload(&self, actor: &str, reason: &str) -> Result<Reloaded, ReloadError> {
        let asked = Asked { actor, what: "the configuration has been read anew", reason };
        let mut state = self.state.lock().await;
        let read = self.read().await;
        let taken = match read {
            Ok(next) => self.take(&mut state, Arc::new(next), None, &asked).await,
            Err(error) => Err(error),
        };
        self.conclude(&state, taken, &asked).await
    }

    /// What a reload would do now; nothing changes.
    ///
    /// # Errors
    /// Why a reload would leave everything as it is.
    pub async fn rehearse(&self) -> Result<Reloaded, ReloadError> {
        let state = self.state.lock().await;
        let next = self.read().await?;
        Ok(self.plan(&state, &next).await?.answer)
    }

    /// Has the configuration before the last reload count again, whatever is written in its file now. What a restart would
    /// bring of the undone one, since the file still has it, is named as waiting.
    ///
    /// # Errors
    /// See [`Reloader::reload`].
    pub async fn undo(&self, actor: &str, reason: &str) -> Result<Reloaded, ReloadError> {
        let asked = Asked { actor, what: "the configuration before has come back", reason };
        let mut state = self.state.lock().await;
        let before = state.before.clone().ok_or(ReloadError::NoPredecessor)?;
        let undone = Arc::clone(&state.present);
        let taken = self.take(&mut state, before, Some(&undone), &asked).await;
        if taken.is_ok() {
            // Back once: another undo would do again what was undone.
            state.before = None;
        }
        self.conclude(&state, taken, &asked).await
    }

    async fn read(&self) -> Result<Configuration, ReloadError> {
        let source = self.source.clone().ok_or(ReloadError::NoSource)?;
        let read = background::run(move || source().map(|loaded| Configuration::new(&loaded)));
        read.await.map_err(|_| ReloadError::Stopping)?.map_err(ReloadError::Unsound)
    }

    async fn plan(&self, state: &State, next: &Configuration) -> Result<Plan, ReloadError> {
        let (live, restart) = self.sorted(state, next);
        let (mut versions, mut warnings, mut rehearsed) = (Vec::new(), Vec::new(), Vec::new());
        for slot in self.roster.each() {
            let name = slot.slot();
            let (running, wanted) = (slot.settings(), next.config.slots.get(name));
            let settings = live_settings(&running, wanted.unwrap_or(&running));
            let (slot, rehearsal) = (name.as_str(), slot.rehearse(settings).await);
            let rehearsal = rehearsal.map_err(|error| ReloadError::Slot { slot, error })?;
            versions.extend(rehearsal.version().map(|version| Reversioned { slot, version }));
            warnings.extend(rehearsal.warning().map(|warning| format!("slot {slot}: {warning}")));
            rehearsed.push((slot, rehearsal));
        }
        let answer = Reloaded { revision: next.revision.clone(), live, restart, versions, warnings };
        Ok(Plan { answer, rehearsed })
    }

    /// The keys that another configuration changes: those that count at once, and those that wait for a restart.
    fn sorted(&self, state: &State, next: &Configuration) -> (Vec<String>, Vec<String>) {
        let slots = self.roster.each();
        let is_used = |id: &str| slots.iter().any(|slot| slot.slot().as_str() == id);
        let followed = state.followers.iter().map(|(followed, _)| *followed).collect::<Vec<_>>();
        sort(changes(&state.running, &next.set), is_used, &followed)
    }

    /// Has a configuration count, in place of an `undone` one where the file still has that.
    async fn take(
        &self,
        state: &mut State,
        next: Arc<Configuration>,
        undone: Option<&Configuration>,
        asked: &Asked<'_>,
    ) -> Result<Reloaded, ReloadError> {
        let Plan { mut answer, rehearsed } = self.plan(state, &next).await?;
        if let Some(undone) = undone {
            let (_, waiting) = self.sorted(state, undone);
            let all: BTreeSet<String> = mem::take(&mut answer.restart).into_iter().chain(waiting).collect();
            answer.restart = all.into_iter().collect();
        }
        let last = Move::now(Stage::Active, asked.actor, &asked.said());
        let generation = self.view.load().generation + 1;
        self.note(&next.revision, generation, line(&last, &answer)).await?;
        for (slot, rehearsal) in rehearsed {
            let (generation, actor) = (rehearsal.generation(), asked.actor.to_owned());
            let expected = Expected { generation, actor, reason: asked.said() };
            rehearsal.perform(expected).await.map_err(|error| ReloadError::Slot { slot, error })?;
        }
        self.tokens.store(Arc::clone(&next.tokens));
        state.followers.iter().for_each(|(_, follow)| follow(&next.config));
        // What came of it is still said where the new level would keep quiet about it, see `conclude`.
        logs::set_level(next.config.log.level.max(state.present.config.log.level));
        // What waits for a restart is said again next time: it does not count yet.
        let waits = |key: &str| answer.restart.iter().any(|waiting| waiting == key);
        state.running.retain(|key, _| waits(key));
        let counts = next.set.iter().filter(|(key, _)| !waits(key));
        state.running.extend(counts.map(|(key, digest)| (key.clone(), *digest)));
        let replaced = mem::replace(&mut state.present, next);
        if replaced.revision != state.present.revision {
            state.before = Some(replaced);
        }
        self.view.store(Arc::new(ConfigurationView {
            revision: answer.revision.clone(),
            generation,
            last,
            previous: None,
            restart: answer.restart.clone(),
            refused: None,
        }));
        Ok(answer)
    }

    /// Says what came of it, in the log and to operators who ask later.
    async fn conclude(
        &self,
        state: &State,
        taken: Result<Reloaded, ReloadError>,
        asked: &Asked<'_>,
    ) -> Result<Reloaded, ReloadError> {
        let mut view = ConfigurationView::clone(&self.view.load());
        match &taken {
            Ok(Reloaded { live, restart, .. }) => {
                let (live, restart) = (live.join(", "), restart.join(", "));
                tracing::info!(actor = asked.actor, live, restart, "{}", asked.what);
                logs::set_level(state.present.config.log.level);
            }
            Err(error) => {
                let refused = Move::now(Stage::Refused, asked.actor, &error.to_string());
                let noted = self.note(&view.revision, view.generation, refused.clone()).await;
                if let Err(error) = noted {
                    tracing::warn!(%error, "the audit log has no line of a refused configuration");
                }
                view.refused = Some(refused);
            }
        }
        view.previous = state.before.as_ref().map(|before| before.revision.clone());
        self.view.store(Arc::new(view));
        taken
    }

    /// Adds a line to the audit log.
    async fn note(&self, revision: &VersionId, generation: u64, step: Move) -> Result<(), ReloadError> {
        let entry = Entry::of_configuration(revision.clone(), generation, step);
        let vault = Arc::clone(self.roster.vault());
        let write = background::run(move || vault.note_configuration(entry));
        Ok(write.await.map_err(|_| ReloadError::Stopping)??)
    }
}

/// An audit line: the move, and the keys that it is about.
fn line(step: &Move, answer: &Reloaded) -> Move {
    let mut reason = step.reason.clone();
    for (what, keys) in [("counts now", &answer.live), ("needs a restart", &answer.restart)] {
        if !keys.is_empty() {
            reason.push_str(&format!("; {what}: {}", keys.join(", ")));
        }
    }
    Move { reason, ..step.clone() }
}
