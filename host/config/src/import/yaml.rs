//! Parses YAML into a tree. Aliases are replaced by their anchors' values, and `<<` merges the members of other tables.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};

use super::ImportError;

/// Deeper than any configuration, shallower than the stack.
const MOST_DEEP: usize = 64;
/// Most values that aliases may expand to: more than any configuration repeats, and some megabytes at most.
const MOST_COPIED: usize = 100_000;

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its line, from 1; for an alias, the line of its anchor.
    pub line: usize,
    /// What was written.
    pub value: Value,
    /// Whether its name, where it has one, is in quotes.
    pub is_name_quoted: bool,
    /// Values in it, with itself.
    size: usize,
    /// Levels in it, with itself.
    depth: usize,
}

/// What was written, before it is converted to a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Anything that is neither list nor table; `plain` without quotes, so that it may be a number or nothing.
    Scalar {
        /// The text, without quotes.
        text: String,
        /// Whether it had no quotes.
        plain: bool,
    },
    /// Values in their order.
    List(Vec<Node>),
    /// Members in their order, no name twice: the last counts.
    Table(Vec<(String, Node)>),
}

impl Node {
    fn new(line: usize, value: Value, (size, depth): (usize, usize)) -> Self {
        Self { line, value, is_name_quoted: false, size, depth }
    }

    fn scalar(line: usize, text: String, plain: bool) -> Self {
        Self::new(line, Value::Scalar { text, plain }, (1, 1))
    }

    fn list(line: usize, nodes: Vec<Self>) -> Self {
        let measured = measure(nodes.iter());
        Self::new(line, Value::List(nodes), measured)
    }

    fn table(line: usize, all: impl Iterator<Item = (String, Self)>) -> Self {
        let mut members: Vec<(String, Self)> = Vec::new();
        let mut places = HashMap::new();
        for (name, node) in all {
            match places.get(&name).and_then(|place: &usize| members.get_mut(*place)) {
                Some((_, old)) => *old = node,
                None => {
                    places.insert(name.clone(), members.len());
                    members.push((name, node));
                }
            }
        }
        let measured = measure(members.iter().map(|(_, node)| node));
        Self::new(line, Value::Table(members), measured)
    }

    /// Returns whether nothing was written, or a word that means nothing.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }
}

fn measure<'n>(nodes: impl Iterator<Item = &'n Node>) -> (usize, usize) {
    nodes.fold((1, 1), |(size, depth), node| (size + node.size, depth.max(1 + node.depth)))
}

/// Returns the documents of a text.
///
/// # Errors
/// When the text is not YAML.
pub fn documents(text: &str) -> Result<Vec<Node>, ImportError> {
    let mut reader = Reader { parser: Parser::new_from_str(text), anchors: HashMap::new(), copied: 0 };
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(documents),
            (Event::DocumentEnd, _) => reader.anchors.clear(),
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (event, line) => documents.push(reader.node(event, line, 1)?),
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// Complete values by the number of their anchor.
    anchors: HashMap<usize, Node>,
    /// Values that aliases have expanded to so far.
    copied: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, usize), ImportError> {
        match self.parser.next() {
            Some(Ok((event, span))) => Ok((event, span.start.line())),
            Some(Err(error)) => Err(not_yaml(&error)),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    fn node(&mut self, event: Event<'t>, line: usize, depth: usize) -> Result<Node, ImportError> {
        if depth > MOST_DEEP {
            return Err(too_deep(line));
        }
        let (anchor, node) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                (anchor, Node::scalar(line, text.into_owned(), plain))
            }
            Event::SequenceStart(anchor, ..) => (anchor, self.sequence(line, depth)?),
            Event::MappingStart(anchor, ..) => (anchor, self.mapping(line, depth)?),
            Event::Alias(anchor) => return self.alias(anchor, line, depth),
            _ => return Err(ImportError::at(line, "ends too early")),
        };
        // 0 means no anchor.
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn alias(&mut self, anchor: usize, line: usize, depth: usize) -> Result<Node, ImportError> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(ImportError::at(line, "an alias is inside of its own anchor; write the value out"));
        };
        if depth + node.depth > MOST_DEEP + 1 {
            return Err(too_deep(line));
        }
        self.copied += node.size;
        if self.copied > MOST_COPIED {
            let text = format!("aliases expand to more than {MOST_COPIED} values; use fewer");
            return Err(ImportError::at(line, text));
        }
        Ok(node.clone())
    }

    fn sequence(&mut self, line: usize, depth: usize) -> Result<Node, ImportError> {
        let mut nodes = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Node::list(line, nodes)),
                (event, line) => nodes.push(self.node(event, line, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, line: usize, depth: usize) -> Result<Node, ImportError> {
        let (mut merged, mut own) = (Vec::new(), Vec::new());
        loop {
            let (key, line_of_key) = match self.next()? {
                (Event::MappingEnd, _) => break,
                (event, line) => (self.node(event, line, depth + 1)?, line),
            };
            let Value::Scalar { text: name, plain } = key.value else {
                return Err(ImportError::at(line_of_key, "a name must be plain text"));
            };
            let (event, line) = self.next()?;
            let node = self.node(event, line, depth + 1)?;
            match plain && name == "<<" {
                true => merge(&mut merged, node, line)?,
                false => own.push((name, Node { is_name_quoted: !plain, ..node })),
            }
        }
        // A table's own members win over merged ones.
        Ok(Node::table(line, merged.into_iter().chain(own)))
    }
}

/// Merges the members of one table, or of several, of which the first wins.
fn merge(members: &mut Vec<(String, Node)>, node: Node, line: usize) -> Result<(), ImportError> {
    match node.value {
        Value::Table(others) => members.extend(others),
        Value::List(nodes) if nodes.iter().all(|node| matches!(node.value, Value::Table(_))) => {
            nodes.into_iter().rev().try_for_each(|node| merge(members, node, line))?;
        }
        _ => {
            return Err(ImportError::at(line, "<< merges a table or a list of tables, and nothing else"));
        }
    }
    Ok(())
}

fn too_deep(line: usize) -> ImportError {
    ImportError::at(line, "is nested too deeply")
}

fn not_yaml(error: &ScanError) -> ImportError {
    ImportError::at(error.marker().line(), format!("not valid YAML: {}", error.info()))
}
