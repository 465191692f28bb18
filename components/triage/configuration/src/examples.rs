//! Labelled texts of a category, which are read when first used.

use std::ops::Deref;
use std::slice;
use std::sync::OnceLock;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The labelled texts of a category, then the lines of its description, without blank ones. They are most of a
/// configuration, and a call needs those of one category: what the host has checked is read when first used.
#[derive(Debug, Clone)]
pub struct Examples {
    /// JSON of the labelled texts and of the description, until they are read.
    written: [Option<Box<RawValue>>; 2],
    read: OnceLock<Vec<String>>,
}

impl Examples {
    /// Takes labelled texts and a description.
    pub(crate) fn new(labelled: Vec<String>, description: Option<&str>) -> Self {
        Self { written: [None, None], read: OnceLock::from(texts(labelled, description)) }
    }

    /// Takes their JSON, which is checked. What is not text is none.
    pub(crate) fn checked(labelled: Option<Box<RawValue>>, description: Option<Box<RawValue>>) -> Self {
        Self { written: [labelled, description], read: OnceLock::new() }
    }
}

impl Deref for Examples {
    type Target = [String];

    fn deref(&self) -> &[String] {
        self.read.get_or_init(|| {
            let [labelled, description] = &self.written;
            texts(read(labelled.as_deref()), read::<Option<String>>(description.as_deref()).as_deref())
        })
    }
}

impl<'e> IntoIterator for &'e Examples {
    type Item = &'e String;
    type IntoIter = slice::Iter<'e, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn texts(labelled: Vec<String>, description: Option<&str>) -> Vec<String> {
    let lines = description.unwrap_or_default().lines().map(str::trim).map(str::to_owned);
    labelled.into_iter().chain(lines).filter(|text| !text.trim().is_empty()).collect()
}

fn read<T: DeserializeOwned + Default>(json: Option<&RawValue>) -> T {
    json.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default()
}
