//! YAML as Spring sees it: a list of properties with dotted names.

use bulkhead_config::import::yaml::{Node, Value};

use super::scalar::{self, Plain};
use crate::spring;

/// A setting with its name taken apart.
#[derive(Debug)]
pub(super) struct Property {
    /// The name split at its dots, with list positions as numbers.
    pub(super) words: Vec<String>,
    /// The value as the Java service has it.
    pub(super) text: String,
    /// Its line, from 1.
    pub(super) line: usize,
    /// How the value follows from what is written.
    pub(super) reading: Reading,
}

/// How a value follows from what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// It is the same text.
    AsWritten,
    /// A number or a boolean without quotes, of which Java prints another text.
    Converted,
    /// A number with a fraction or an exponent without quotes; Java's text of it is not known here.
    Fraction,
}

impl Property {
    /// The name as Spring compares it.
    pub(super) fn name(&self) -> String {
        fold(&self.words)
    }
}

/// A name as Spring compares it.
pub(super) fn folded(name: &str) -> String {
    fold(&split(name))
}

fn fold(words: &[String]) -> String {
    words.iter().map(|word| spring::fold(word)).collect::<Vec<_>>().join(".")
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
        Value::Scalar { text, plain } => {
            if !nothing && !words.is_empty() {
                let (text, reading) = if plain { read(text) } else { (text, Reading::AsWritten) };
                out.push(Property { words: words.clone(), text, line: node.line, reading });
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
                match is_site_key(words, &name, &node) {
                    true => words.push(name),
                    false => words.extend(split(&name)),
                }
                collect(node, words, out);
                words.truncate(above);
            }
        }
    }
}

/// Whether a name with dots is the key of one site: a quoted name is one name. With nothing below it,
/// it is a property as Spring takes it apart, in quotes or not.
fn is_site_key(above: &[String], name: &str, node: &Node) -> bool {
    node.is_name_quoted
        && !name.contains(['[', ']'])
        && matches!(node.value, Value::Table(_))
        && above.iter().map(String::as_str).eq(["captcha", "sites"])
}

/// What the Java service makes of a scalar without quotes.
fn read(text: String) -> (String, Reading) {
    let converted = match scalar::resolve(&text) {
        Plain::Integer(digits) => digits,
        Plain::Boolean(flag) => flag.to_string(),
        Plain::Fraction => return (text, Reading::Fraction),
        Plain::Text => return (text, Reading::AsWritten),
    };
    let reading = if converted == text { Reading::AsWritten } else { Reading::Converted };
    (converted, reading)
}

/// Splits `a.b[0].c` and `a.[b.c].d`, where brackets hold an index or a name with dots.
pub(super) fn split(name: &str) -> Vec<String> {
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
