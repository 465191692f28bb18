//! Front matter: YAML between `---` lines or TOML between `+++` lines at the head of a file.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::text::is_blank;

/// The text that lists the known members.
pub(super) const MEMBERS: &str = "front matter has title, url, language, categories";

/// The members that are understood, and the names of the others. An empty one counts as missing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub title: Option<String>,
    pub url: Option<String>,
    pub language: Option<String>,
    pub categories: Vec<String>,
    /// They are ignored and reported.
    pub others: Vec<String>,
}

/// A member that is understood.
#[derive(Debug, Clone, Copy)]
enum Member {
    Title,
    Url,
    Language,
    Categories,
}

impl Member {
    /// Returns the member with this name, in any case.
    fn of(name: &str) -> Option<Self> {
        match name.to_lowercase().as_str() {
            "title" => Some(Self::Title),
            "url" => Some(Self::Url),
            "language" | "lang" => Some(Self::Language),
            "categories" | "category" => Some(Self::Categories),
            _ => None,
        }
    }
}

/// Splits text into front matter and the rest; the reason if there is front matter that cannot be read, or that has
/// no end.
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

/// Returns name and value of a member that a line begins.
fn member(line: &str, sign: char) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(sign)?;
    let name = name.trim_end();
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    (is_bare && (sign != ':' || value.is_empty() || value.starts_with(' '))).then_some((name, value))
}

/// Returns the members before the first table of TOML as YAML: their strings and lists are written alike. Tables,
/// which are members too, leave only their names.
fn as_yaml(toml: &str) -> String {
    let mut yaml = String::with_capacity(toml.len() + toml.len() / 8);
    let mut lines = toml.lines().peekable();
    while let Some(line) = lines.next_if(|line| !line.starts_with('[')) {
        match member(line.trim_start(), '=') {
            Some((name, value)) => yaml.extend([name, ":", " ", value.trim_start()]),
            // A list goes on.
            None => yaml.extend([" ", line]),
        }
        yaml.push('\n');
    }
    for name in lines.filter_map(table) {
        yaml.extend([name, ":\n"]);
    }
    yaml
}

/// Returns the member that a line of TOML begins a table of: `menu` of `[menu.main]`.
fn table(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix('[')?.trim_start_matches('[').split_once(']')?;
    let name = name.trim_matches([' ', '"', '\'']);
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    // Else a list in a list.
    if is_name { name.split('.').next() } else { None }
}

/// Reads the scalars and the lists of scalars on the top level; `None` if there is text in place of members.
fn read(yaml: &str) -> Result<Option<FrontMatter>, String> {
    let mut found = FrontMatter::default();
    // The member whose value comes next, `Some(None)` if no document has it.
    let (mut depth, mut key) = (0_usize, None::<Option<Member>>);
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
            Event::Alias(..) if depth == 1 => key = None,
            Event::Scalar(value, style, ..) => match (depth, key) {
                (0, _) if !value.is_empty() => return Ok(None),
                (1, None) => key = Some(found.begin(value.into_owned())),
                (1, Some(member)) => {
                    key = None;
                    if let Some(member) = member.filter(|_| !is_empty(&value, style)) {
                        found.take(member, value.into_owned());
                    }
                }
                (2, Some(Some(Member::Categories))) if !is_empty(&value, style) => {
                    found.categories.push(value.into_owned());
                }
                _ => {}
            },
            _ => {}
        }
    }
    Ok(Some(found))
}

/// Returns whether a value is empty, or a YAML null.
fn is_empty(value: &str, style: ScalarStyle) -> bool {
    let is_null = style == ScalarStyle::Plain && matches!(value, "~" | "null" | "Null" | "NULL");
    is_null || is_blank(value)
}

impl FrontMatter {
    /// Returns the member with this name; records the name if no document has it.
    fn begin(&mut self, name: String) -> Option<Member> {
        let member = Member::of(&name);
        if member.is_none() {
            self.others.push(name);
        }
        member
    }

    fn take(&mut self, member: Member, value: String) {
        match member {
            Member::Title => self.title = Some(value),
            Member::Url => self.url = Some(value),
            Member::Language => self.language = Some(value),
            Member::Categories => {
                self.categories.extend(value.split(',').map(|category| category.trim().to_owned()));
            }
        }
    }
}
