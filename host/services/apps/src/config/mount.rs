//! Where an app is served.

use std::{fmt, net::SocketAddr};

use bulkhead_config::{formats, reader::Reader, tables::Context};

use crate::spec::NAME;

/// The listener, the host name and the path prefix of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Whole segments such as `/shop`, with the prefix of the service; empty for every path.
    pub path_prefix: String,
    /// The host name in lower case; `None` for every one.
    pub host: Option<String>,
    /// Whether the component sees paths without the prefix.
    pub strip_prefix: bool,
    /// A listener of its own; `None` for that of the service.
    pub listen: Option<SocketAddr>,
}

/// The host name, if there is one, and the path prefix; `/` for every path.
impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path_prefix.is_empty() { "/" } else { self.path_prefix.as_str() };
        write!(f, "{}{path}", self.host.as_deref().unwrap_or_default())
    }
}

impl Mount {
    /// Returns whether both take the same requests.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_fixed = self.listen.is_none_or(|address| address.port() != 0);
        is_fixed
            && self.listen == other.listen
            && self.host == other.host
            && self.path_prefix == other.path_prefix
    }

    pub(super) fn read(r: &mut Reader, context: &Context<'_>) -> Self {
        let own = r.key("path_prefix", "Paths that the app answers; / for all").parsed(
            "path",
            String::new(),
            path_prefix,
        );
        let of_service = context.path_prefixes().find(|(service, ..)| *service == NAME);
        let mount = Self {
            path_prefix: of_service.map_or_else(|| own.clone(), |(_, _, prefix)| format!("{prefix}{own}")),
            host: r
                .key("host", "Host name, without port, that the app answers for")
                .default_text("every one")
                .optional("host name", formats::host_name),
            strip_prefix: r
                .key("strip_prefix", "Whether the component sees paths without path_prefix")
                .flag(false),
            listen: r
                .key("listen", "A listener of its own instead of the shared one")
                .optional("address", formats::address),
        };
        let is_set = ["path_prefix", "host", "listen"].iter().any(|key| r.is_set(key));
        if !is_set {
            r.problem("path_prefix", "must be given, unless host or listen is; / means all paths");
        }
        if let Some(text) = mount.fault(context) {
            r.problem("path_prefix", text);
        }
        mount
    }

    /// Returns what is wrong with a mount that is inside the prefix of a service at the same listener.
    fn fault(&self, context: &Context<'_>) -> Option<String> {
        let own = self.listen.unwrap_or_else(|| context.address(NAME));
        let is_inside = |prefix: &str| bulkhead_http::path::after_prefix(&self.path_prefix, prefix).is_some();
        let mut prefixes = context.path_prefixes().filter(|(service, ..)| *service != NAME);
        let (service, ..) = prefixes.find(|(_, at, prefix)| *at == own && is_inside(prefix))?;
        Some(format!("is inside services.{service}.path_prefix; give one of them another one"))
    }
}

fn path_prefix(text: &str) -> Result<String, String> {
    match text {
        "/" => Ok(String::new()),
        other => formats::path_prefix(other).map_err(|_| {
            format!(
                "must be / for all paths or like /shop, of letters, digits and -._~ and without a slash at the end, \
                 not `{other}`"
            )
        }),
    }
}
