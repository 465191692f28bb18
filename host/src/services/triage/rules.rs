//! The file that says what tickets are about.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bulkhead_triage::configuration::{Configuration, Invalid, Settings};

/// A configuration that has been checked, and the same as JSON for the component.
#[derive(Clone, Debug)]
pub struct Rules {
    json: String,
    configuration: Configuration,
}

/// Why there is none; names the file.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The file.
    #[error("cannot read {}: {error}; mend tickets.triage", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Its form.
    #[error("{} is not a triage configuration: {reason}", path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// Where, and what.
        reason: String,
    },
    /// What it says.
    #[error("{}: {invalid}", path.display())]
    Invalid {
        /// Which.
        path: PathBuf,
        /// All violations.
        invalid: Invalid,
    },
}

impl Rules {
    /// Reads a TOML or JSON file.
    ///
    /// # Errors
    /// When it cannot be read, or with everything that is wrong with it.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        let text = fs::read_to_string(path).map_err(|error| RulesError::Read { path: path.into(), error })?;
        let form = |reason| RulesError::Form { path: path.into(), reason };
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let settings = match is_json {
            true => serde_json::from_str(&text).map_err(|error| form(error.to_string()))?,
            false => toml::from_str(&text).map_err(|error| form(error.to_string()))?,
        };
        Self::new(settings).map_err(|invalid| RulesError::Invalid { path: path.into(), invalid })
    }

    /// Reads TOML.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::new(toml::from_str(text).map_err(|error| Invalid(vec![error.to_string()]))?)
    }

    fn new(settings: Settings) -> Result<Self, Invalid> {
        let json = serde_json::to_string(&settings).map_err(|error| Invalid(vec![error.to_string()]))?;
        Ok(Self { json, configuration: Configuration::new(settings)? })
    }

    /// As the component reads it.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The same, checked.
    pub const fn configuration(&self) -> &Configuration {
        &self.configuration
    }
}
