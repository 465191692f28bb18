//! Accesses files with errors that name them, and locks out a second setup.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::command::Outcome;

/// Reads a text file.
pub fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

/// Writes a file, with the folders above it.
pub fn write(path: &Path, content: &[u8]) -> Outcome {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    fs::write(path, content).map_err(|error| failed("write", path, &error))
}

/// Returns whether the file has exactly this content.
pub fn holds(path: &Path, content: &[u8]) -> bool {
    fs::read(path).is_ok_and(|present| present == content)
}

/// Creates a folder and those above it.
pub fn create_folder(path: &Path) -> Outcome {
    fs::create_dir_all(path).map_err(|error| failed("create", path, &error))
}

/// Removes a folder with all its content; a missing one is not an error.
pub fn remove_folder(path: &Path) -> Outcome {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Moves a finished folder in one step, so that an incomplete one is never found.
pub fn rename(from: &Path, to: &Path) -> Outcome {
    fs::rename(from, to).map_err(|error| failed("move", from, &error))
}

/// Copies a file into a folder under its own name.
pub fn copy_into(file: &Path, folder: &Path) -> Outcome {
    let name = file.file_name().unwrap_or_default();
    fs::copy(file, folder.join(name)).map_err(|error| failed("copy", file, &error))?;
    Ok(())
}

/// Returns the entries of a folder, sorted by name; none for a missing folder.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Waits until no other setup holds this folder; the lock ends with the returned file.
pub fn lock(folder: &Path) -> Outcome<File> {
    create_folder(folder)?;
    let path = folder.join(".setup-lock");
    let file = File::create(&path).map_err(|error| failed("create", &path, &error))?;
    file.lock().map_err(|error| failed("lock", &path, &error))?;
    Ok(file)
}

fn failed(action: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {action} {}: {error}", path.display())
}
