use std::{collections::BTreeMap, time::SystemTime};

use serde::{Deserialize, Serialize};

use crate::{
    compile::ComponentDigest,
    config::slots::Slot as Settings,
    slots::{VersionId, given, revision},
    telemetry::timestamp::rfc3339_millis,
};

/// Moves remembered of one version; the audit log has them all.
const MOVES: usize = 50;
/// Where a version stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Its component is here.
    Received,
    /// Its form, exports and imports fit.
    Checked,
    /// It has machine code.
    Compiled,
    /// It has passed its self-test.
    Trialled,
    /// It answers a share of the calls.
    Candidate,
    /// It answers.
    Active,
    /// It answers no new calls and ends those it has.
    Draining,
    /// It answered once; its last call has ended.
    Retired,
    /// It may not answer.
    Refused,
}

impl Stage {
    /// The name on the wire.
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

/// A step of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Where it went.
    pub stage: Stage,
    /// When, RFC 3339.
    pub at: String,
    /// Who did it: the name of a token, or the host itself.
    pub actor: String,
    /// Why.
    pub reason: String,
}

impl Move {
    /// A step that is made now.
    pub fn now(stage: Stage, actor: &str, reason: &str) -> Self {
        let at = rfc3339_millis(SystemTime::now());
        Self { stage, at, actor: actor.to_owned(), reason: reason.to_owned() }
    }
}

/// A version and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub id: VersionId,
    /// `sha256:` and the hex digits of its component.
    pub component: String,
    /// The revision of the slot's settings that it is for.
    pub revision: String,
    /// Interfaces granted to it beyond the slot's own.
    pub grants: Vec<String>,
    /// Memory that a call of it may use, bytes.
    pub memory_bytes: usize,
    /// Processor time that a call of it may use, milliseconds.
    pub cpu_ms: u64,
    /// Everything that it is given, by key below the slot.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Size of its component, bytes.
    pub bytes: usize,
    /// Where its component came from.
    pub source: String,
    /// The key that signed it, or `built in`.
    #[serde(default)]
    pub signed_by: Option<String>,
    /// When it was signed, Unix seconds.
    #[serde(default)]
    pub signed_at: Option<u64>,
    /// It is the one that the configuration names: the host starts with whatever that is then.
    pub configured: bool,
    /// Its steps, the last one last.
    pub moves: Vec<Move>,
}

impl Record {
    /// A version that has just been received.
    pub fn new(component: ComponentDigest, bytes: usize, source: &str, settings: &Settings) -> Self {
        let revision = revision(settings);
        Self {
            id: VersionId::new(component, &revision),
            component: component.to_string(),
            revision,
            grants: settings.grants.clone(),
            memory_bytes: settings.limits.memory_bytes,
            cpu_ms: settings.limits.cpu_ms,
            settings: given(settings),
            bytes,
            source: source.to_owned(),
            signed_by: None,
            signed_at: None,
            configured: false,
            moves: Vec::new(),
        }
    }

    /// Where it stands.
    pub fn stage(&self) -> Stage {
        self.moves.last().map_or(Stage::Received, |last| last.stage)
    }

    /// Whether it has passed its trial, so that it may answer.
    pub fn is_tried(&self) -> bool {
        match self.stage() {
            Stage::Received | Stage::Checked | Stage::Compiled | Stage::Refused => false,
            Stage::Trialled | Stage::Candidate | Stage::Active | Stage::Draining | Stage::Retired => true,
        }
    }

    /// Adds a step.
    pub fn step(&mut self, step: Move) {
        self.moves.push(step);
        let surplus = self.moves.len().saturating_sub(MOVES);
        self.moves.drain(..surplus);
    }

    /// Whether `name` means this version: its id, its component, or the first 8 or more hex digits of either.
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.strip_prefix("sha256:").unwrap_or(name);
        let component = self.component.strip_prefix("sha256:").unwrap_or(&self.component);
        name.len() >= 8 && (self.id.as_str().starts_with(name) || component.starts_with(name))
    }
}
