//! Converts the configuration of the replaced Java service.

mod convert;
mod java_properties;
mod placeholder;
mod property;
mod scalar;
#[cfg(test)]
mod tests;

use bulkhead_config::import::{ImportError, Imported, yaml};

use self::{convert::ApplicationConversion, placeholder::PropertyValues};

/// The format of an application's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationFormat {
    /// `application.yml`: nested or dotted names, one document or several.
    Yaml,
    /// `application.properties`: Java's format.
    Properties,
}

/// Converts the captcha service's `application.yml` or `application.properties`.
///
/// Leaves out documents that Spring reads for a profile only. Replaces placeholders that name another property of the
/// file.
///
/// # Errors
/// Fails when the text does not have the format.
pub fn import_application(text: &str, format: ApplicationFormat) -> Result<Imported, ImportError> {
    let documents = match format {
        ApplicationFormat::Yaml => yaml::documents(text)?.into_iter().map(property::properties).collect(),
        ApplicationFormat::Properties => java_properties::documents(text)?,
    };
    let (mut conversion, mut properties) = (ApplicationConversion::default(), Vec::new());
    for document in documents {
        match document.iter().find(|property| property.name() == "spring.config.activate.onprofile") {
            None => properties.extend(document),
            Some(p) => conversion.note(p.line, format!("settings of profile {} are left out", p.text)),
        }
    }
    let values = PropertyValues::new(&properties);
    properties.iter().for_each(|property| conversion.property(property, &values));
    Ok(conversion.finish())
}
