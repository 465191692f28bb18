//! Converts the configurations of replaced services.

mod convert;
mod java_properties;
mod placeholder;
mod property;
mod scalar;
mod triage;
mod yaml;

pub use triage::import_triage_yml;

use self::{convert::Conversion, placeholder::Known};

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

/// Form of an application's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application.yml`: nested or dotted names, one document or several.
    Yaml,
    /// `application.properties`: Java's format.
    Properties,
}

/// Converts the captcha service's `application.yml` or `application.properties`.
///
/// Documents that Spring reads for a profile only are left out. Placeholders that name another property of the file get its
/// value.
///
/// # Errors
/// When the text does not have the format.
pub fn import_application(text: &str, format: Format) -> Result<Imported, ImportError> {
    let documents = match format {
        Format::Yaml => yaml::documents(text)?.into_iter().map(property::properties).collect(),
        Format::Properties => java_properties::documents(text)?,
    };
    let (mut conversion, mut properties) = (Conversion::default(), Vec::new());
    for document in documents {
        match document.iter().find(|property| property.name() == "spring.config.activate.onprofile") {
            None => properties.extend(document),
            Some(p) => conversion.note(p.line, format!("settings of profile {} are left out", p.text)),
        }
    }
    let known = Known::new(&properties);
    properties.iter().for_each(|property| conversion.property(property, &known));
    Ok(conversion.finish())
}
