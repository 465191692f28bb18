//! Where compiled code is kept: in the data folder of a host, or in the cache folder of a user who checks a component.

use std::{
    env, fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use bulkhead_config::Config;
use bulkhead_os::{damaged_files::DamagedFiles, data_folder, files};
use bulkhead_runtime::{
    compile::CacheSettings,
    keys::{MasterKey, SecretFileError},
};
use bulkhead_service::SECRETS_DIR;
use rustix::process::geteuid;

use super::HOST_KEY;

/// Folder of compiled code, in the data folder and in the user's own.
const COMPILED: &str = "compiled";
/// Folder of this program in a user's cache folder.
const PROGRAM: &str = "bulkhead";

/// The cache for a check of a component.
pub(super) struct CheckCache {
    /// Its folder and key.
    pub(super) settings: CacheSettings,
    /// Whether it is the host's. Only the host knows which files it needs, so that only the host deletes some.
    pub(super) is_of_host: bool,
}

/// Returns the cache of a host, unless the configuration turns it off, or the disk does not take the secret that
/// authenticates compiled code.
///
/// # Errors
/// Fails if there is a secret that cannot be used.
pub(super) fn of_host(
    config: &Config,
    damaged_files: &DamagedFiles,
) -> Result<Option<CacheSettings>, SecretFileError> {
    if !config.sandbox.cache {
        return Ok(None);
    }
    match MasterKey::load_or_generate(&key_file(&config.data_dir), damaged_files) {
        Ok(key) => Ok(Some(settings(config, &config.data_dir, key))),
        Err(error @ SecretFileError::Io(..)) if files::disk_fault(&config.data_dir).is_some() => {
            tracing::warn!(%error, "compiled code is not cached, every start compiles");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the cache for a check of a component: the host's if its data folder belongs to the user, has a key and is not of a
/// newer version, else one in the user's cache folder. `None` where the configuration turns it off, or neither folder can be
/// used.
pub(super) fn of_check(config: &Config) -> Option<CheckCache> {
    if !config.sandbox.cache {
        return None;
    }
    let data = &config.data_dir;
    if is_own(data)
        && data_folder::check(data).is_ok()
        && let Ok(Some(key)) = MasterKey::load(&key_file(data))
    {
        return Some(CheckCache { settings: settings(config, data, key), is_of_host: true });
    }
    let own = user_folder()?;
    let key = MasterKey::load_or_generate(&key_file(&own), &DamagedFiles::default()).ok()?;
    Some(CheckCache { settings: settings(config, &own, key), is_of_host: false })
}

fn settings(config: &Config, folder: &Path, key: MasterKey) -> CacheSettings {
    CacheSettings { folder: folder.join(COMPILED), key, bytes: config.sandbox.cache_bytes }
}

fn key_file(folder: &Path) -> PathBuf {
    folder.join(SECRETS_DIR).join(HOST_KEY)
}

/// Returns whether a folder belongs to the user: a host could not read files that another user writes into its folder.
fn is_own(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|metadata| metadata.uid() == geteuid().as_raw())
}

/// Returns this program's folder in the user's cache folder.
fn user_folder() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(variable("HOME")?.join(".cache"));
    Some(variable("XDG_CACHE_HOME").or_else(home)?.join(PROGRAM))
}
