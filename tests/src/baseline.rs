//! The figures of a run of the benchmarks, kept in a file, and which of them became worse since.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display},
    fs::{self, File},
    path::Path,
};

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
    /// Adds a row; one whose name is indented belongs to the last one that is not. Where `less_is_better` is unknown, the
    /// units in the names decide.
    pub fn add(&mut self, section: &str, name: &str, value: f64, less_is_better: Option<bool>) {
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
        let less_is_better =
            less_is_better.unwrap_or_else(|| is_less_better(name) || is_less_better(section));
        self.figures.insert(key, RunFigure { value, less_is_better });
    }

    /// The sections that were measured.
    fn sections(&self) -> BTreeSet<&str> {
        self.figures.keys().map(|key| section_of(key)).collect()
    }
}

impl RunFigure {
    fn is_worse_than(&self, before: f64) -> bool {
        match self.less_is_better {
            true => before > 0.0 && self.value > before * BOUND,
            false => before > self.value * BOUND,
        }
    }
}

/// The figures of a file by section and row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline(BTreeMap<String, f64>);

impl Baseline {
    /// Reads a file. A figure without a value, such as a quotient of zero, is left out.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| named(path, &error))?;
        let values: BTreeMap<String, Option<f64>> =
            serde_json::from_str(&text).map_err(|error| named(path, &error))?;
        Ok(Self(values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()))
    }

    /// Reads a file that will be written, or creates it, so that it is known before a run that both can be done.
    ///
    /// # Errors
    /// Why it cannot be read or written.
    pub fn read_or_create(path: &Path) -> Result<Self, String> {
        let file = File::options().create(true).append(true).open(path);
        let length = file.and_then(|file| file.metadata()).map_err(|error| named(path, &error))?.len();
        if length == 0 { Ok(Self::default()) } else { Self::read(path) }
    }

    /// Takes the figures of the sections that were measured in place of what it has of them.
    pub fn replace(&mut self, run: &RunFigures) {
        let measured = run.sections();
        self.0.retain(|key, _| !measured.contains(section_of(key)));
        self.0.extend(run.figures.iter().map(|(key, figure)| (key.clone(), figure.value)));
    }

    /// Writes a file.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        fs::write(path, serde_json::to_string_pretty(&self.0).unwrap() + "\n")
            .map_err(|error| named(path, &error))
    }

    /// Compares a run with this.
    pub fn compare<'r>(&'r self, run: &'r RunFigures) -> Comparison<'r> {
        let measured = run.sections();
        let mut comparison = Comparison::default();
        for (key, now) in &run.figures {
            match self.0.get(key) {
                Some(before) => {
                    comparison.both += 1;
                    if now.is_worse_than(*before) {
                        comparison.worse.push((key.as_str(), *before, now.value));
                    }
                }
                None => comparison.new.push(key),
            }
        }
        let missing = self.0.keys().filter(|key| measured.contains(section_of(key)));
        comparison.gone = missing.filter(|key| !run.figures.contains_key(*key)).map(String::as_str).collect();
        comparison
    }
}

/// What a run has beside a file.
#[derive(Debug, Default, PartialEq)]
pub struct Comparison<'r> {
    /// The number of rows that both have.
    pub both: usize,
    /// Those that are worse by more than the bound: before, and now.
    pub worse: Vec<(&'r str, f64, f64)>,
    /// The rows that the file does not have.
    pub new: Vec<&'r str>,
    /// The rows of measured sections that the run does not have.
    pub gone: Vec<&'r str>,
}

impl Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} rows are worse by a factor of {BOUND}", self.worse.len(), self.both)?;
        for (key, before, now) in &self.worse {
            writeln!(f, "  {key}: {now:.2}, before {before:.2}")?;
        }
        for (rows, place) in [(&self.new, "this run"), (&self.gone, "the file")] {
            if !rows.is_empty() {
                writeln!(f, "rows that only {place} has, not compared: {}", rows.len())?;
            }
            rows.iter().try_for_each(|key| writeln!(f, "  {key}"))?;
        }
        Ok(())
    }
}

fn named(path: &Path, error: &dyn Display) -> String {
    format!("{}: {error}", path.display())
}

/// Returns the section of a row.
fn section_of(key: &str) -> &str {
    key.split_once(" / ").map_or(key, |(section, _)| section)
}

fn is_less_better(text: &str) -> bool {
    text.split(|character: char| !character.is_alphanumeric()).any(|word| LESS.contains(&word))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn run(rows: &[(&str, f64)]) -> RunFigures {
        let mut run = RunFigures::default();
        rows.iter().for_each(|(name, value)| run.add("captcha", name, *value, None));
        run
    }

    fn baseline(rows: &[(&str, f64)]) -> Baseline {
        let mut baseline = Baseline::default();
        baseline.replace(&run(rows));
        baseline
    }

    #[test]
    fn rows_beyond_the_bound_are_worse() {
        let before = baseline(&[("rate", 100.0), ("p50, ms", 1.0), ("lost", 50.0), ("from zero, ms", 0.0)]);
        let now = run(&[("rate", 88.0), ("p50, ms", 1.16), ("lost", 0.0), ("from zero, ms", 9.0)]);
        let Comparison { both, worse, .. } = before.compare(&now);
        assert_eq!(both, 4);
        assert_eq!(worse, [("captcha / lost", 50.0, 0.0), ("captcha / p50, ms", 1.0, 1.16)]);
        let better = run(&[("rate", 300.0), ("p50, ms", 0.1), ("lost", 50.0), ("from zero, ms", 0.0)]);
        assert!(before.compare(&better).worse.is_empty());
    }

    #[test]
    fn rows_of_one_side_are_named() {
        let mut before = baseline(&[("a rate", 1.0), ("renamed", 1.0)]);
        let mut other = RunFigures::default();
        other.add("status", "not measured now", 1.0, None);
        before.replace(&other);
        let now = run(&[("a rate", 1.0), ("    p99, ms", 2.0)]);
        let comparison = before.compare(&now);
        assert_eq!(comparison.new, ["captcha / a rate / p99, ms"]);
        assert_eq!(comparison.gone, ["captcha / renamed"]);
        let text = comparison.to_string();
        assert!(text.starts_with("0 of 1 rows are worse"), "{text}");
        for only in
            ["this run has, not compared: 1\n  captcha / a rate / p99", "the file has, not compared: 1\n"]
        {
            assert!(text.contains(only), "{text}");
        }
    }

    #[test]
    fn unreadable_files_are_named_before_a_run() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("before.json");
        assert!(Baseline::read(&path).unwrap_err().contains("before.json: "));
        for broken in ["", "{", "[]", r#"{"a": "b"}"#] {
            fs::write(&path, broken).unwrap();
            assert!(Baseline::read(&path).unwrap_err().contains("before.json: "), "{broken}");
            assert_eq!(Baseline::read_or_create(&path).is_ok(), broken.is_empty(), "{broken}");
            assert_eq!(fs::read_to_string(&path).unwrap(), broken, "it stays as it was");
        }
        assert!(Baseline::read_or_create(&folder.path().join("no/folder.json")).is_err());
        assert!(Baseline::read_or_create(folder.path()).is_err());
    }

    #[test]
    fn figures_without_value_are_left_out() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("before.json");
        let mut saved = Baseline::read_or_create(&path).unwrap();
        saved.replace(&run(&[("quotient of zero", f64::INFINITY), ("rate", 2.0)]));
        saved.write(&path).unwrap();
        assert_eq!(Baseline::read(&path).unwrap(), baseline(&[("rate", 2.0)]));
    }
}
