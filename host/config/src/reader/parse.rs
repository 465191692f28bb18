//! Converts untyped values into plain ones.

use bulkhead_os::files;

use super::tree::{Node, Table, Value};
use crate::{problems::Origin, secret};

pub(super) fn text(value: Value) -> Result<String, String> {
    match value {
        Value::Text(text) | Value::String(text) => Ok(text),
        other => Err(format!("must be a string, not {}", other.kind())),
    }
}

pub(super) fn integer(value: Value) -> Result<i64, String> {
    match value {
        Value::Integer(number) => Ok(number),
        Value::Text(text) => text.trim().parse().map_err(|_| format!("must be a whole number, not `{text}`")),
        other => Err(format!("must be a whole number, not {}", other.kind())),
    }
}

pub(super) fn boolean(value: Value) -> Result<bool, String> {
    match value {
        Value::Boolean(flag) => Ok(flag),
        Value::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(format!("must be true or false, not `{text}`")),
        },
        other => Err(format!("must be true or false, not {}", other.kind())),
    }
}

/// Returns the entries of a list: a list, an indexed table, or text with commas.
pub(super) fn items(value: Value, origin: &Origin) -> Result<Vec<Node>, String> {
    match value {
        Value::List(nodes) => Ok(nodes),
        Value::Table(table) => indexed(table),
        Value::Text(text) | Value::String(text) => {
            let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            let node = |entry: &str| Node { origin: origin.clone(), value: Value::String(entry.to_owned()) };
            Ok(entries.map(node).collect())
        }
        other => Err(format!("must be a list, not {}", other.kind())),
    }
}

/// Returns the entries of a table whose keys are `0`, `1` and so on.
pub(super) fn indexed(table: Table) -> Result<Vec<Node>, String> {
    let mut nodes = Vec::with_capacity(table.len());
    for (key, node) in table {
        let Ok(index) = key.parse::<u32>() else {
            return Err("must be a list, not a table".to_owned());
        };
        nodes.push((index, node));
    }
    nodes.sort_by_key(|(index, _)| *index);
    Ok(nodes.into_iter().map(|(_, node)| node).collect())
}

/// Turns each text of a list into a table that has it under the key `short`.
pub(super) fn texts_to_tables(Node { origin, value }: Node, short: &str) -> Node {
    let table = |node: Node| match node.value {
        Value::Text(_) | Value::String(_) => {
            let origin = node.origin.clone();
            Node { origin, value: Value::Table(Table::from([(short.to_owned(), node)])) }
        }
        _ => node,
    };
    let value = match value {
        Value::List(nodes) => Value::List(nodes.into_iter().map(table).collect()),
        Value::Table(nodes) => {
            Value::Table(nodes.into_iter().map(|(index, node)| (index, table(node))).collect())
        }
        text @ (Value::Text(_) | Value::String(_)) => {
            let nodes = items(text, &origin).unwrap_or_default();
            Value::List(nodes.into_iter().map(table).collect())
        }
        other => other,
    };
    Node { origin, value }
}

/// How a secret is written, in the reference.
pub(super) const SECRET: &str = "text, file:PATH or credential:NAME";

/// Returns a secret, which may be in the file of `file:PATH` or `credential:NAME`; error texts never show it.
pub(super) fn secret(value: Value) -> Result<String, String> {
    let written = text(value)?;
    let secret = match secret::named_file(&written)? {
        None => written,
        Some(path) => {
            let held =
                files::read_text(&path).map_err(|error| secret::unreadable(&written, &path, &error))?;
            let line = held.strip_suffix('\n').unwrap_or(&held);
            line.strip_suffix('\r').unwrap_or(line).to_owned()
        }
    };
    if secret.trim().is_empty() {
        return Err("must not be empty".to_owned());
    }
    Ok(secret)
}
