//! Reads `[slots.NAME.watch]`, a folder whose new files become candidates.

use std::path::PathBuf;

use crate::reader::Reader;

/// Where new components are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The folder that they are moved into.
    pub folder: Option<PathBuf>,
    /// A new candidate's share of the calls, percent.
    pub weight: u8,
}

impl Watch {
    /// No folder, and no calls for a candidate before an operator decides.
    pub const DEFAULT: Self = Self { folder: None, weight: 0 };

    pub(super) fn read(reader: &mut Reader) -> Self {
        reader.table("watch", |r| Self {
            folder: r.key("folder", "Folder whose new files become candidates; move them in whole").path(),
            weight: r
                .key("weight", "Share of the calls that such a candidate answers from the start")
                .unit("percent of calls")
                .integer(0..=100, Self::DEFAULT.weight),
        })
    }
}
