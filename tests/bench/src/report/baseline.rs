//! The figures of a run in a file, and what became slower since such a file was written.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::target::Target;

/// A figure that is worse by this factor became slower; less is what two runs differ by.
const BOUND: f64 = 1.15;

/// Words of rows and sections whose figures are better when they are smaller.
const LESS: [&str; 7] = ["us", "ms", "microseconds", "processor", "kB", "MB", "MiB"];

/// The figures of a run by section and row.
#[derive(Default)]
pub struct RunFigures {
    figures: BTreeMap<String, RunFigure>,
    /// The last row that belongs to no other.
    head: String,
}

struct RunFigure {
    value: f64,
    less_is_better: bool,
}

impl RunFigures {
    /// Adds a row; one whose name is indented belongs to the last one that is not.
    pub fn add(&mut self, section: &str, name: &str, value: f64, target: Target) {
        let row = name.trim_start();
        if row.len() == name.len() {
            self.head = name.to_owned();
        }
        let key = match row == self.head {
            true => format!("{section} / {row}"),
            false => format!("{section} / {} / {row}", self.head),
        };
        let numbered = |number: usize| if number == 1 { key.clone() } else { format!("{key} ({number})") };
        let key = (1..).map(numbered).find(|key| !self.figures.contains_key(key)).unwrap();
        let less_is_better = match target {
            Target::AtMost(_) => true,
            Target::AtLeast(_) => false,
            Target::None => is_less_better(name) || is_less_better(section),
        };
        self.figures.insert(key, RunFigure { value, less_is_better });
    }

    /// Writes the figures to a file, where those of sections that were not measured stay.
    pub fn save(&self, path: &Path) {
        let mut values = if path.exists() { read(path) } else { BTreeMap::new() };
        let measured: BTreeSet<_> = self.figures.keys().map(|key| section_of(key)).collect();
        values.retain(|key, _| !measured.contains(section_of(key)));
        values.extend(self.figures.iter().map(|(key, figure)| (key.clone(), figure.value)));
        fs::write(path, serde_json::to_string_pretty(&values).unwrap() + "\n").unwrap();
    }

    /// Prints the rows that are worse than in a file by more than the bound.
    pub fn compare(&self, path: &Path) {
        let before = read(path);
        let both = || self.figures.iter().filter_map(|(key, now)| Some((key, *before.get(key)?, now)));
        let slower: Vec<_> = both().filter(|(_, before, now)| now.is_worse_than(*before)).collect();
        println!("\n{} of {} rows are worse by a factor of {BOUND}", slower.len(), both().count());
        for (key, before, now) in slower {
            println!("  {key}: {:.2}, before {before:.2}", now.value);
        }
    }
}

impl RunFigure {
    fn is_worse_than(&self, before: f64) -> bool {
        let (better, worse) = if self.less_is_better { (before, self.value) } else { (self.value, before) };
        better > 0.0 && worse > better * BOUND
    }
}

/// Reads the figures of a file by section and row.
fn read(path: &Path) -> BTreeMap<String, f64> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the section of a row.
fn section_of(key: &str) -> &str {
    key.split_once(" / ").map_or(key, |(section, _)| section)
}

fn is_less_better(text: &str) -> bool {
    text.split(|character: char| !character.is_alphanumeric()).any(|word| LESS.contains(&word))
}
