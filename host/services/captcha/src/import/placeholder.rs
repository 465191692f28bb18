//! Spring's placeholders: `${name}` is the value of another property.

use std::collections::BTreeMap;

use super::property::{Property, folded};

/// Most placeholders that one value is made of.
const MOST_PLACEHOLDERS: usize = 100;
/// Most bytes of a value.
const MOST_BYTES: usize = 64 << 10;

/// The properties of a file by their names as Spring compares them.
pub(super) struct Known<'p>(BTreeMap<String, &'p str>);

impl<'p> Known<'p> {
    /// The last property of a name counts.
    pub(super) fn new(properties: &'p [Property]) -> Self {
        Self(properties.iter().map(|property| (property.name(), property.text.as_str())).collect())
    }

    /// A text with its placeholders replaced. None where one of them names no property of the file: what the environment or
    /// a default would give is not for a file to hold.
    pub(super) fn resolve(&self, text: &str) -> Option<String> {
        // Texts still to be read, the next one last.
        let (mut out, mut open, mut replaced) = (String::new(), vec![text], 0);
        while let Some(text) = open.pop() {
            let (before, placeholder) = text.split_once("${").map_or((text, None), |(a, b)| (a, Some(b)));
            out.push_str(before);
            let Some(rest) = placeholder else { continue };
            replaced += 1;
            if replaced > MOST_PLACEHOLDERS || out.len() > MOST_BYTES {
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
    fn placeholders_are_what_the_file_says() {
        let file =
            "sso: { url: https://i, realm: \"${sso.name}\", name: r }\nloop: ${loop}\nwide: ${wide}${wide}\n";
        let properties = properties(yaml::documents(file).unwrap().remove(0));
        let known = Known::new(&properties);
        assert_eq!(known.resolve("${sso.url}/realms/${SSO.Realm}/x").unwrap(), "https://i/realms/r/x");
        assert_eq!(known.resolve("${sso.url:x}").unwrap(), "https://i");
        assert_eq!(known.resolve("none").unwrap(), "none");
        for text in ["${other}", "${other:x}", "${sso.url", "${loop}", "${wide}"] {
            assert_eq!(known.resolve(text), None, "{text}");
        }
    }
}
