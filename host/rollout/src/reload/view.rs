//! Views of the configuration and of reloads, as the operators' API returns them.

use serde::Serialize;

use crate::{Move, VersionId};

/// The result of a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reloaded {
    /// The configuration's revision.
    pub revision: VersionId,
    /// Changed keys that are in effect now.
    pub live: Vec<String>,
    /// Changed keys that take effect at a restart.
    pub restart: Vec<String>,
    /// Slots whose component answers under other settings now.
    pub versions: Vec<Reversioned>,
    /// Problems that did not prevent the reload: unusable component files.
    pub warnings: Vec<String>,
}

/// A slot that has another version because of its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reversioned {
    /// The slot.
    pub slot: &'static str,
    /// The version that answers; a rollback returns to the previous one and its settings.
    pub version: VersionId,
}

/// The current configuration.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigurationView {
    /// Its revision.
    pub revision: VersionId,
    /// Number of reloads and undos since the start.
    pub generation: u64,
    /// Since when, by whom and why; the stage is `active`.
    #[serde(flatten)]
    pub last: Move,
    /// The revision that an undo returns to.
    pub previous: Option<VersionId>,
    /// Keys that need a restart to take effect.
    pub restart: Vec<String>,
    /// The last attempt to reload it, if that has failed.
    pub refused: Option<Move>,
}
