//! Applies the `BULKHEAD_*` variables and the command-line flags to the tree.

use crate::{
    problems::{Origin, Problem},
    reader::tree::{self, ChosenNames, Node, Table, Value},
    slots::SLOTS,
};

const PREFIX: &str = "BULKHEAD_";

/// Applies `BULKHEAD_*` to the tree: `__` nests, case does not matter, `_0` or `__0` indexes a list, and `_` in a slot
/// id means a dash.
pub(super) fn apply(tree: &mut Table, names: &ChosenNames, environment: &[(String, String)]) {
    for (name, text) in environment {
        let Some(key) = strip_prefix(name, PREFIX) else {
            continue;
        };
        let path = key.to_ascii_lowercase().split("__").map(str::to_owned).collect();
        let path = names.adopt_spelling(tree, with_dashes(names, split_index(names, path)));
        let node = Node { origin: Origin::Environment(name.clone()), value: Value::Text(text.clone()) };
        tree::set(tree, &path, node);
    }
}

/// Applies one flag to the tree.
pub(super) fn apply_flag(tree: &mut Table, name: &str, path: &str, text: &str) {
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    let node = Node { origin: Origin::Flag(name.to_owned()), value: Value::Text(text.to_owned()) };
    tree::set(tree, &path, node);
}

/// Removes the variables that Kubernetes sets for services whose names look like our prefix.
pub(super) fn drop_service_links(environment: &mut Vec<(String, String)>, warnings: &mut Vec<Problem>) {
    let mut dropped = Vec::new();
    environment.retain(|(name, text)| {
        let link = is_service_link(name, text);
        if link && strip_prefix(name, PREFIX).is_some() {
            dropped.push(name.clone());
        }
        !link
    });
    if let Some(first) = dropped.first() {
        let text = format!(
            "ignored {} variable(s) that Kubernetes sets for a service called bulkhead ({}); \
             enableServiceLinks: false in the pod removes them",
            dropped.len(),
            dropped.join(", ")
        );
        warnings.push(Problem::new(Origin::Environment(first.clone()), "", text));
    }
}

fn is_service_link(name: &str, text: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let url = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| text.starts_with(scheme));
    name.starts_with("BULKHEAD_PORT")
        || name.starts_with("BULKHEAD_SERVICE_")
        || !name.contains("__")
            && (name.ends_with("_SERVICE_HOST")
                || name.contains("_SERVICE_PORT")
                || ["_TCP", "_UDP", "_SCTP"].iter().any(|end| name.contains(end)) && name.contains("_PORT_")
                || name.ends_with("_PORT") && url)
}

/// Splits `NAME_0` into `NAME` and `0`. Chosen names keep their digits.
fn split_index(names: &ChosenNames, path: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for segment in path {
        let index = segment.rsplit_once('_').filter(|(name, digits)| {
            !name.is_empty() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        });
        match index {
            Some((name, digits)) if !names.are_below(&out) && out != [SLOTS] => {
                out.extend([name.to_owned(), digits.to_owned()]);
            }
            _ => out.push(segment),
        }
    }
    out
}

/// Replaces underscores in a slot id by dashes, since a slot id has no underscore.
fn with_dashes(names: &ChosenNames, mut path: Vec<String>) -> Vec<String> {
    if let [table, slot, ..] = path.as_mut_slice()
        && (table == SLOTS || names.are_slots(table))
    {
        *slot = slot.replace('_', "-");
    }
    path
}

/// Removes a prefix, ignoring case.
pub(super) fn strip_prefix<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    let (head, rest) = name.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the dotted path of the key that a variable sets.
    fn key(variable: &str) -> Option<String> {
        let mut tree = Table::new();
        apply(&mut tree, &ChosenNames::default(), &[(variable.to_owned(), "value".to_owned())]);
        tree::digests(&tree, &[]).into_keys().next()
    }

    #[test]
    fn underscore_in_slot_id_means_dash() {
        for (variable, path) in [
            ("BULKHEAD_SLOTS__MY_APP__CPU_MS", "slots.my-app.cpu_ms"),
            ("BULKHEAD_SLOTS__MY_APP_2__CPU_MS", "slots.my-app-2.cpu_ms"),
            ("BULKHEAD_SLOTS__MY-APP__CPU_MS", "slots.my-app.cpu_ms"),
            ("BULKHEAD_SLOTS__MY_APP__CONFIG__A_B", "slots.my-app.config.a_b"),
            ("BULKHEAD_SLOTS__MY_APP__GRANTS_0", "slots.my-app.grants.0"),
            ("BULKHEAD_SLOTS__CAPTCHA__CPU_MS", "slots.captcha.cpu_ms"),
            ("BULKHEAD_SERVER__ADMIN_LISTEN", "server.admin_listen"),
        ] {
            assert_eq!(key(variable).as_deref(), Some(path), "{variable}");
        }
    }
}
