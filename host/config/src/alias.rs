//! The layer of names that replaced services have for keys: a few of every service, and what each service hands in.

use std::net::SocketAddr;

use super::{
    problems::{Origin, Problem},
    server,
    tree::{self, ChosenNames, Node, Table, Value},
};

/// Variables of every service that set one key each.
const PLAIN: [(&str, &str); 2] = [("TLS_CERT", "server.tls.cert"), ("TLS_KEY", "server.tls.key")];

/// Names of one replaced service.
#[derive(Clone, Copy, Debug)]
pub struct Aliases {
    /// Variables that set one key each, in dotted form.
    pub plain: &'static [(&'static str, &'static str)],
    /// Variables that hold one secret of a list.
    pub secrets: &'static [SecretAlias],
    /// Lays over the tree what is more than a name.
    pub others: fn(&mut Layer<'_>),
}

impl Aliases {
    /// Neither variables nor anything else.
    pub const NONE: Self = Self { plain: &[], secrets: &[], others: |_| {} };
}

/// A variable that holds one secret of a list.
#[derive(Clone, Copy, Debug)]
pub struct SecretAlias {
    /// Its name.
    pub variable: &'static str,
    /// The list, in dotted form.
    pub key: &'static str,
    /// Whether the secret counts beside those of files, or in their place.
    pub is_one_more: bool,
}

/// What a layer is laid over, and what is noticed on the way.
pub struct Layer<'l> {
    /// The values of the layers below.
    pub tree: &'l mut Table,
    /// Where people have chosen names.
    pub names: &'l ChosenNames,
    /// The environment variables, sorted by name.
    pub environment: &'l [(String, String)],
    /// What is wrong.
    pub problems: &'l mut Vec<Problem>,
    /// What the operator should know.
    pub warnings: &'l mut Vec<Problem>,
}

/// Lays the aliases over the tree.
pub(super) fn apply(mut layer: Layer<'_>, aliases: &[Aliases]) {
    for (name, text) in layer.environment {
        let origin = Origin::Environment(name.clone());
        match name.as_str() {
            "SERVER_PORT" | "PORT" => {
                layer.problems.extend(set_listen_part(layer.tree, origin, "port", text));
            }
            // Shells set it to the machine's name: only an address can be meant for a listener.
            "HOST" => drop(set_listen_part(layer.tree, origin, "host", text)),
            "LOG_LEVEL" => set_level(&mut layer, origin, text),
            name => set_row(layer.tree, aliases, origin, (name, text.as_str())),
        }
    }
    for aliases in aliases {
        (aliases.others)(&mut layer);
    }
}

fn set_level(layer: &mut Layer<'_>, origin: Origin, text: &str) {
    let names = server::LEVELS.map(|(name, _)| name);
    match names.contains(&text.trim().to_ascii_lowercase().as_str()) {
        true => tree::set_text(layer.tree, "log.level", origin, text.trim()),
        false => {
            let text = format!("ignored; give one of {}", names.join(", "));
            layer.warnings.push(Problem::new(origin, "log.level", text));
        }
    }
}

/// Sets the key that a variable names, if a row does.
fn set_row(tree: &mut Table, aliases: &[Aliases], origin: Origin, (name, text): (&str, &str)) {
    let mut secrets = aliases.iter().flat_map(|aliases| aliases.secrets);
    if let Some(alias) = secrets.find(|alias| alias.variable == name) {
        return add_secret(tree, alias, origin, text);
    }
    let mut plain = aliases.iter().flat_map(|aliases| aliases.plain).chain(&PLAIN);
    if let Some((_, path)) = plain.find(|(known, _)| *known == name) {
        tree::set_text(tree, path, origin, text);
    }
}

fn add_secret(tree: &mut Table, alias: &SecretAlias, origin: Origin, text: &str) {
    let path: Vec<&str> = alias.key.split('.').collect();
    let mut secrets = match tree::get(tree, &path).map(|node| &node.value) {
        Some(Value::List(secrets)) if alias.is_one_more => secrets.clone(),
        _ => Vec::new(),
    };
    secrets.push(Node { origin: origin.clone(), value: Value::String(text.to_owned()) });
    let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
    tree::set(tree, &path, Node { origin, value: Value::List(secrets) });
}

/// Changes one part, `host` or `port`, of the shared listener's address as it is so far.
pub(super) fn set_listen_part(tree: &mut Table, origin: Origin, part: &str, text: &str) -> Option<Problem> {
    let written = match tree::get(tree, &["server", "listen"]).map(|node| &node.value) {
        Some(Value::String(text) | Value::Text(text)) => text.parse().ok(),
        _ => None,
    };
    let mut listen: SocketAddr = written.unwrap_or(server::LISTEN);
    let changed = match part {
        "host" => text.trim().parse().map(|host| listen.set_ip(host)).map_err(|_| "an IP address"),
        _ => text.trim().parse().map(|port| listen.set_port(port)).map_err(|_| "a port from 0 to 65535"),
    };
    match changed {
        Ok(()) => tree::set_text(tree, "server.listen", origin, listen.to_string()),
        Err(form) => {
            return Some(Problem::new(origin, "server.listen", format!("must be {form}, not `{text}`")));
        }
    }
    None
}
