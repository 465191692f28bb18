//! YAML as Spring sees it: a list of properties with dotted names.

use super::yaml::{Node, Value};
use crate::config::spring;

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

/// The properties of a document.
pub(super) fn properties(document: Node) -> Vec<Property> {
    let mut out = Vec::new();
    collect(document, &mut Vec::new(), &mut out);
    out
}

fn collect(node: Node, words: &mut Vec<String>, out: &mut Vec<Property>) {
    let nothing = node.is_nothing();
    match node.value {
        Value::Scalar { text, .. } => {
            if !nothing && !words.is_empty() {
                out.push(Property { words: words.clone(), text, line: node.line });
            }
        }
        Value::List(nodes) => {
            for (index, node) in nodes.into_iter().enumerate() {
                words.push(index.to_string());
                collect(node, words, out);
                words.pop();
            }
        }
        Value::Table(members) => {
            for (name, node) in members {
                let above = words.len();
                words.extend(split(&name));
                collect(node, words, out);
                words.truncate(above);
            }
        }
    }
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
