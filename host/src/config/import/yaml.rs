//! YAML as Spring sees it: a list of properties with dotted names.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};

use super::ImportError;
use crate::config::spring;

/// Deeper than any configuration, shallower than the stack.
const MOST_DEEP: usize = 64;

/// A setting with its name taken apart.
#[derive(Debug)]
pub(super) struct Property {
    /// The name split at its dots, with list positions as numbers.
    pub(super) words: Vec<String>,
    /// The value as it is written.
    pub(super) text: String,
    /// Its line, from 1.
    pub(super) line: usize,
}

impl Property {
    /// The name as Spring compares it.
    pub(super) fn name(&self) -> String {
        self.words.iter().map(|word| spring::fold(word)).collect::<Vec<_>>().join(".")
    }
}

/// The properties of each document.
pub(super) fn documents(text: &str) -> Result<Vec<Vec<Property>>, ImportError> {
    let mut reader = Reader { parser: Parser::new_from_str(text), out: Vec::new() };
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(documents),
            (Event::DocumentEnd, _) => documents.push(std::mem::take(&mut reader.out)),
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (event, line) => reader.node(event, line, &mut Vec::new())?,
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    out: Vec<Property>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, usize), ImportError> {
        match self.parser.next() {
            Some(Ok((event, span))) => Ok((event, span.start.line())),
            Some(Err(error)) => Err(not_yaml(&error)),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    fn node(&mut self, event: Event<'t>, line: usize, name: &mut Vec<String>) -> Result<(), ImportError> {
        if name.len() > MOST_DEEP {
            return Err(ImportError { line, text: "is nested too deeply".to_owned() });
        }
        match event {
            Event::Scalar(text, style, ..) => {
                let nothing = matches!(&*text, "" | "~" | "null") && style == ScalarStyle::Plain;
                if !nothing && !name.is_empty() {
                    self.out.push(Property { words: name.clone(), text: text.into_owned(), line });
                }
                Ok(())
            }
            Event::SequenceStart(..) => self.sequence(name),
            Event::MappingStart(..) => self.mapping(name),
            _ => Err(ImportError { line, text: "aliases are not read; write the value out".to_owned() }),
        }
    }

    fn sequence(&mut self, name: &mut Vec<String>) -> Result<(), ImportError> {
        for index in 0.. {
            let (event, line) = self.next()?;
            if event == Event::SequenceEnd {
                break;
            }
            name.push(format!("{index}"));
            self.node(event, line, name)?;
            name.pop();
        }
        Ok(())
    }

    fn mapping(&mut self, name: &mut Vec<String>) -> Result<(), ImportError> {
        loop {
            let (key, line) = self.next()?;
            let key = match key {
                Event::MappingEnd => return Ok(()),
                Event::Scalar(key, ..) => key,
                _ => {
                    return Err(ImportError { line, text: "a name must be plain text".to_owned() });
                }
            };
            let above = name.len();
            name.extend(split(&key));
            let (event, line) = self.next()?;
            self.node(event, line, name)?;
            name.truncate(above);
        }
    }
}

fn not_yaml(error: &ScanError) -> ImportError {
    ImportError { line: error.marker().line(), text: format!("not valid YAML: {}", error.info()) }
}

/// Splits `a.b[0].c` and `a.[b.c].d`, where brackets hold an index or a name with dots.
fn split(name: &str) -> Vec<String> {
    let (mut words, mut word, mut bracket) = (Vec::new(), String::new(), false);
    for letter in name.chars() {
        match letter {
            '[' | ']' | '.' if letter != '.' || !bracket => {
                bracket = letter == '[';
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}
