//! What stands between `---` lines at the head of a file.

use saphyr_parser::{Event, Parser};

/// The members that are understood; others are ignored.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub title: Option<String>,
    pub url: Option<String>,
    pub language: Option<String>,
    pub categories: Vec<String>,
}

/// Front matter and the rest; the reason if there is front matter that is no YAML.
pub(super) fn split(text: &str) -> Result<(FrontMatter, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return Ok((FrontMatter::default(), text));
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let body = rest.get(end + line.len()..).unwrap_or_default();
            return Ok((read(rest.get(..end).unwrap_or_default())?, body));
        }
        end += line.len();
    }
    // A horizontal rule.
    Ok((FrontMatter::default(), text))
}

/// Reads the scalars and the lists of scalars on the top level.
fn read(yaml: &str) -> Result<FrontMatter, String> {
    let mut found = FrontMatter::default();
    let (mut depth, mut key) = (0_usize, None::<String>);
    for event in Parser::new_from_str(yaml) {
        let (event, _) = event.map_err(|fault| format!("its front matter is no YAML: {fault}"))?;
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
            Event::MappingEnd | Event::SequenceEnd => {
                depth = depth.saturating_sub(1);
                if depth == 1 {
                    key = None;
                }
            }
            Event::Scalar(value, ..) => match (depth, key.as_deref()) {
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
    Ok(found)
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
