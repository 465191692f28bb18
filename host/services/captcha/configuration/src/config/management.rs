//! `[management]`: the operational endpoints under `/actuator`, with Spring's settings.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
};

use bulkhead_config::{
    formats,
    reader::Reader,
    tables::{Context, ServiceTable},
};

use super::SERVICE;

/// The base path of Spring.
const BASE_PATH: &str = "/actuator";

/// The operational endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Endpoint {
    Health,
    Info,
    Metrics,
    Scrape,
    Prometheus,
}

impl Endpoint {
    /// Every endpoint with its id.
    pub const IDS: [(&'static str, Self); 5] = [
        ("health", Self::Health),
        ("info", Self::Info),
        ("metrics", Self::Metrics),
        ("scrape", Self::Scrape),
        ("prometheus", Self::Prometheus),
    ];
}

/// When `/actuator/health` shows its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShowDetails {
    /// Never.
    Never,
    /// To callers that pass `captcha.auth`; to no one if that is `none`.
    WhenAuthorized,
    /// Always.
    Always,
}

/// `[management]`.
#[derive(Clone, Debug)]
pub struct Management {
    /// `management.endpoints.web.exposure`: included and not excluded.
    pub exposed: BTreeSet<Endpoint>,
    /// `management.endpoints.web.base-path`, `/actuator` by default.
    pub base_path: String,
    /// `management.endpoint.health.show-details`.
    pub show_details: ShowDetails,
    /// `management.server.port`: a separate listener.
    pub listen: Option<SocketAddr>,
}

impl ServiceTable for Management {
    const NAME: &'static str = "management";

    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
        let public = context.address(SERVICE);
        let read = reader.table(Self::NAME, |r| {
            let (exposed, base_path) =
                r.table("endpoints", |r| r.table("web", |r| (read_exposed(r), read_base_path(r))));
            let show_details = r.table("endpoint", |r| r.table("health", read_show_details));
            let (listen, off) = r.table("server", |r| read_server(r, public));
            let exposed = if off { BTreeSet::new() } else { exposed };
            Self { exposed, base_path, show_details, listen }
        });
        if let Some(address) = read.listen {
            context.opens(SERVICE, "management.server.port", address);
        }
        read
    }
}

fn read_exposed(reader: &mut Reader) -> BTreeSet<Endpoint> {
    reader.table("exposure", |r| {
        let include = r
            .key("include", "Endpoints to serve, `*` for all")
            .default_text("*")
            .list("endpoint ids", |id| Ok(id.to_owned()));
        let exclude = r
            .key("exclude", "Endpoints not to serve, whatever is included")
            .list("endpoint ids", |id| Ok(id.to_owned()));
        let all = || vec!["*".to_owned()];
        let mut exposed = endpoints(r, "include", &include.unwrap_or_else(all));
        for endpoint in endpoints(r, "exclude", &exclude.unwrap_or_default()) {
            exposed.remove(&endpoint);
        }
        exposed
    })
}

fn endpoints(reader: &mut Reader, key: &str, ids: &[String]) -> BTreeSet<Endpoint> {
    let mut out = BTreeSet::new();
    for id in ids {
        let named = Endpoint::IDS.iter().find(|(known, _)| id.eq_ignore_ascii_case(known));
        match named {
            Some((_, endpoint)) => drop(out.insert(*endpoint)),
            None if id == "*" => out.extend(Endpoint::IDS.map(|(_, endpoint)| endpoint)),
            None => {
                let known = Endpoint::IDS.map(|(known, _)| known).join(", ");
                reader.warn(key, format!("there is no endpoint `{id}`; there are {known}"));
            }
        }
    }
    out
}

fn read_base_path(reader: &mut Reader) -> String {
    let form = |text: &str| formats::path_prefix(text.strip_suffix('/').unwrap_or(text));
    reader.key("base_path", "Put before every operational endpoint").parsed(
        "path",
        BASE_PATH.to_owned(),
        form,
    )
}

fn read_show_details(reader: &mut Reader) -> ShowDetails {
    const WORDS: [(&str, ShowDetails); 3] = [
        ("never", ShowDetails::Never),
        ("when-authorized", ShowDetails::WhenAuthorized),
        ("always", ShowDetails::Always),
    ];
    reader
        .key(
            "show_details",
            "When health shows its components; when-authorized needs captcha.auth other than none",
        )
        .choice(&WORDS, ShowDetails::Never)
}

/// Reads the separate listener, if any, and whether the endpoints are disabled (port -1, as in Spring).
fn read_server(reader: &mut Reader, public: SocketAddr) -> (Option<SocketAddr>, bool) {
    let port: Option<i32> = reader
        .key("port", "A listener of its own; -1 switches the endpoints off")
        .optional_integer(-1..=65_535);
    let address: Option<IpAddr> = reader
        .key("address", "Address of that listener")
        .default_text("that of the captcha service")
        .optional("IP address", |text| {
            text.parse().map_err(|_| format!("must be an IP address, not `{text}`"))
        });
    if address.is_some() && port.is_none() {
        reader.problem("address", "has no effect without management.server.port; give that too");
    }
    let own = port.and_then(|port| u16::try_from(port).ok());
    let own = own.map(|port| SocketAddr::new(address.unwrap_or(public.ip()), port));
    (own.filter(|own| *own != public || own.port() == 0), port == Some(-1))
}
