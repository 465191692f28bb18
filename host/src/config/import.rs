//! Converts the configurations of replaced services.

mod convert;
mod property;
mod triage;
mod yaml;

pub use triage::import_triage_yml;

use convert::Conversion;

/// Why a file could not be converted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{text}", if *line == 0 { String::new() } else { format!("line {line}: ") })]
pub struct ImportError {
    /// Its line, from 1; 0 means the file as a whole.
    pub line: usize,
    /// What is wrong and how to mend it.
    pub text: String,
}

impl ImportError {
    fn at(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into() }
    }
}

/// A converted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The same settings for us.
    pub toml: String,
    /// What was not carried over or needs a look, one line each.
    pub notes: Vec<String>,
}

/// Converts the text of `application.yml`: nested or dotted names, one document or several.
///
/// Documents that Spring reads for a profile only are left out.
///
/// # Errors
/// When the text is not YAML.
pub fn import_application_yml(text: &str) -> Result<Imported, ImportError> {
    let mut conversion = Conversion::default();
    for document in yaml::documents(text)?.into_iter().map(property::properties) {
        let profile = document.iter().find(|p| p.name() == "spring.config.activate.onprofile");
        match profile {
            None => document.iter().for_each(|property| conversion.property(property)),
            Some(p) => conversion.note(p.line, format!("settings of profile {} are left out", p.text)),
        }
    }
    Ok(conversion.finish())
}
