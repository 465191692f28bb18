//! The configuration, read anew while the host runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde::Serialize;
use tokio::sync::Mutex;

use super::{DeployError, Expected, Rehearsed, Roster, VersionId};
use crate::{
    background,
    config::{
        Loaded, Problems,
        slots::{Limits, Slot as Settings, SlotName},
    },
};

/// Reads the configuration as at the start.
pub type Source = Arc<dyn Fn() -> Result<Loaded, Problems> + Send + Sync>;

/// Keys below a slot that count at once; of `config`, `rollout` and `signatures` all.
const LIVE: [&str; 8] =
    ["cpu_ms", "deadline_ms", "response_bytes", "grants", "reuse", "config", "rollout", "signatures"];

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
}

/// What came of reading the configuration anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reloaded {
    /// Keys that have changed and count now.
    pub live: Vec<String>,
    /// Keys that have changed and count once the host is restarted.
    pub restart: Vec<String>,
    /// Slots whose component answers under other settings now.
    pub versions: Vec<Reversioned>,
}

/// A slot that has another version by its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reversioned {
    /// Which.
    pub slot: &'static str,
    /// The version that answers; a rollback goes back to the one before, and its settings.
    pub version: VersionId,
}

type Set = BTreeMap<String, [u8; 32]>;

/// Reads the configuration anew and has the slots follow.
pub struct Reloader {
    source: Option<Source>,
    roster: Arc<Roster>,
    /// Digests of the keys that count, see [`Loaded::set`]; whoever reloads holds them.
    running: Mutex<Set>,
}

impl fmt::Debug for Reloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloader").field("roster", &self.roster).finish_non_exhaustive()
    }
}

impl Reloader {
    /// A host runs with the keys that are set in `running`; `source` reads them anew.
    pub fn new(running: Set, source: Option<Source>, roster: Arc<Roster>) -> Self {
        Self { source, roster, running: Mutex::new(running) }
    }

    /// Reads the configuration anew. Every slot's component is tried under its new settings before the first of them
    /// counts, so that a configuration that one of them cannot run under changes nothing.
    ///
    /// # Errors
    /// Why everything is as it was; [`DeployError`] of a later slot only when an earlier one has switched already, which
    /// then has its new settings.
    pub async fn reload(&self, actor: &str, reason: &str) -> Result<Reloaded, ReloadError> {
        let source = self.source.clone().ok_or(ReloadError::NoSource)?;
        let mut running = self.running.lock().await;
        let read = background::run(move || source()).await;
        let loaded = read.map_err(|_| stopping())?.map_err(ReloadError::Unsound)?;
        let slots = self.roster.each();
        let (live, restart) =
            sort(changes(&running, &loaded.set), |name| slots.iter().any(|slot| slot.slot() == name));
        let mut rehearsed = Vec::new();
        for slot in slots {
            let name = slot.slot();
            let settings = live_settings(&slot.settings(), loaded.config.slots.get(name));
            let rehearsal = slot.rehearse(settings).await;
            rehearsed
                .push((name, rehearsal.map_err(|error| ReloadError::Slot { slot: name.as_str(), error })?));
        }
        let mut versions = Vec::new();
        for (name, rehearsal) in rehearsed {
            let slot = name.as_str();
            versions.extend(rehearsal.version().map(|version| Reversioned { slot, version }));
            perform(rehearsal, actor, reason).await.map_err(|error| ReloadError::Slot { slot, error })?;
        }
        // What waits for a restart is said again next time: it does not count yet.
        let waits = |key: &str| restart.iter().any(|waiting| waiting == key);
        running.retain(|key, _| waits(key));
        running.extend(loaded.set.into_iter().filter(|(key, _)| !waits(key)));
        tracing::info!(
            actor,
            live = live.join(", "),
            restart = restart.join(", "),
            "the configuration has been read anew"
        );
        Ok(Reloaded { live, restart, versions })
    }
}

fn stopping() -> ReloadError {
    ReloadError::Slot { slot: "all", error: DeployError::Stopping }
}

async fn perform(rehearsal: Box<dyn Rehearsed>, actor: &str, reason: &str) -> Result<(), DeployError> {
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let expected = Expected {
        generation: rehearsal.generation(),
        actor: actor.to_owned(),
        reason: format!("the configuration was read anew{reason}"),
    };
    rehearsal.perform(expected).await
}

/// Keys whose values differ.
fn changes(before: &Set, after: &Set) -> BTreeSet<String> {
    let keys = before.keys().chain(after.keys());
    keys.filter(|key| before.get(*key) != after.get(*key)).cloned().collect()
}

/// Keys that count at once, and those that wait for a restart.
fn sort(keys: BTreeSet<String>, is_used: impl Fn(SlotName) -> bool) -> (Vec<String>, Vec<String>) {
    let is_live = |key: &String| {
        let mut parts = key.split('.');
        let (Some("slots"), Some(slot), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return false;
        };
        let slot = SlotName::ALL.into_iter().find(|known| known.as_str() == slot);
        slot.is_some_and(&is_used) && LIVE.contains(&name)
    };
    keys.into_iter().partition(is_live)
}

/// The settings of a running slot with what counts at once taken from others.
fn live_settings(running: &Settings, wanted: &Settings) -> Settings {
    let Limits { cpu_ms, deadline, response_bytes, .. } = wanted.limits;
    Settings {
        limits: Limits { cpu_ms, deadline, response_bytes, ..running.limits.clone() },
        grants: wanted.grants.clone(),
        reuse: wanted.reuse,
        config: wanted.config.clone(),
        rollout: wanted.rollout.clone(),
        signatures: wanted.signatures.clone(),
        ..running.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::tests::settings;

    #[test]
    fn keys_are_told_apart_by_when_they_count() {
        let keys = [
            "slots.captcha.cpu_ms",
            "slots.captcha.config.mode",
            "slots.captcha.rollout.margin_percent",
            "slots.captcha.max_concurrent",
            "slots.captcha.component",
            "slots.status.cpu_ms",
            "server.listen",
            "captcha.sites.shop.secret",
        ];
        let keys = keys.map(str::to_owned).into();
        let (live, restart) = sort(keys, |slot| slot == SlotName::Captcha);
        assert_eq!(
            live,
            ["slots.captcha.config.mode", "slots.captcha.cpu_ms", "slots.captcha.rollout.margin_percent"]
        );
        assert_eq!(restart.len(), 5, "{restart:?}");
    }

    #[test]
    fn what_counts_at_once_is_taken_and_the_rest_left() {
        let wanted = Settings {
            limits: Limits { cpu_ms: 7, max_concurrent: 99, memory_bytes: 1, ..Limits::DEFAULT },
            grants: vec!["wasi:io/poll".into()],
            reuse: true,
            models: Some(Vec::new()),
            ..settings()
        };
        let live = live_settings(&settings(), &wanted);
        assert_eq!((live.limits.cpu_ms, live.reuse, live.grants.len()), (7, true, 1));
        let Limits { max_concurrent, memory_bytes, .. } = live.limits;
        assert_eq!(
            (max_concurrent, memory_bytes),
            (Limits::DEFAULT.max_concurrent, Limits::DEFAULT.memory_bytes)
        );
        assert_eq!(live.models, None);
    }
}
