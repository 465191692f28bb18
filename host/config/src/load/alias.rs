//! Applies the variable names of replaced services as aliases of keys: a few general ones, and those of each service.

use std::net::SocketAddr;

use crate::{
    problems::{Origin, Problem},
    reader::tree::{self, ChosenNames, Node, Table, Value},
    server,
};

/// Variables that set one key each, whatever the services.
const PLAIN: [(&str, &str); 2] = [("TLS_CERT", "server.tls.cert"), ("TLS_KEY", "server.tls.key")];

/// Variable names of one replaced service.
#[derive(Clone, Copy, Debug)]
pub struct Aliases {
    /// Variables that set one key each, in dotted form.
    pub plain: &'static [(&'static str, &'static str)],
    /// Variables that hold one secret of a list.
    pub secrets: &'static [SecretAlias],
    /// Applies what a plain alias cannot express.
    pub others: fn(&mut AliasLayer<'_>),
}

impl Aliases {
    /// No aliases.
    pub const NONE: Self = Self { plain: &[], secrets: &[], others: |_| {} };
}

/// A variable that holds one secret of a list.
#[derive(Clone, Copy, Debug)]
pub struct SecretAlias {
    /// Its name.
    pub variable: &'static str,
    /// The list, in dotted form.
    pub key: &'static str,
    /// Whether the secret is appended to the list that files give; otherwise it replaces the list.
    pub appends: bool,
}

/// The tree that a layer changes, and the problems found while doing so.
pub struct AliasLayer<'l> {
    /// The values of the layers below.
    pub tree: &'l mut Table,
    /// The paths whose children are chosen names.
    pub names: &'l ChosenNames,
    /// The environment variables, sorted by name.
    pub environment: &'l [(String, String)],
    /// Problems that make the configuration invalid.
    pub problems: &'l mut Vec<Problem>,
    /// Warnings for the operator.
    pub warnings: &'l mut Vec<Problem>,
}

/// Applies the aliases to the tree.
pub(super) fn apply(mut layer: AliasLayer<'_>, aliases: &[Aliases]) {
    for (name, text) in layer.environment {
        let origin = Origin::Environment(name.clone());
        match name.as_str() {
            "SERVER_PORT" | "PORT" => {
                layer.problems.extend(set_listen_part(layer.tree, origin, "port", text));
            }
            // Shells set this to the machine's name, so only an address is taken as a listener's.
            "HOST" => drop(set_listen_part(layer.tree, origin, "host", text)),
            "LOG_LEVEL" => set_level(&mut layer, origin, text),
            name => set_row(layer.tree, aliases, origin, (name, text.as_str())),
        }
    }
    for aliases in aliases {
        (aliases.others)(&mut layer);
    }
}

fn set_level(layer: &mut AliasLayer<'_>, origin: Origin, text: &str) {
    let names = server::LEVELS.map(|(name, _)| name);
    match names.contains(&text.trim().to_ascii_lowercase().as_str()) {
        true => tree::set_text(layer.tree, "log.level", origin, text.trim()),
        false => {
            let text = format!("ignored; give one of {}", names.join(", "));
            layer.warnings.push(Problem::new(origin, "log.level", text));
        }
    }
}

/// Sets the key that a variable is an alias of, if it is one.
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
        Some(Value::List(secrets)) if alias.appends => secrets.clone(),
        _ => Vec::new(),
    };
    secrets.push(Node { origin: origin.clone(), value: Value::String(text.to_owned()) });
    let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
    tree::set(tree, &path, Node { origin, value: Value::List(secrets) });
}

/// Parses a whole number as Spring reads it from text: decimal digits, or hexadecimal ones after `0x`, `0X` or `#`.
pub fn whole_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    match hexadecimal.or_else(|| digits.strip_prefix('#')) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            i64::from_str_radix(&format!("{sign}{digits}"), 16).ok()
        }
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// Changes one part, `host` or `port`, of the shared listener's current address.
pub(super) fn set_listen_part(tree: &mut Table, origin: Origin, part: &str, text: &str) -> Option<Problem> {
    let written = match tree::get(tree, &["server", "listen"]).map(|node| &node.value) {
        Some(Value::String(text) | Value::Text(text)) => text.parse().ok(),
        _ => None,
    };
    let mut listen: SocketAddr = written.unwrap_or(server::LISTEN);
    let changed = match part {
        "host" => text.trim().parse().map(|host| listen.set_ip(host)).map_err(|_| "an IP address"),
        _ => whole_number(text)
            .and_then(|port| u16::try_from(port).ok())
            .map(|port| listen.set_port(port))
            .ok_or("a port from 0 to 65535"),
    };
    match changed {
        Ok(()) => tree::set_text(tree, "server.listen", origin, listen.to_string()),
        Err(form) => {
            return Some(Problem::new(origin, "server.listen", format!("must be {form}, not `{text}`")));
        }
    }
    None
}
