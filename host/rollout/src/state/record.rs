//! Versions of a slot as they are recorded, and their moves from stage to stage.

use std::{collections::BTreeMap, time::SystemTime};

use bulkhead_config::slots::SlotSettings as Settings;
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::{VersionId, effective_settings, revision};
use bulkhead_telemetry::timestamp::rfc3339_millis;
use serde::{Deserialize, Serialize};

/// Number of a version's latest moves that are remembered; the audit log has all of them.
const MOVES: usize = 50;
/// The stage of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Its component has been received.
    Received,
    /// Its format, exports and imports are valid.
    Checked,
    /// It is compiled to machine code.
    Compiled,
    /// It has passed its self-test.
    Trialled,
    /// It answers a share of the calls.
    Candidate,
    /// It answers calls.
    Active,
    /// It answers no new calls and completes those that run.
    Draining,
    /// It answered before; its last call has ended.
    Retired,
    /// It may not answer.
    Refused,
}

impl Stage {
    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Checked => "checked",
            Self::Compiled => "compiled",
            Self::Trialled => "trialled",
            Self::Candidate => "candidate",
            Self::Active => "active",
            Self::Draining => "draining",
            Self::Retired => "retired",
            Self::Refused => "refused",
        }
    }
}

/// A move of a version to a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// The new stage.
    pub stage: Stage,
    /// Time, RFC 3339.
    pub at: String,
    /// Who made it: the name of a token, or the host itself.
    pub actor: String,
    /// Why.
    pub reason: String,
}

impl Move {
    /// Returns a move that is made now.
    pub fn now(stage: Stage, actor: &str, reason: &str) -> Self {
        let at = rfc3339_millis(SystemTime::now());
        Self { stage, at, actor: actor.to_owned(), reason: reason.to_owned() }
    }
}

/// A version and its history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// Its id.
    pub id: VersionId,
    /// Digest of its component: `sha256:` and hex digits.
    pub component: String,
    /// The revision of the slot's settings that it was made for.
    pub revision: String,
    /// Interfaces granted to it beyond the slot's defaults.
    pub grants: Vec<String>,
    /// Memory limit of a call, bytes.
    pub memory_bytes: usize,
    /// CPU limit of a call, milliseconds.
    pub cpu_ms: u64,
    /// All settings that the component receives, by key below the slot.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Size of its component, bytes.
    pub bytes: usize,
    /// Source of its component.
    pub source: String,
    /// The key that signed it, or `built in`.
    #[serde(default)]
    pub signed_by: Option<String>,
    /// When it was signed, Unix seconds.
    #[serde(default)]
    pub signed_at: Option<u64>,
    /// It is the version that the configuration names; a start uses what the configuration names then.
    pub configured: bool,
    /// Its moves, the last one last.
    pub moves: Vec<Move>,
}

impl VersionRecord {
    /// Returns a version that has just been received.
    pub fn new(component: ComponentDigest, bytes: usize, source: &str, settings: &Settings) -> Self {
        let revision = revision(settings);
        Self {
            id: VersionId::new(component, &revision),
            component: component.to_string(),
            revision,
            grants: settings.grants.clone(),
            memory_bytes: settings.limits.memory_bytes,
            cpu_ms: settings.limits.cpu_ms,
            settings: effective_settings(settings),
            bytes,
            source: source.to_owned(),
            signed_by: None,
            signed_at: None,
            configured: false,
            moves: Vec::new(),
        }
    }

    /// Returns its current stage.
    pub fn stage(&self) -> Stage {
        self.moves.last().map_or(Stage::Received, |last| last.stage)
    }

    /// Returns whether it has passed its self-test, so that it may answer.
    pub(crate) fn is_tried(&self) -> bool {
        match self.stage() {
            Stage::Received | Stage::Checked | Stage::Compiled | Stage::Refused => false,
            Stage::Trialled | Stage::Candidate | Stage::Active | Stage::Draining | Stage::Retired => true,
        }
    }

    /// Appends a move.
    pub fn step(&mut self, step: Move) {
        self.moves.push(step);
        let surplus = self.moves.len().saturating_sub(MOVES);
        self.moves.drain(..surplus);
    }

    /// Returns whether `name` is its id, its component, or the first 8 or more hex digits of either.
    pub(crate) fn matches_name(&self, name: &str) -> bool {
        let name = name.strip_prefix("sha256:").unwrap_or(name);
        let component = self.component.strip_prefix("sha256:").unwrap_or(&self.component);
        name.len() >= 8 && (self.id.as_str().starts_with(name) || component.starts_with(name))
    }
}
