//! Opens the data folder of a host that starts, and logs what has become of its format.

use std::path::Path;

use bulkhead_os::data_folder::{DataFolder, FORMAT, Opened};

use super::SLOTS;

/// Opens the data folder for the time that the host runs.
///
/// # Errors
/// When the folder has the format of a newer version, or its format cannot be read.
pub(super) fn open(path: &Path) -> anyhow::Result<DataFolder> {
    let folder = DataFolder::open(path, SLOTS)?;
    match &folder.opened {
        Opened::Current => {}
        Opened::Upgraded { from, copy } => tracing::info!(
            from,
            to = FORMAT,
            copy = %copy.display(),
            "the data folder is upgraded; the copy has the slots as they were"
        ),
        Opened::Restored => {
            tracing::warn!("the file that names the data folder's format was damaged and is written again");
        }
        Opened::Kept { reason } => tracing::warn!(
            %reason,
            "the data folder is used as it is and not upgraded; the next start tries again"
        ),
    }
    Ok(folder)
}
