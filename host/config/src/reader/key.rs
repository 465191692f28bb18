//! Reads one key with its name, explanation and type.

use std::{fmt::Display, ops::RangeInclusive, path::PathBuf, time::Duration};

use super::{
    KeyDoc, Reader,
    parse::{self, SECRET},
    tree::{Node, Value},
};
use crate::secret::Secret;

/// A key about to be read. The last method of the chain names the type and reads the value.
pub struct KeyReader<'r> {
    reader: &'r mut Reader,
    name: &'static str,
    doc: &'static str,
    aliases: &'static [&'static str],
    unit: Option<&'static str>,
    default: Option<&'static str>,
    required: bool,
}

impl<'r> KeyReader<'r> {
    pub(super) fn new(reader: &'r mut Reader, name: &'static str, doc: &'static str) -> Self {
        Self { reader, name, doc, aliases: &[], unit: None, default: None, required: false }
    }

    /// Sets other names for the same key.
    pub fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Sets the unit in the reference.
    pub fn unit(self, unit: &'static str) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// Sets the reference's text for a default that depends on other keys.
    pub fn default_text(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Makes a missing value a problem.
    pub fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// Reads `true` or `false`.
    pub fn flag(self, default: bool) -> bool {
        self.read("true or false", default.to_string(), parse::boolean).unwrap_or(default)
    }

    /// Reads `true`, `false` or nothing.
    pub fn optional_flag(self) -> Option<bool> {
        self.read("true or false", String::new(), parse::boolean)
    }

    /// Reads a whole number within a range.
    pub fn integer<T>(self, range: RangeInclusive<i64>, default: T) -> T
    where
        T: TryFrom<i64> + Display,
    {
        let shown = default.to_string();
        self.number(range, shown).unwrap_or(default)
    }

    /// Reads a whole number within a range, or nothing.
    pub fn optional_integer<T>(self, range: RangeInclusive<i64>) -> Option<T>
    where
        T: TryFrom<i64>,
    {
        self.number(range, String::new())
    }

    /// Reads a duration in whole seconds.
    pub fn seconds(self, range: RangeInclusive<i64>, default: Duration) -> Duration {
        let shown = default.as_secs().to_string();
        self.unit("seconds").number(range, shown).map_or(default, Duration::from_secs)
    }

    /// Reads a duration in whole milliseconds.
    pub fn millis(self, range: RangeInclusive<i64>, default: Duration) -> Duration {
        let shown = default.as_millis().to_string();
        self.unit("milliseconds").number(range, shown).map_or(default, Duration::from_millis)
    }

    /// Reads free text, or nothing.
    pub fn text(self) -> Option<String> {
        self.optional("text", |text| Ok(text.to_owned()))
    }

    /// Reads a path, or nothing.
    pub fn path(self) -> Option<PathBuf> {
        self.optional("path", |text| match text {
            "" => Err("must not be empty".to_owned()),
            path => Ok(PathBuf::from(path)),
        })
    }

    /// Reads text of a format.
    pub fn parsed<T: Display>(
        self,
        form: &str,
        default: T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> T {
        let shown = default.to_string();
        self.read(form, shown, |value| parse(&parse::text(value)?)).unwrap_or(default)
    }

    /// Reads text of a format, or nothing.
    pub fn optional<T>(self, form: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        self.read(form, String::new(), |value| parse(&parse::text(value)?))
    }

    /// Reads one of a few words.
    pub fn choice<T: Copy + PartialEq>(self, words: &[(&'static str, T)], default: T) -> T {
        let shown = words.iter().find(|(_, value)| *value == default).map_or("", |(word, _)| word);
        let known = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let pick = |value: Value| {
            let text = parse::text(value)?;
            let same = |(word, _): &&(&str, T)| word.eq_ignore_ascii_case(&text.replace('_', "-"));
            let found = words.iter().find(same).map(|(_, value)| *value);
            found.ok_or_else(|| format!("must be one of {known}, not `{text}`"))
        };
        self.read(&format!("one of {known}"), shown.to_owned(), pick).unwrap_or(default)
    }

    /// Reads a list of texts of a format, each checked separately; `None` when it is left out or wrong.
    pub fn list<T>(self, form: &str, parse: impl Fn(&str) -> Result<T, String>) -> Option<Vec<T>> {
        self.entries(&format!("list of {form}"), true, |value| parse(&parse::text(value)?))
    }

    /// Reads a secret: text, `file:PATH` or `credential:NAME`.
    pub fn secret(self) -> Option<Secret> {
        self.read(SECRET, String::new(), parse::secret).map(Secret::new)
    }

    /// Reads secrets of at least `least` characters, each as text, `file:PATH` or `credential:NAME`.
    pub fn secrets(self, least: usize) -> Vec<Secret> {
        let parse = |value| {
            let secret = parse::secret(value)?;
            if secret.chars().count() < least {
                return Err(format!("must have at least {least} characters; make a longer one"));
            }
            Ok(Secret::new(secret))
        };
        self.entries(&format!("list of {SECRET}"), true, parse).unwrap_or_default()
    }

    /// Reads one secret or a list of them; text is always one secret.
    pub fn secret_or_list(self) -> Option<Vec<String>> {
        self.entries(&format!("{SECRET}, or a list"), false, parse::secret)
    }

    fn number<T: TryFrom<i64>>(self, range: RangeInclusive<i64>, default: String) -> Option<T> {
        let (least, most) = (*range.start(), *range.end());
        let form = format!("{least} to {most}");
        self.read(&form, default, |value| {
            let number = parse::integer(value)?;
            let inside = range.contains(&number).then(|| T::try_from(number).ok()).flatten();
            inside.ok_or_else(|| format!("must be from {least} to {most}, not {number}"))
        })
    }

    fn entries<T>(
        mut self,
        form: &str,
        split: bool,
        parse: impl Fn(Value) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let node = self.take(form, String::new())?;
        let nodes = match node.value {
            Value::Text(_) | Value::String(_) if !split => vec![node],
            value => match parse::items(value, &node.origin) {
                Ok(nodes) => nodes,
                Err(text) => {
                    self.reader.problem(self.name, text);
                    return None;
                }
            },
        };
        let (mut out, mut sound) = (Vec::with_capacity(nodes.len()), true);
        for (index, Node { origin, value }) in nodes.into_iter().enumerate() {
            let path = format!("{}.{index}", self.name);
            self.reader.remember(&path, origin);
            match parse(value) {
                Ok(entry) => out.push(entry),
                Err(text) => {
                    self.reader.problem(&path, text);
                    sound = false;
                }
            }
        }
        sound.then_some(out)
    }

    fn read<T>(
        mut self,
        form: &str,
        default: String,
        parse: impl FnOnce(Value) -> Result<T, String>,
    ) -> Option<T> {
        let node = self.take(form, default)?;
        match parse(node.value) {
            Ok(value) => Some(value),
            Err(text) => {
                self.reader.problem(self.name, text);
                None
            }
        }
    }

    fn take(&mut self, form: &str, default: String) -> Option<Node> {
        self.reader.document(KeyDoc {
            path: super::join(&self.reader.scope.label, self.name),
            default: self.default.map_or(default, str::to_owned),
            unit: self.unit.map_or(form.to_owned(), |unit| format!("{unit}, {form}")),
            doc: self.doc,
        });
        let mut found = self.reader.take(self.name);
        for alias in self.aliases {
            let Some(node) = self.reader.take(alias) else {
                continue;
            };
            if found.is_some() {
                self.reader.problem(alias, format!("is another name of {}; give one", self.name));
            } else {
                self.reader.remember(self.name, node.origin.clone());
                found = Some(node);
            }
        }
        if found.is_none() && self.required && !self.reader.is_documenting {
            self.reader.problem(self.name, "must be given");
        }
        found
    }
}
