//! The cache of compact tokenizers next to packed weights, so that the next start need not read megabytes of JSON.

use std::io::Write as _;
use std::path::Path;

use crate::atomic_file;
use crate::error::LoadError;
use crate::folder::contents;
use crate::progress::Silent;
use bulkhead_tokenizers::Tokenizer;

/// Opens the tokenizer of a `tokenizer.json`, from its compact form in `folder` if there is a sound one; else reads
/// the JSON and stores its compact form there. A fault of the folder is logged and costs only time.
pub(super) fn tokenizer(path: &Path, folder: Option<&Path>) -> Result<Tokenizer, LoadError> {
    let Some(folder) = folder else { return Ok(Tokenizer::open(path)?) };
    let digest = contents::sha256(path, &mut Silent)?;
    let compact = folder.join(format!("{digest}.tokenizer"));
    if compact.is_file() {
        #[cfg(unix)]
        make_private(&compact);
        match Tokenizer::open_compact(&compact, path) {
            Ok(tokenizer) => return Ok(tokenizer),
            Err(error) => tracing::warn!(%error, "a compact tokenizer is unusable and is built again"),
        }
    }
    let tokenizer = Tokenizer::open(path)?;
    if let Some(bytes) = tokenizer.compact_bytes()
        && let Err(error) = atomic_file::write_private(&compact, |file| file.write_all(bytes))
    {
        tracing::warn!(%error, path = %compact.display(), "a compact tokenizer cannot be stored, continuing without it");
    }
    Ok(tokenizer)
}

/// Lets only the file's owner read it: earlier builds let all users read it.
#[cfg(unix)]
fn make_private(path: &Path) {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    let is_open = path.metadata().is_ok_and(|data| data.permissions().mode() & 0o077 != 0);
    if is_open && let Err(error) = set_permissions(path, Permissions::from_mode(0o600)) {
        tracing::warn!(%error, path = %path.display(), "others may read a compact tokenizer");
    }
}
