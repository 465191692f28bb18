//! The layer of names from the replaced services: `CAPTCHA_*`, `SPRING_DATASOURCE_*`,
//! `MANAGEMENT_*` and `SERVER_PORT`.

use std::net::SocketAddr;

use super::{
    problems::{Origin, Problem},
    server,
    spring::{self, datasource::Datasource},
    tree::{self, Node, Table, Value},
};

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
    for (name, text) in environment {
        let origin = Origin::Environment(name.clone());
        if name == "SERVER_PORT" {
            match with_port(tree, text) {
                Ok(listen) => set(tree, "server.listen", origin, listen),
                Err(text) => problems.push(Problem::new(origin, "server.listen", text)),
            }
        } else if let Some(field) = name.strip_prefix(DATASOURCE) {
            if let Some(field) = datasource.field(field) {
                *field = Some(text.clone());
            }
        } else if name.starts_with("CAPTCHA_") || name.starts_with("MANAGEMENT_") {
            match key_path(tree, name) {
                Some(path) => set_property(tree, &path, origin, text),
                None => {
                    let text = "ignored; nothing here goes by that name";
                    warnings.push(Problem::new(origin, "", text));
                }
            }
        }
    }
    apply_datasource(tree, datasource, problems, warnings);
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

/// The shared listener's address so far with another port.
fn with_port(tree: &Table, port: &str) -> Result<String, String> {
    let port: u16 =
        port.trim().parse().map_err(|_| format!("must be a port from 0 to 65535, not `{port}`"))?;
    let written = match tree::get(tree, &["server", "listen"]).map(|node| &node.value) {
        Some(Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    let mut listen: SocketAddr = written.unwrap_or(server::LISTEN);
    listen.set_port(port);
    Ok(listen.to_string())
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
