//! Environment variables of the Java service that set keys: `CAPTCHA_*`, `SPRING_DATASOURCE_*`, `MANAGEMENT_*` and
//! `SERVER_SERVLET_CONTEXT_PATH`.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use bulkhead_config::{
    Origin, Problem,
    alias::{AliasLayer, Aliases, whole_number},
    tree::{self, Node, Table, Value},
};

use super::spring::{self, datasource::Datasource};

/// The Java service's names of the keys of the captcha service.
pub const ALIASES: Aliases = Aliases { plain: &[], secrets: &[], others: apply };

/// The keys that list endpoints.
const EXPOSURE: [[&str; 5]; 2] = [
    ["management", "endpoints", "web", "exposure", "include"],
    ["management", "endpoints", "web", "exposure", "exclude"],
];

/// Variables that set the path of the Java service's endpoint `prometheus`.
const SCRAPE_PATH: [&str; 2] =
    ["MANAGEMENT_ENDPOINTS_WEB_PATHMAPPING_PROMETHEUS", "MANAGEMENT_ENDPOINTS_WEB_PATH_MAPPING_PROMETHEUS"];

const CONTEXT_PATH: [&str; 2] = ["SERVER_SERVLET_CONTEXT_PATH", "SERVER_SERVLET_CONTEXTPATH"];

const DATASOURCE: &str = "SPRING_DATASOURCE_";

/// Prefixes of the variables for the TLS of a listener.
const TLS: [&str; 2] = ["SERVER_SSL_", "MANAGEMENT_SERVER_SSL_"];

/// Applies the variables whose names follow Spring's rules.
///
/// A site that no file names comes from the Java service and behaves like it (`compat`).
fn apply(layer: &mut AliasLayer<'_>) {
    let mut datasource = Datasource::default();
    let (mut exposure, mut scrape_path) = (BTreeSet::new(), spring::SCRAPE_PATH);
    for (name, text) in layer.environment {
        if let Some(field) = name.strip_prefix(DATASOURCE) {
            if let Some(field) = datasource.field(field) {
                *field = Some(text.clone());
            }
        } else if SCRAPE_PATH.contains(&name.as_str()) {
            scrape_path = text.trim();
        } else if CONTEXT_PATH.contains(&name.as_str()) {
            let path = ["services", "captcha", "path_prefix"].map(str::to_owned);
            let (origin, prefix) = (Origin::Environment(name.clone()), spring::path_prefix(text));
            tree::set(layer.tree, &path, Node { origin, value: Value::String(prefix) });
        } else if TLS.iter().any(|listener| name.starts_with(listener)) {
            // It gets one warning for each listener.
        } else if name.starts_with("CAPTCHA_") || name.starts_with("MANAGEMENT_") {
            exposure.extend(apply_property(layer, name, text));
        }
    }
    layer.warnings.extend(TLS.iter().filter_map(|listener| lost_tls(layer.environment, listener)));
    if scrape_path == spring::SCRAPE_PATH {
        exposure.into_iter().for_each(|list| map_scrape(layer.tree, &list));
    }
    apply_datasource(layer, datasource);
}

/// Sets the key that a variable names, if there is one. Returns the list of endpoints that the key belongs to.
fn apply_property(layer: &mut AliasLayer<'_>, name: &str, text: &str) -> Option<[&'static str; 5]> {
    let origin = Origin::Environment(name.to_owned());
    let Some(path) = key_path(layer, name) else {
        let text = "ignored; no key has this name";
        layer.warnings.push(Problem::new(origin, "", text));
        return None;
    };
    set_property(layer.tree, &path, origin, text);
    EXPOSURE.into_iter().find(|list| path.starts_with(&list.map(str::to_owned)))
}

/// Returns a warning if the Java service was configured to serve TLS at a listener, since its certificate is not taken
/// over.
fn lost_tls(environment: &[(String, String)], listener: &str) -> Option<Problem> {
    let is_off = |(name, text): &(String, String)| {
        name.strip_prefix(listener) == Some("ENABLED") && spring::is_false(text)
    };
    let (first, _) = environment.iter().find(|(name, _)| name.starts_with(listener))?;
    let origin = Origin::Environment(first.clone());
    (!environment.iter().any(is_off)).then(|| Problem::new(origin, "server.tls", spring::LOST_TLS))
}

/// Adds `metrics` to a list of endpoints with `prometheus`.
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

/// Returns the key that a variable sets; prefers a site that is known already.
fn key_path(layer: &AliasLayer<'_>, name: &str) -> Option<Vec<String>> {
    let candidates = spring::keys_of_variable(name).into_iter();
    let mut candidates =
        candidates.map(|path| layer.names.adopt_spelling(layer.tree, path)).collect::<Vec<_>>();
    let known = candidates.iter().position(|path| is_known_site(layer.tree, path)).unwrap_or(0);
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
    let number = if spring::is_secret(path) { None } else { whole_number(text) };
    let text = number.map_or_else(|| text.to_owned(), |number| number.to_string());
    tree::set(tree, path, Node { origin, value: Value::Text(text) });
}

fn apply_datasource(layer: &mut AliasLayer<'_>, datasource: Datasource) {
    let origin = Origin::Environment(format!("{DATASOURCE}URL"));
    match datasource.translate() {
        None => {}
        Some(Err(text)) => layer.problems.push(Problem::new(origin, "captcha.database", text)),
        Some(Ok(translated)) => {
            if !translated.dropped.is_empty() {
                let text = format!("ignored parameter(s) {}", translated.dropped.join(", "));
                layer.warnings.push(Problem::new(origin.clone(), "captcha.database", text));
            }
            tree::set_text(layer.tree, "captcha.database", origin, translated.url);
        }
    }
}
