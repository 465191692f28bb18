//! Reads the TOML file into the tree.

use std::{ops::Range, sync::Arc};

use toml::de::{DeTable, DeValue};

use crate::{
    problems::{Origin, Problem},
    reader::tree::{ChosenNames, Node, Table, Value},
};

/// Reads TOML text; keys are converted to snake_case, chosen names stay as they are.
pub(super) fn read(name: &str, text: &str, names: &ChosenNames, problems: &mut Vec<Problem>) -> Table {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut file = File { name: name.into(), text, names, problems };
    for error in errors {
        let origin = file.origin(&error.span().unwrap_or_default());
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        file.problems.push(Problem::new(origin, "", format!("not valid TOML: {message}")));
    }
    file.table(document.get_ref(), &mut Vec::new())
}

struct File<'a> {
    name: Arc<str>,
    text: &'a str,
    names: &'a ChosenNames,
    problems: &'a mut Vec<Problem>,
}

impl File<'_> {
    fn origin(&self, span: &Range<usize>) -> Origin {
        let before = self.text.as_bytes().iter().take(span.start);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        Origin::File { name: Arc::clone(&self.name), line }
    }

    fn table(&mut self, table: &DeTable<'_>, path: &mut Vec<String>) -> Table {
        let literal = self.names.are_below(path);
        let mut out = Table::new();
        for (key, value) in table {
            let written = key.get_ref();
            let name = if literal { written.to_string() } else { written.replace('-', "_") };
            path.push(name.clone());
            let origin = self.origin(&key.span());
            let node = Node { value: self.value(value.get_ref(), path), origin: origin.clone() };
            if out.insert(name, node).is_some() {
                let text = "is given twice, with dashes and with underscores; remove one";
                self.problems.push(Problem::new(origin, path.join("."), text));
            }
            path.pop();
        }
        out
    }

    fn value(&mut self, value: &DeValue<'_>, path: &mut Vec<String>) -> Value {
        match value {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(flag) => Value::Boolean(*flag),
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
                .map_or(Value::Other("a number beyond 64 bits"), Value::Integer),
            DeValue::Float(_) => Value::Other("a number with a fraction"),
            DeValue::Datetime(_) => Value::Other("a date"),
            DeValue::Table(table) => Value::Table(self.table(table, path)),
            DeValue::Array(items) => {
                let node = |item: &toml::Spanned<DeValue<'_>>| Node {
                    origin: self.origin(&item.span()),
                    value: self.value(item.get_ref(), path),
                };
                Value::List(items.iter().map(node).collect())
            }
        }
    }
}
