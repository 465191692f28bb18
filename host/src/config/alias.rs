//! The layer of names from the replaced services: `CAPTCHA_*`, `SPRING_DATASOURCE_*`, `MANAGEMENT_*`, `SERVER_PORT` and
//! `SERVER_SERVLET_CONTEXT_PATH` of the captcha service, `MODEL*`, `API_KEY` and the like of the embedding service, `ZMS_*`
//! of the appointment system.

use std::{collections::BTreeSet, net::SocketAddr};

use super::{
    problems::{Origin, Problem},
    server,
    spring::{self, datasource::Datasource},
    tree::{self, Node, Table, Value},
};

/// Variables that hold one secret of a list: in the place of those in files, or beside them.
const SECRETS: [(&str, [&str; 2], Beside); 2] = [
    ("API_KEY", ["embedding", "api_keys"], Beside(false)),
    ("ZMS_CONFIG_SECURE_TOKEN", ["status", "tokens"], Beside(true)),
];

struct Beside(bool);

/// Variables of the embedding service, and of the appointment system, that set one key each.
const PLAIN: [(&str, &str); 12] = [
    ("MODEL", "embedding.models"),
    ("DEFAULT_MODEL", "embedding.default_model"),
    ("MODEL_ALIAS", "embedding.aliases"),
    ("MODEL_OWNER", "embedding.model_owner"),
    ("MAX_BATCH_SIZE", "embedding.max_batch_size"),
    ("MAX_INPUT_LENGTH", "embedding.max_input_length"),
    ("REQUEST_TIMEOUT_SECONDS", "embedding.request_timeout_seconds"),
    ("SERVER_SERVLET_CONTEXT_PATH", "services.captcha.path_prefix"),
    ("SERVER_SERVLET_CONTEXTPATH", "services.captcha.path_prefix"),
    ("TLS_CERT", "server.tls.cert"),
    ("TLS_KEY", "server.tls.key"),
    ("ZMS_IDENTIFIER", "status.identifier"),
];

/// Lists of endpoints.
const EXPOSURE: [[&str; 5]; 2] = [
    ["management", "endpoints", "web", "exposure", "include"],
    ["management", "endpoints", "web", "exposure", "exclude"],
];

/// Variables that say where the Java service answers its endpoint `prometheus`.
const SCRAPE_PATH: [&str; 2] =
    ["MANAGEMENT_ENDPOINTS_WEB_PATHMAPPING_PROMETHEUS", "MANAGEMENT_ENDPOINTS_WEB_PATH_MAPPING_PROMETHEUS"];

const DATASOURCE: &str = "SPRING_DATASOURCE_";

/// Lays the aliases over the tree.
///
/// A site that no file names comes from the Java service and is to behave like it.
pub(super) fn apply(
    tree: &mut Table,
    environment: &[(String, String)],
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) {
    let mut datasource = Datasource::default();
    let (mut exposure, mut scrape_path) = (BTreeSet::new(), spring::SCRAPE_PATH);
    for (name, text) in environment {
        let origin = Origin::Environment(name.clone());
        if name == "SERVER_PORT" || name == "PORT" {
            problems.extend(set_listen_part(tree, origin, "port", text));
        } else if name == "HOST" {
            // Shells set it to the machine's name: only an address can be meant for a listener.
            let _ = set_listen_part(tree, origin, "host", text);
        } else if let Some((_, path, beside)) = SECRETS.iter().find(|(known, ..)| known == name) {
            let mut keys = match tree::get(tree, path).map(|node| &node.value) {
                Some(Value::List(keys)) if beside.0 => keys.clone(),
                _ => Vec::new(),
            };
            keys.push(Node { origin: origin.clone(), value: Value::String(text.clone()) });
            tree::set(tree, &path.map(str::to_owned), Node { origin, value: Value::List(keys) });
        } else if name == "LOG_LEVEL" {
            let names = server::LEVELS.map(|(name, _)| name);
            match names.contains(&text.trim().to_ascii_lowercase().as_str()) {
                true => set(tree, "log.level", origin, text.trim().to_owned()),
                false => {
                    let text = format!("ignored; give one of {}", names.join(", "));
                    warnings.push(Problem::new(origin, "log.level", text));
                }
            }
        } else if let Some((_, path)) = PLAIN.iter().find(|(known, _)| known == name) {
            set(tree, path, origin, text.clone());
        } else if let Some(field) = name.strip_prefix(DATASOURCE) {
            if let Some(field) = datasource.field(field) {
                *field = Some(text.clone());
            }
        } else if SCRAPE_PATH.contains(&name.as_str()) {
            scrape_path = text.trim();
        } else if name.starts_with("CAPTCHA_") || name.starts_with("MANAGEMENT_") {
            match key_path(tree, name) {
                Some(path) => {
                    set_property(tree, &path, origin, text);
                    exposure.extend(
                        EXPOSURE.into_iter().filter(|list| path.starts_with(&list.map(str::to_owned))),
                    );
                }
                None => {
                    let text = "ignored; nothing here goes by that name";
                    warnings.push(Problem::new(origin, "", text));
                }
            }
        }
    }
    warnings.extend(lost_tls(environment));
    if scrape_path == spring::SCRAPE_PATH {
        exposure.into_iter().for_each(|list| map_scrape(tree, &list));
    }
    apply_datasource(tree, datasource, problems, warnings);
}

/// A warning where the Java service was told to serve TLS, which nothing here takes over.
fn lost_tls(environment: &[(String, String)]) -> Option<Problem> {
    let is_off = |(name, text): &(String, String)| {
        name == "SERVER_SSL_ENABLED" && text.trim().eq_ignore_ascii_case("false")
    };
    let (first, _) = environment.iter().find(|(name, _)| name.starts_with("SERVER_SSL_"))?;
    let origin = Origin::Environment(first.clone());
    (!environment.iter().any(is_off)).then(|| Problem::new(origin, "server.tls", spring::LOST_TLS))
}

/// Adds `metrics` to a list of endpoints that a variable names with `prometheus` among them.
fn map_scrape(tree: &mut Table, list: &[&str; 5]) {
    let Some(Node { origin, value }) = tree::get(tree, list).cloned() else { return };
    let text = |node: &Node| match &node.value {
        Value::Text(text) | Value::String(text) => text.clone(),
        _ => String::new(),
    };
    let ids: Vec<String> = match &value {
        Value::Text(text) | Value::String(text) => text.split(',').map(|id| id.trim().to_owned()).collect(),
        Value::Table(table) => table.values().map(|node| text(node).trim().to_owned()).collect(),
        _ => return,
    };
    if spring::maps_scrape(ids.iter().map(String::as_str)) {
        let id = |id: String| Node { origin: origin.clone(), value: Value::String(id) };
        let ids = ids.into_iter().chain([spring::SCRAPE_PATH.to_owned()]).map(id).collect();
        tree::set(tree, &list.map(str::to_owned), Node { origin: origin.clone(), value: Value::List(ids) });
    }
}

/// A variable by which Spring Security was told whose tokens to accept.
pub(super) fn spring_security(environment: &[(String, String)]) -> Option<String> {
    let secured = |name: &str| {
        name.starts_with("SPRING_SECURITY_OAUTH2_") || name.starts_with("spring.security.oauth2.")
    };
    environment.iter().map(|(name, _)| name).find(|name| secured(name)).cloned()
}

fn set(tree: &mut Table, path: &str, origin: Origin, text: String) {
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    tree::set(tree, &path, Node { origin, value: Value::Text(text) });
}

/// The key that a variable sets; a site that is known already is preferred.
fn key_path(tree: &Table, name: &str) -> Option<Vec<String>> {
    let candidates = spring::keys_of_variable(name).into_iter();
    let mut candidates = candidates.map(|path| tree::adopt_spelling(tree, path)).collect::<Vec<_>>();
    let known = candidates.iter().position(|path| is_known_site(tree, path)).unwrap_or(0);
    (known < candidates.len()).then(|| candidates.swap_remove(known))
}

fn is_known_site(tree: &Table, path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().take(3).map(String::as_str).collect();
    matches!(path.as_slice(), ["captcha", "sites", _]) && tree::get(tree, &path).is_some()
}

fn set_property(tree: &mut Table, path: &[String], origin: Origin, text: &str) {
    if let [captcha, sites, site, ..] = path
        && sites == "sites"
        && !is_known_site(tree, path)
    {
        let compat = [captcha, sites, site, "compat"].map(str::to_owned);
        tree::set(tree, &compat, Node { origin: origin.clone(), value: Value::Boolean(true) });
    }
    tree::set(tree, path, Node { origin, value: Value::Text(text.to_owned()) });
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
        Ok(()) => set(tree, "server.listen", origin, listen.to_string()),
        Err(form) => {
            return Some(Problem::new(origin, "server.listen", format!("must be {form}, not `{text}`")));
        }
    }
    None
}

fn apply_datasource(
    tree: &mut Table,
    datasource: Datasource,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) {
    let origin = Origin::Environment(format!("{DATASOURCE}URL"));
    match datasource.translate() {
        None => {}
        Some(Err(text)) => problems.push(Problem::new(origin, "captcha.database", text)),
        Some(Ok(translated)) => {
            if !translated.dropped.is_empty() {
                let text = format!("ignored parameter(s) {}", translated.dropped.join(", "));
                warnings.push(Problem::new(origin.clone(), "captcha.database", text));
            }
            set(tree, "captcha.database", origin, translated.url);
        }
    }
}
