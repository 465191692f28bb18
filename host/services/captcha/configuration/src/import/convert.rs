//! Converts properties into TOML.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_config::{
    Origin,
    alias::whole_number,
    import::Imported,
    server,
    tree::{self, Node, Table, Value},
};

use super::{
    placeholder::PropertyValues,
    property::{Property, ScalarReading},
};
use crate::spring::{self, datasource::Datasource};

/// The cost of sites without a difficulty map: the first one in the Java service's documentation.
const COST: i64 = 1000;

const HEADER: &str = "# Converted by `bulkhead captcha import`.\n\n";

/// Prefix of the properties that make the Java service require tokens.
const TOKENS: &str = "spring.security.oauth2.resourceserver.jwt.";

/// The state of a conversion.
#[derive(Default)]
pub(super) struct ApplicationConversion {
    tree: Table,
    sites: BTreeSet<String>,
    datasource: Datasource,
    address: Option<String>,
    port: Option<String>,
    /// Path of the Prometheus endpoint in the file; the Java service's own file has `metrics`.
    scrape_path: Option<String>,
    /// By the listener: `server` or `management.server`.
    tls: BTreeMap<String, DroppedTls>,
    notes: Vec<(usize, String)>,
}

/// The settings of a listener's TLS, such as `server.ssl.*`.
#[derive(Default)]
struct DroppedTls {
    names: Vec<String>,
    line: usize,
    is_off: bool,
}

impl ApplicationConversion {
    /// Adds a note about a line for the operator; line 0 is the whole file.
    pub(super) fn note(&mut self, line: usize, text: impl Into<String>) {
        self.notes.push((line, text.into()));
    }

    /// Converts one property; placeholders resolve to `values`.
    pub(super) fn property(&mut self, property: &Property, values: &PropertyValues<'_>) {
        self.site(&property.words);
        let Some(text) = values.resolve(&property.text) else {
            // The unresolved placeholder must not let callers in without a token.
            if property.name().starts_with(TOKENS) {
                self.set("captcha.auth", Value::String("jwt".to_owned()));
            }
            let text = "holds a placeholder; write the value, or set it in the environment";
            return self.note(property.line, format!("{} {text}", property.words.join(".")));
        };
        let property = Property { words: property.words.clone(), text, ..*property };
        let parts: Vec<&str> = property.words.iter().map(String::as_str).collect();
        match (spring::key_of_property(&parts), parts.as_slice()) {
            (Some(path), _) => self.key(&path, &property),
            // A site without settings.
            (None, ["captcha", "sites", _]) => {}
            (None, _) => self.other(&property),
        }
    }

    /// Records the site that a property belongs to.
    fn site(&mut self, words: &[String]) {
        if let [captcha, sites, site, ..] = words
            && (captcha.as_str(), sites.as_str()) == ("captcha", "sites")
        {
            self.sites.insert(site.clone());
        }
    }

    fn key(&mut self, path: &[String], property: &Property) {
        let secret = spring::is_secret(path);
        if secret {
            self.note_secret(property);
        }
        let value = match whole_number(&property.text) {
            Some(number) if !secret => Value::Integer(number),
            _ => Value::String(property.text.clone()),
        };
        tree::set(&mut self.tree, path, Node { origin: Origin::Default, value });
    }

    /// Notes a secret without quotes that is not text in YAML: the Java service accepts another one than the written
    /// one.
    fn note_secret(&mut self, property: &Property) {
        let text = match property.reading {
            ScalarReading::AsWritten => return,
            ScalarReading::Converted => {
                "is a number or a boolean without its quotes; what Java prints of it is carried over, as that is what \
                 the Java service accepts"
            }
            ScalarReading::Fraction => {
                "is a number with a fraction or an exponent without its quotes, of which the Java service accepts what \
                 Java prints; write that text here"
            }
        };
        self.note(property.line, format!("{} {text}", property.words.join(".")));
    }

    /// Converts properties that have no key of the same form.
    fn other(&mut self, property: &Property) {
        let Property { words, text, line, .. } = property;
        let name = property.name();
        let jwt = name.strip_prefix(TOKENS);
        let field = name.strip_prefix("spring.datasource.");
        if let Some(field) = field.and_then(|field| self.datasource.field(field)) {
            *field = Some(text.clone());
            return;
        }
        match (name.as_str(), jwt) {
            ("server.port", _) => self.port = Some(text.clone()),
            ("server.address", _) => self.address = Some(text.clone()),
            ("server.servlet.contextpath", _) => {
                self.set("services.captcha.path_prefix", Value::String(spring::path_prefix(text)));
            }
            ("management.endpoints.web.pathmapping.prometheus", _) => self.scrape_path = Some(text.clone()),
            (ssl, _) if ssl.starts_with("server.ssl.") || ssl.starts_with("management.server.ssl.") => {
                self.tls(property);
            }
            (_, Some("jwkseturi")) => self.token("key_set_url", text),
            (_, Some("issueruri")) => self.token("issuer", text),
            (_, Some(audiences)) if audiences.starts_with("audiences") => {
                let index = audiences.strip_prefix("audiences.");
                let key = index.map_or("audiences".to_owned(), |index| format!("audiences.{index}"));
                self.token(&key, text);
            }
            _ => self.note(*line, format!("{} is not carried over", words.join("."))),
        }
    }

    fn tls(&mut self, property: &Property) {
        let name = property.name();
        let (listener, setting) = name.split_once(".ssl.").unwrap_or((&name, ""));
        let DroppedTls { names, line: first, is_off } = self.tls.entry(listener.to_owned()).or_default();
        if names.is_empty() {
            *first = property.line;
        }
        names.push(property.words.join("."));
        *is_off |= setting == "enabled" && spring::is_false(&property.text);
    }

    fn token(&mut self, key: &str, text: &str) {
        self.set("captcha.auth", Value::String("jwt".to_owned()));
        self.set(&format!("captcha.jwt.{key}"), Value::String(text.to_owned()));
    }

    fn set(&mut self, path: &str, value: Value) {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        tree::set(&mut self.tree, &path, Node { origin: Origin::Default, value });
    }

    /// Ends the conversion and returns its result.
    pub(super) fn finish(mut self) -> Imported {
        self.finish_sites();
        self.finish_listener();
        self.finish_tls();
        self.finish_database();
        self.finish_tokens();
        self.finish_exposure();
        self.notes.sort();
        let line = |(line, text): (usize, String)| match line {
            0 => text,
            line => format!("line {line}: {text}"),
        };
        Imported {
            toml: format!("{HEADER}{}", to_toml(&self.tree, &mut Vec::new())),
            notes: self.notes.into_iter().map(line).collect(),
        }
    }

    fn finish_sites(&mut self) {
        for site in std::mem::take(&mut self.sites) {
            let path = |key: &str| ["captcha", "sites", &site, key].map(str::to_owned);
            let node = |value| Node { origin: Origin::Default, value };
            tree::set(&mut self.tree, &path("compat"), node(Value::Boolean(true)));
            if tree::get(&self.tree, &["captcha", "sites", &site, "secret"]).is_none() {
                let text = "has no secret, without which no host starts; set captcha.sites";
                self.note(0, format!("site {site} {text}.{site}.secret"));
            }
            if tree::get(&self.tree, &["captcha", "sites", &site, "difficulty_map"]).is_some() {
                continue;
            }
            let step = [("min_visits", Value::Integer(1)), ("cost", Value::Integer(COST))];
            let step = step.into_iter().map(|(key, value)| (key.to_owned(), node(value)));
            let ladder = Value::List(vec![node(Value::Table(step.collect()))]);
            tree::set(&mut self.tree, &path("difficulty_map"), node(ladder));
            self.note(0, format!("site {site} has no difficulty-map; it gets cost {COST} throughout"));
        }
    }

    fn finish_listener(&mut self) {
        if self.port.is_none() && self.address.is_none() {
            return;
        }
        if self.address.is_none() {
            let text = "server.listen stays on loopback where the Java service took every address";
            self.note(0, text);
        }
        let host = self.address.take().unwrap_or_else(|| server::LISTEN.ip().to_string());
        let port = self.port.take().unwrap_or_else(|| server::LISTEN.port().to_string());
        let port = whole_number(&port).map_or(port, |number| number.to_string());
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        self.set("server.listen", Value::String(format!("{host}:{port}")));
    }

    fn finish_database(&mut self) {
        match std::mem::take(&mut self.datasource).translate() {
            None => self.note(0, "no spring.datasource.url: the ledger is a file in data_dir"),
            Some(Err(text)) => self.note(0, format!("spring.datasource.url {text}")),
            Some(Ok(translated)) => {
                for name in translated.dropped {
                    let text = format!("parameter {name} of spring.datasource.url is not carried over");
                    self.note(0, text);
                }
                self.set("captcha.database", Value::String(translated.url));
            }
        }
    }

    fn finish_tokens(&mut self) {
        if tree::get(&self.tree, &["captcha", "auth"]).is_none() {
            return;
        }
        self.note(0, "callers need tokens (captcha.auth); with profile no-security set it to \"none\"");
        if tree::get(&self.tree, &["captcha", "jwt", "key_set_url"]).is_none() {
            self.note(0, "captcha.jwt.key_set_url is missing: write the issuer's jwks_uri there");
        }
    }

    fn finish_tls(&mut self) {
        let dropped = std::mem::take(&mut self.tls).into_values().filter(|dropped| !dropped.is_off);
        for DroppedTls { names, line, .. } in dropped {
            let verb = if names.len() == 1 { "is" } else { "are" };
            self.note(line, format!("{} {verb} not carried over: {}", names.join(", "), spring::LOST_TLS));
        }
    }

    /// Exposes `metrics` with `prometheus`, since the Java service serves scrapes at `/actuator/metrics`.
    fn finish_exposure(&mut self) {
        if self.scrape_path.as_deref().is_some_and(|path| path != "metrics") {
            return;
        }
        for list in ["include", "exclude"] {
            let path = ["management", "endpoints", "web", "exposure", list];
            let ids: Vec<String> = match tree::get(&self.tree, &path).map(|node| node.value.clone()) {
                Some(Value::String(text)) => text.split(',').map(|id| id.trim().to_owned()).collect(),
                Some(Value::Table(table)) => table.into_values().filter_map(text_of).collect(),
                _ => continue,
            };
            if spring::maps_scrape(ids.iter().map(String::as_str)) {
                let node = |id| Node { origin: Origin::Default, value: Value::String(id) };
                let ids = ids.into_iter().chain([spring::SCRAPE_PATH.to_owned()]).map(node).collect();
                self.set(&path.join("."), Value::List(ids));
            }
        }
    }
}

fn text_of(node: Node) -> Option<String> {
    match node.value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn to_toml(table: &Table, path: &mut Vec<String>) -> toml::Table {
    let mut out = toml::Table::new();
    for (key, node) in table {
        path.push(key.clone());
        out.insert(key.clone(), to_value(&node.value, path));
        path.pop();
    }
    out
}

fn to_value(value: &Value, path: &mut Vec<String>) -> toml::Value {
    match value {
        Value::Text(text) | Value::String(text) => toml::Value::String(text.clone()),
        Value::Integer(number) => toml::Value::Integer(*number),
        Value::Boolean(flag) => toml::Value::Boolean(*flag),
        Value::Other(kind) => toml::Value::String((*kind).to_owned()),
        Value::List(nodes) => {
            toml::Value::Array(nodes.iter().map(|node| to_value(&node.value, path)).collect())
        }
        Value::Table(table) => match indexed(table, path) {
            Some(nodes) => toml::Value::Array(nodes.iter().map(|node| to_value(&node.value, path)).collect()),
            None => toml::Value::Table(to_toml(table, path)),
        },
    }
}

/// Returns the nodes of a list that was written with indexes; the keys of sites may be numbers too.
fn indexed<'t>(table: &'t Table, path: &[String]) -> Option<Vec<&'t Node>> {
    if table.is_empty() || path == ["captcha", "sites"] {
        return None;
    }
    let number = |(key, node): (&String, &'t Node)| Some((key.parse::<u32>().ok()?, node));
    let mut nodes = table.iter().map(number).collect::<Option<Vec<_>>>()?;
    nodes.sort_by_key(|(index, _)| *index);
    Some(nodes.into_iter().map(|(_, node)| node).collect())
}
