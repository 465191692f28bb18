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
    /// The texts, and how many of them are labelled.
    read: OnceLock<(Vec<String>, usize)>,
}

impl Examples {
    /// Takes labelled texts and a description.
    pub(crate) fn new(labelled: Vec<String>, description: Option<&str>) -> Self {
        Self { written: [None, None], read: OnceLock::from(texts(labelled, description)) }
    }

    /// Takes their JSON, which is checked. What is not text counts as missing.
    pub(crate) fn checked(labelled: Option<Box<RawValue>>, description: Option<Box<RawValue>>) -> Self {
        Self { written: [labelled, description], read: OnceLock::new() }
    }

    /// Returns how many of the texts are labelled; the others are lines of the description.
    pub fn labelled(&self) -> usize {
        self.all().1
    }

    fn all(&self) -> &(Vec<String>, usize) {
        self.read.get_or_init(|| {
            let [labelled, description] = &self.written;
            texts(read(labelled.as_deref()), read::<Option<String>>(description.as_deref()).as_deref())
        })
    }
}

impl Deref for Examples {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.all().0
    }
}

impl<'e> IntoIterator for &'e Examples {
    type Item = &'e String;
    type IntoIter = slice::Iter<'e, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn texts(mut labelled: Vec<String>, description: Option<&str>) -> (Vec<String>, usize) {
    labelled.retain(|text| !text.trim().is_empty());
    let count = labelled.len();
    let lines = description.unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty());
    labelled.extend(lines.map(str::to_owned));
    (labelled, count)
}

fn read<T: DeserializeOwned + Default>(json: Option<&RawValue>) -> T {
    json.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default()
}
