//! Reloads of the configuration while the host runs. A configuration is a version: it is tried before it takes
//! effect, and an undo restores the previous one.

mod keys;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, mem,
    sync::Arc,
};

use arc_swap::ArcSwap;
use bulkhead_config::{Config, Loaded, Problems, tokens::OperatorToken};
use bulkhead_runtime::background;
use bulkhead_telemetry::logs;
use tokio::sync::Mutex;

use self::keys::{KeyDigests, behind_ceilings, changes, live_settings, partition};
use super::{
    AuditEntry, DeployError, DeploymentRegistry, Expected, HOST, LocalStoreError, Move, PreparedChange,
    Stage, VersionId,
};

pub use self::keys::LiveKeys;
pub use self::view::{ConfigurationView, Reloaded, Reversioned};

/// Reads the configuration like a start.
pub type ConfigSource = Arc<dyn Fn() -> Result<Loaded, Problems> + Send + Sync>;

/// The operators' current tokens by name.
pub type Tokens = ArcSwap<BTreeMap<String, OperatorToken>>;

/// Why the configuration has not changed.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The configuration has errors.
    #[error("{0}")]
    Unsound(Problems),
    /// A slot's component may not answer under it, or the slot has changed meanwhile.
    #[error("slot {slot}: {error}")]
    Slot {
        /// The slot.
        slot: &'static str,
        /// Why.
        error: DeployError,
    },
    /// The host was started without a configuration that can be read again.
    #[error("this host has no configuration that can be read again")]
    NoSource,
    /// There has been no reload since the start, or it has been undone.
    #[error(
        "there is no configuration before this one; it has not been reloaded, or the reload has been undone"
    )]
    NoPredecessor,
    /// The audit log cannot be written.
    #[error(transparent)]
    Storage(#[from] LocalStoreError),
    /// The first versions of slots are not ready yet.
    #[error("the host is starting; reload the configuration once it is ready")]
    Starting,
    /// The host is stopping.
    #[error("the host is stopping")]
    Stopping,
}

/// Applies the keys that a service can change while it runs.
pub type Subscriber = Box<dyn Fn(&Config) + Send + Sync>;

/// Returns the keys of a configuration that go beyond what the host was started with. The other keys of their tables wait with
/// them for a restart.
pub type Ceiling = Box<dyn Fn(&Config) -> Vec<String> + Send + Sync>;

/// A configuration and the digests of all its keys.
struct ConfigVersion {
    revision: VersionId,
    config: Config,
    tokens: Arc<BTreeMap<String, OperatorToken>>,
    set: KeyDigests,
}

impl ConfigVersion {
    fn new(loaded: &Loaded) -> Self {
        Self {
            revision: VersionId::of_configuration(&loaded.set),
            config: loaded.config.clone(),
            tokens: Arc::new(loaded.config.admin.tokens.clone()),
            set: loaded.set.clone(),
        }
    }
}

/// The configurations to compare with and to undo to; locked during a reload.
struct ReloadState {
    /// Keys in effect: those of the last configuration, except those that need a restart.
    running: KeyDigests,
    current: Arc<ConfigVersion>,
    previous: Option<Arc<ConfigVersion>>,
    /// Services that apply changes of these keys.
    subscribers: Vec<(LiveKeys, Subscriber)>,
    ceilings: Vec<Ceiling>,
}

/// What another configuration changes, prepared to be applied.
struct ReloadPlan {
    answer: Reloaded,
    prepared: Vec<(&'static str, Box<dyn PreparedChange>)>,
}

/// Who requests a reload or an undo, and why.
struct ReloadRequest<'a> {
    actor: &'a str,
    /// What is done, for the log and the audit log.
    action: &'static str,
    reason: &'a str,
}

impl ReloadRequest<'_> {
    fn description(&self) -> String {
        let Self { action, reason, .. } = self;
        if reason.is_empty() { (*action).to_owned() } else { format!("{action}: {reason}") }
    }
}

/// Reloads the configuration and applies every key that can change while the host runs.
pub struct Reloader {
    source: Option<ConfigSource>,
    deployments: Arc<DeploymentRegistry>,
    tokens: Arc<Tokens>,
    state: Mutex<ReloadState>,
    view: ArcSwap<ConfigurationView>,
}

impl fmt::Debug for Reloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloader").field("deployments", &self.deployments).finish_non_exhaustive()
    }
}

impl Reloader {
    /// Returns a reloader of a host that runs with `loaded`; `source` reads the configuration again.
    pub fn new(loaded: &Loaded, source: Option<ConfigSource>, deployments: Arc<DeploymentRegistry>) -> Self {
        let current = Arc::new(ConfigVersion::new(loaded));
        let view = ConfigurationView {
            revision: current.revision.clone(),
            generation: 0,
            last: Move::now(Stage::Active, HOST, "the start of the host"),
            previous: None,
            restart: Vec::new(),
            refused: None,
        };
        Self {
            source,
            deployments,
            tokens: Arc::new(ArcSwap::new(Arc::clone(&current.tokens))),
            state: Mutex::new(ReloadState {
                running: current.set.clone(),
                current,
                previous: None,
                subscribers: Vec::new(),
                ceilings: Vec::new(),
            }),
            view: ArcSwap::from_pointee(view),
        }
    }

    /// Returns the current tokens, which a reload replaces.
    pub fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.tokens)
    }

    /// Subscribes a service to the keys `live_keys`: `subscriber` receives the current configuration now and every
    /// later one.
    pub async fn subscribe(&self, live_keys: LiveKeys, subscriber: Subscriber) {
        let mut state = self.state.lock().await;
        subscriber(&state.current.config);
        state.subscribers.push((live_keys, subscriber));
    }

    /// Adds a ceiling on keys that can else change while the host runs.
    pub async fn add_ceiling(&self, ceiling: Ceiling) {
        self.state.lock().await.ceilings.push(ceiling);
    }

    /// Returns the current configuration.
    pub fn view(&self) -> Arc<ConfigurationView> {
        self.view.load_full()
    }

    /// Reloads the configuration. Every slot's component is tried under its new settings before the first of them
    /// takes effect, so that a configuration that one of them cannot run under changes nothing.
    ///
    /// # Errors
    /// Why nothing has changed; a [`DeployError`] of a later slot may come after an earlier slot has switched,
    /// which then keeps its new settings.
    pub async fn reload(&self, actor: &str, reason: &str) -> Result<Reloaded, ReloadError> {
        self.check_started()?;
        let request = ReloadRequest { actor, action: "the configuration has been reloaded", reason };
        let mut state = self.state.lock().await;
        let read = self.read().await;
        let result = match read {
            Ok(next) => self.apply(&mut state, Arc::new(next), None, &request).await,
            Err(error) => Err(error),
        };
        self.finish(&state, result, &request).await
    }

    /// Returns what a reload would do now; nothing changes.
    ///
    /// # Errors
    /// Why a reload would fail.
    pub async fn dry_run(&self) -> Result<Reloaded, ReloadError> {
        self.check_started()?;
        let state = self.state.lock().await;
        let next = self.read().await?;
        Ok(self.plan(&state, &next).await?.answer)
    }

    /// Restores the configuration before the last reload, whatever its file contains now. Keys of the undone one
    /// that the file would bring back at a restart are reported as needing one.
    ///
    /// # Errors
    /// See [`Reloader::reload`].
    pub async fn undo(&self, actor: &str, reason: &str) -> Result<Reloaded, ReloadError> {
        let request = ReloadRequest { actor, action: "the previous configuration has been restored", reason };
        let mut state = self.state.lock().await;
        let before = state.previous.clone().ok_or(ReloadError::NoPredecessor)?;
        let undone = Arc::clone(&state.current);
        let result = self.apply(&mut state, before, Some(&undone), &request).await;
        if result.is_ok() {
            // Another undo would repeat what was undone.
            state.previous = None;
        }
        self.finish(&state, result, &request).await
    }

    /// Refuses a reload that would miss the slots that are starting.
    fn check_started(&self) -> Result<(), ReloadError> {
        if self.deployments.is_complete() { Ok(()) } else { Err(ReloadError::Starting) }
    }

    async fn read(&self) -> Result<ConfigVersion, ReloadError> {
        let source = self.source.clone().ok_or(ReloadError::NoSource)?;
        let read = background::run(move || source().map(|loaded| ConfigVersion::new(&loaded)));
        read.await.map_err(|_| ReloadError::Stopping)?.map_err(ReloadError::Unsound)
    }

    async fn plan(&self, state: &ReloadState, next: &ConfigVersion) -> Result<ReloadPlan, ReloadError> {
        let (live, restart) = self.partition_keys(state, next);
        let (mut versions, mut warnings, mut prepared) = (Vec::new(), Vec::new(), Vec::new());
        for slot in self.deployments.all() {
            let name = slot.slot();
            // A slot that is removed has nothing to try, also if its component may not answer.
            let Some(wanted) = next.config.slots.get(name) else { continue };
            let settings = live_settings(&slot.settings(), wanted);
            let (slot, change) = (name.as_str(), slot.dry_run(settings).await);
            let change = match change {
                // It needs no settings any more.
                Err(DeployError::Removed(_)) => continue,
                change => change.map_err(|error| ReloadError::Slot { slot, error })?,
            };
            versions.extend(change.version().map(|version| Reversioned { slot, version }));
            warnings.extend(change.warning().map(|warning| format!("slot {slot}: {warning}")));
            prepared.push((slot, change));
        }
        let answer = Reloaded { revision: next.revision.clone(), live, restart, versions, warnings };
        Ok(ReloadPlan { answer, prepared })
    }

    /// Returns the keys that another configuration changes: those that take effect at once, and those that need a
    /// restart.
    fn partition_keys(&self, state: &ReloadState, next: &ConfigVersion) -> (Vec<String>, Vec<String>) {
        let slots = self.deployments.all();
        let is_used = |id: &str| slots.iter().any(|slot| slot.slot().as_str() == id);
        let live_keys = state.subscribers.iter().map(|(live_keys, _)| *live_keys).collect::<Vec<_>>();
        let keys = partition(changes(&state.running, &next.set), is_used, &live_keys);
        let beyond = state.ceilings.iter().flat_map(|ceiling| ceiling(&next.config));
        behind_ceilings(keys, &beyond.collect::<Vec<_>>())
    }

    /// Applies a configuration, in place of an `undone` one that the file may still contain.
    async fn apply(
        &self,
        state: &mut ReloadState,
        next: Arc<ConfigVersion>,
        undone: Option<&ConfigVersion>,
        request: &ReloadRequest<'_>,
    ) -> Result<Reloaded, ReloadError> {
        let ReloadPlan { mut answer, prepared } = self.plan(state, &next).await?;
        if let Some(undone) = undone {
            let (_, waiting) = self.partition_keys(state, undone);
            let all: BTreeSet<String> = mem::take(&mut answer.restart).into_iter().chain(waiting).collect();
            answer.restart = all.into_iter().collect();
        }
        let last = Move::now(Stage::Active, request.actor, &request.description());
        let generation = self.view.load().generation + 1;
        self.append_audit(&next.revision, generation, audit_move(&last, &answer)).await?;
        for (slot, change) in prepared {
            let (generation, actor) = (change.generation(), request.actor.to_owned());
            let expected = Expected { generation, actor, reason: request.description() };
            match change.apply(expected).await {
                Ok(()) | Err(DeployError::Removed(_)) => {}
                Err(error) => return Err(ReloadError::Slot { slot, error }),
            }
        }
        self.tokens.store(Arc::clone(&next.tokens));
        state.subscribers.iter().for_each(|(_, subscriber)| subscriber(&next.config));
        // The result is logged even if the new level would suppress it, see `finish`.
        logs::set_level(next.config.log.level.max(state.current.config.log.level));
        logs::set_access(next.config.log.access);
        // A key that needs a restart is reported again next time, because it is not in effect yet.
        let needs_restart = |key: &str| answer.restart.iter().any(|waiting| waiting == key);
        state.running.retain(|key, _| needs_restart(key));
        let counts = next.set.iter().filter(|(key, _)| !needs_restart(key));
        state.running.extend(counts.map(|(key, digest)| (key.clone(), *digest)));
        let replaced = mem::replace(&mut state.current, next);
        if replaced.revision != state.current.revision {
            state.previous = Some(replaced);
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

    /// Records the result in the log and in the view for operators.
    async fn finish(
        &self,
        state: &ReloadState,
        result: Result<Reloaded, ReloadError>,
        request: &ReloadRequest<'_>,
    ) -> Result<Reloaded, ReloadError> {
        let mut view = ConfigurationView::clone(&self.view.load());
        match &result {
            Ok(Reloaded { live, restart, .. }) => {
                let (live, restart) = (live.join(", "), restart.join(", "));
                tracing::info!(actor = request.actor, live, restart, "{}", request.action);
                logs::set_level(state.current.config.log.level);
            }
            Err(error) => {
                let refused = Move::now(Stage::Refused, request.actor, &error.to_string());
                let appended = self.append_audit(&view.revision, view.generation, refused.clone()).await;
                if let Err(error) = appended {
                    tracing::warn!(%error, "the audit log has no line of a refused configuration");
                }
                view.refused = Some(refused);
            }
        }
        view.previous = state.previous.as_ref().map(|before| before.revision.clone());
        self.view.store(Arc::new(view));
        result
    }

    /// Appends a line to the audit log.
    async fn append_audit(
        &self,
        revision: &VersionId,
        generation: u64,
        step: Move,
    ) -> Result<(), ReloadError> {
        let entry = AuditEntry::of_configuration(revision.clone(), generation, step);
        let store = Arc::clone(self.deployments.store());
        let write = background::run(move || store.append_host_entry(entry));
        Ok(write.await.map_err(|_| ReloadError::Stopping)??)
    }
}

/// Adds the changed keys to the move of an audit line.
fn audit_move(step: &Move, answer: &Reloaded) -> Move {
    let mut reason = step.reason.clone();
    for (what, keys) in [("counts now", &answer.live), ("needs a restart", &answer.restart)] {
        if !keys.is_empty() {
            reason.push_str(&format!("; {what}: {}", keys.join(", ")));
        }
    }
    Move { reason, ..step.clone() }
}
