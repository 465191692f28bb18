//! Resolves Spring's placeholders: `${name}` is the value of another property.

use std::collections::BTreeMap;

use super::property::{Property, folded};

/// Most placeholders that resolve into one value.
const MAX_PLACEHOLDERS: usize = 100;
/// Greatest length of a value, bytes.
const MAX_BYTES: usize = 64 << 10;

/// The values of a file's properties by their names as Spring compares them.
pub(super) struct PropertyValues<'p>(BTreeMap<String, &'p str>);

impl<'p> PropertyValues<'p> {
    /// Returns the values of some properties; the last one of a name wins.
    pub(super) fn new(properties: &'p [Property]) -> Self {
        Self(properties.iter().map(|property| (property.name(), property.text.as_str())).collect())
    }

    /// Replaces the placeholders in a text. Returns `None` where one of them names no property of the file: a value
    /// from the environment or a default does not belong into the result.
    pub(super) fn resolve(&self, text: &str) -> Option<String> {
        // Texts that are not read yet, the next one last.
        let (mut out, mut open, mut replaced) = (String::new(), vec![text], 0);
        while let Some(text) = open.pop() {
            let (before, placeholder) = text.split_once("${").map_or((text, None), |(a, b)| (a, Some(b)));
            out.push_str(before);
            let Some(rest) = placeholder else { continue };
            replaced += 1;
            if replaced > MAX_PLACEHOLDERS || out.len() > MAX_BYTES {
                return None;
            }
            let (name, after) = rest.split_once('}')?;
            let name = name.split_once(':').map_or(name, |(name, _default)| name);
            open.push(after);
            open.push(self.0.get(&folded(name))?);
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_config::import::yaml;

    use super::{super::property::properties, *};

    #[test]
    fn placeholders_resolve_to_file_values() {
        let file =
            "sso: { url: https://i, realm: \"${sso.name}\", name: r }\nloop: ${loop}\nwide: ${wide}${wide}\n";
        let properties = properties(yaml::documents(file).unwrap().remove(0));
        let values = PropertyValues::new(&properties);
        assert_eq!(values.resolve("${sso.url}/realms/${SSO.Realm}/x").unwrap(), "https://i/realms/r/x");
        assert_eq!(values.resolve("${sso.url:x}").unwrap(), "https://i");
        assert_eq!(values.resolve("none").unwrap(), "none");
        for text in ["${other}", "${other:x}", "${sso.url", "${loop}", "${wide}"] {
            assert_eq!(values.resolve(text), None, "{text}");
        }
    }
}
