//! Converts the configuration of the Java service.

mod convert;
mod java_properties;
mod placeholder;
mod property;
mod scalar;
#[cfg(test)]
mod tests;

use bulkhead_config::import::{ImportError, Imported, yaml};

use self::{convert::Conversion, placeholder::Known};

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
