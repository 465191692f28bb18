//! What stands at the head of a file between `---` lines, as YAML, or between `+++` lines, as TOML.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser};

/// The members that are understood; others are ignored.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub title: Option<String>,
    pub url: Option<String>,
    pub language: Option<String>,
    pub categories: Vec<String>,
}

/// Front matter and the rest; the reason if there is front matter that cannot be read, or that has no end.
pub(super) fn split(text: &str) -> Result<(FrontMatter, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let none = (FrontMatter::default(), text);
    let (line, rest) = text.trim_start().split_once('\n').unwrap_or_default();
    let (ends, sign): (&[&str], char) = match line.trim_end() {
        "---" => (&["---", "..."], ':'),
        "+++" => (&["+++"], '='),
        _ => return Ok(none),
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if ends.contains(&line.trim_end()) {
            let (front, body) = (rest.get(..end).unwrap_or_default(), rest.get(end + line.len()..));
            let yaml = if sign == '=' { Cow::Owned(as_yaml(front)) } else { Cow::Borrowed(front) };
            // Else text between two horizontal rules.
            let Some(found) = read(&yaml)? else { break };
            return Ok((found, body.unwrap_or_default()));
        }
        end += line.len();
    }
    match rest.lines().next().and_then(|line| member(line, sign)) {
        Some(_) if end == rest.len() => {
            Err(format!("its front matter has no end: a line `{}`", line.trim_end()))
        }
        // A horizontal rule.
        _ => Ok(none),
    }
}

/// Name and value of a member that a line begins.
fn member(line: &str, sign: char) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(sign)?;
    let name = name.trim_end();
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    (is_bare && (sign != ':' || value.is_empty() || value.starts_with(' '))).then_some((name, value))
}

/// The members before the first table of TOML: their strings and lists are written as in YAML.
fn as_yaml(toml: &str) -> String {
    let mut yaml = String::with_capacity(toml.len() + toml.len() / 8);
    for line in toml.lines().take_while(|line| !line.starts_with('[')) {
        match member(line.trim_start(), '=') {
            Some((name, value)) => yaml.extend([name, ":", " ", value.trim_start()]),
            // A list goes on.
            None => yaml.extend([" ", line]),
        }
        yaml.push('\n');
    }
    yaml
}

/// Reads the scalars and the lists of scalars on the top level; `None` if there is text in place of members.
fn read(yaml: &str) -> Result<Option<FrontMatter>, String> {
    let mut found = FrontMatter::default();
    let (mut depth, mut key) = (0_usize, None::<String>);
    for event in Parser::new_from_str(yaml) {
        let (event, _) = event.map_err(|fault| format!("its front matter cannot be read: {fault}"))?;
        match event {
            Event::SequenceStart(..) if depth == 0 => return Ok(None),
            Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
            Event::MappingEnd | Event::SequenceEnd => {
                depth = depth.saturating_sub(1);
                if depth == 1 {
                    key = None;
                }
            }
            Event::Scalar(value, ..) => match (depth, key.as_deref()) {
                (0, _) if !value.is_empty() => return Ok(None),
                (1, None) => key = Some(value.to_lowercase()),
                (1, Some(_)) => {
                    found.take(&key.take().unwrap_or_default(), value.into_owned());
                }
                (2, Some("categories")) => found.categories.push(value.into_owned()),
                _ => {}
            },
            _ => {}
        }
    }
    Ok(Some(found))
}

impl FrontMatter {
    fn take(&mut self, key: &str, value: String) {
        match key {
            "title" => self.title = Some(value),
            "url" => self.url = Some(value),
            "language" | "lang" => self.language = Some(value),
            "categories" | "category" => {
                self.categories.extend(value.split(',').map(|category| category.trim().to_owned()));
            }
            _ => {}
        }
    }
}
