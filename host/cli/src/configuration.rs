//! The argument that names the configuration file, and the layers that a configuration is read from.

use std::{
    io,
    path::{Path, PathBuf},
};

use bulkhead_config::{ConfigFile, Flag, HostSpec, Loaded, Problems, Sources, load};
use bulkhead_os::{data_folder, files};

use super::{CONFIG_VARIABLE, FLAG_VARIABLES};

/// Names the configuration file of a command.
#[derive(Clone, Debug, clap::Args)]
pub struct Configuration {
    /// TOML file; without one the defaults hold. `BULKHEAD_*` variables win over it, flags over those.
    #[arg(long, value_name = "FILE", env = CONFIG_VARIABLE)]
    pub config: Option<PathBuf>,
}

impl Configuration {
    /// Reads the configuration for the host that `spec` describes.
    ///
    /// # Errors
    /// See [`bulkhead_config::load`].
    pub fn load(&self, spec: &HostSpec, flags: Vec<Flag>) -> anyhow::Result<Loaded> {
        Ok(self.read(spec, flags)?)
    }

    /// Does the same, and returns the problems as they are.
    ///
    /// # Errors
    /// See [`bulkhead_config::load`].
    pub fn read(&self, spec: &HostSpec, flags: Vec<Flag>) -> Result<Loaded, Problems> {
        load(sources(self.config.as_deref(), flags)?, spec)
    }
}

/// Reads the layers of this process: the file, the environment and `flags`.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn sources(file: Option<&Path>, flags: Vec<Flag>) -> Result<Sources, Problems> {
    let mut sources = Sources::of_process(file, flags)?;
    // These set flags, not keys.
    sources.environment.retain(|(name, _)| !FLAG_VARIABLES.contains(&name.as_str()));
    Ok(sources)
}

/// Checks a file with this text as `bulkhead config check` does.
///
/// # Errors
/// See [`bulkhead_config::load`].
pub fn check(spec: &HostSpec, file: ConfigFile) -> Result<Loaded, Problems> {
    load(Sources { file: Some(file), ..sources(None, Vec::new())? }, spec)
}

/// Makes the data folder, as a host does, for a command that may be the first to write into it. If that fails, the next
/// write into it reports the error.
///
/// # Errors
/// When the folder has the format of a newer version.
pub fn make_data_folder(folder: &Path) -> io::Result<()> {
    let _ = files::make_data_folder(folder);
    match data_folder::check(folder) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Err(error),
        _ => Ok(()),
    }
}
