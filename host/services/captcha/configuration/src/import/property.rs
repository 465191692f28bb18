//! Converts YAML to a list of properties with dotted names, as Spring reads it.

use bulkhead_config::import::yaml::{Node, Value};

use super::scalar::{self, PlainScalar};
use crate::spring;

/// A property with its split name.
#[derive(Debug)]
pub(super) struct Property {
    /// The name split at its dots, with list positions as numbers.
    pub(super) words: Vec<String>,
    /// The value as the Java service reads it.
    pub(super) text: String,
    /// Its line, from 1.
    pub(super) line: usize,
    /// How the Java service reads the written value.
    pub(super) reading: ScalarReading,
}

/// How the Java service reads a written value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarReading {
    /// It reads the same text.
    AsWritten,
    /// It reads a number or a boolean without quotes, which Java prints as another text.
    Converted,
    /// It reads a number with a fraction or an exponent without quotes; Java's text of it is not known here.
    Fraction,
}

impl Property {
    /// Returns the name as Spring compares it.
    pub(super) fn name(&self) -> String {
        fold(&self.words)
    }
}

/// Returns a name as Spring compares it.
pub(super) fn folded(name: &str) -> String {
    fold(&split(name))
}

fn fold(words: &[String]) -> String {
    words.iter().map(|word| spring::fold(word)).collect::<Vec<_>>().join(".")
}

/// Returns the properties of a document.
pub(super) fn properties(document: Node) -> Vec<Property> {
    let mut out = Vec::new();
    collect(document, &mut Vec::new(), &mut out);
    out
}

fn collect(node: Node, words: &mut Vec<String>, out: &mut Vec<Property>) {
    let is_null = node.is_nothing();
    let is_empty = match &node.value {
        Value::Scalar { .. } => is_null,
        Value::List(nodes) => nodes.is_empty(),
        Value::Table(members) => members.is_empty(),
    };
    if is_empty && matches!(words.as_slice(), [captcha, sites, _] if captcha == "captcha" && sites == "sites")
    {
        // A site without settings is a site, too.
        let reading = ScalarReading::AsWritten;
        return out.push(Property { words: words.clone(), text: String::new(), line: node.line, reading });
    }
    match node.value {
        Value::Scalar { text, plain } => {
            if !is_null && !words.is_empty() {
                let (text, reading) = if plain { read(text) } else { (text, ScalarReading::AsWritten) };
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

/// Checks whether a name with dots is the key of one site: a quoted name with a table is one name. Without a table,
/// Spring splits it, in quotes or not.
fn is_site_key(above: &[String], name: &str, node: &Node) -> bool {
    node.is_name_quoted
        && !name.contains(['[', ']'])
        && matches!(node.value, Value::Table(_))
        && above.iter().map(String::as_str).eq(["captcha", "sites"])
}

/// Reads a scalar without quotes as the Java service does.
fn read(text: String) -> (String, ScalarReading) {
    let converted = match scalar::resolve(&text) {
        PlainScalar::Integer(digits) => digits,
        PlainScalar::Boolean(flag) => flag.to_string(),
        PlainScalar::Fraction => return (text, ScalarReading::Fraction),
        PlainScalar::Text => return (text, ScalarReading::AsWritten),
    };
    let reading = if converted == text { ScalarReading::AsWritten } else { ScalarReading::Converted };
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
