//! Origins: the patterns of the configuration, and that of a request.

use std::{fmt, net::IpAddr};

use http::{Uri, uri::Scheme};
use url::Host;

use super::error::OutgoingError;

/// Longest name in the DNS, characters.
const NAME_CHARACTERS: usize = 253;

/// The origin that a request is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Destination {
    pub(crate) is_tls: bool,
    /// In canonical form: lower case, without a final dot; addresses of IPv4 in their own form.
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// Returns a host in canonical form.
fn canonical(text: &str) -> Option<Host> {
    match Host::parse(text).ok()? {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            (!name.is_empty() && name.len() <= NAME_CHARACTERS).then(|| Host::Domain(name.to_owned()))
        }
        Host::Ipv6(address) => Some(match address.to_ipv4_mapped() {
            Some(address) => Host::Ipv4(address),
            None => Host::Ipv6(address),
        }),
        address @ Host::Ipv4(_) => Some(address),
    }
}

const fn default_port(is_tls: bool) -> u16 {
    if is_tls { 443 } else { 80 }
}

impl Destination {
    /// Returns the origin of an absolute URI.
    pub(crate) fn of(uri: &Uri) -> Result<Self, OutgoingError> {
        let is_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(OutgoingError::HttpRequestUriInvalid("its scheme must be http or https")),
        };
        let invalid = OutgoingError::HttpRequestUriInvalid("it must name a host, with or without a port");
        let Some(authority) = uri.authority().filter(|authority| !authority.as_str().contains('@')) else {
            return Err(invalid);
        };
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => default_port(is_tls),
            Some(_) => authority.port_u16().filter(|port| *port != 0).ok_or_else(|| invalid.clone())?,
            None => return Err(invalid),
        };
        let host = canonical(authority.host()).ok_or(invalid)?;
        Ok(Self { is_tls, host, port })
    }

    /// Returns its host, with the port unless that is the scheme's.
    pub(crate) fn authority(&self) -> String {
        let Self { is_tls, host, port } = self;
        if *port == default_port(*is_tls) { host.to_string() } else { format!("{host}:{port}") }
    }

    /// Returns its address, where the host is one.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

/// An origin of the configuration, or all below a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OriginPattern {
    /// The origin; of a pattern that begins with `*.`, the name that all names are below.
    origin: Destination,
    is_wildcard: bool,
}

impl OriginPattern {
    /// Parses `https://HOST`, with or without a port and `*.` before the name.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            "must be an origin such as https://api.example.org, http://10.0.0.5:8080 or https://*.example.org, \
             without user and path"
                .to_owned()
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let (rest, is_wildcard) = match rest.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let uri: Uri = format!("{scheme}://{rest}").parse().map_err(|_| wrong())?;
        // The parser adds the path that a text without one has.
        if rest.contains(['/', '?', '#', '*']) {
            return Err(wrong());
        }
        let origin = Destination::of(&uri).map_err(|_| wrong())?;
        let fault = match (&origin.host, origin.address()) {
            (_, Some(_)) if is_wildcard => Some("must name a host after *. and no address".to_owned()),
            (_, Some(address)) if address.is_unspecified() || address.is_multicast() => {
                Some("must be the address of one machine".to_owned())
            }
            (Host::Domain(name), _) if is_wildcard && !name.contains('.') => {
                Some(format!("would allow all of {name}; name at least two labels after *."))
            }
            _ => None,
        };
        match fault {
            Some(text) => Err(text),
            None => Ok(Self { origin, is_wildcard }),
        }
    }

    /// Returns whether the pattern is the address of a machine.
    pub(crate) fn is_address(&self) -> bool {
        self.origin.address().is_some()
    }

    pub(crate) const fn is_wildcard(&self) -> bool {
        self.is_wildcard
    }

    pub(crate) const fn is_tls(&self) -> bool {
        self.origin.is_tls
    }

    /// Returns how closely the pattern matches: the higher the closer.
    pub(crate) fn closeness(&self, destination: &Destination) -> Option<usize> {
        if !self.is_wildcard {
            return (self.origin == *destination).then_some(usize::MAX);
        }
        let (Host::Domain(suffix), Host::Domain(name)) = (&self.origin.host, &destination.host) else {
            return None;
        };
        let labels = name.strip_suffix(suffix.as_str()).and_then(|labels| labels.strip_suffix('.'));
        let is_same = self.origin.is_tls == destination.is_tls && self.origin.port == destination.port;
        (is_same && labels.is_some_and(|labels| !labels.is_empty())).then_some(suffix.len())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn matches(pattern: &str, uri: &str) -> bool {
        let destination = Destination::of(&uri.parse().unwrap()).unwrap();
        OriginPattern::parse(pattern).unwrap().closeness(&destination).is_some()
    }

    #[test]
    fn origin_is_scheme_host_and_port() {
        for uri in ["https://api.example.org/a", "https://API.example.org.:443/", "https://api.example.org"] {
            assert!(matches("https://api.example.org", uri), "{uri}");
        }
        for uri in [
            "http://api.example.org/",
            "https://api.example.org:8443/",
            "https://example.org/",
            "https://a.api.example.org/",
            "https://api.example.org.evil.example/",
        ] {
            assert!(!matches("https://api.example.org", uri), "{uri}");
        }
        assert!(matches("http://127.0.0.1:8080", "http://2130706433:8080/"));
        assert!(matches("http://127.0.0.1:8080", "http://[::ffff:7f00:1]:8080/"));
    }

    #[test]
    fn authority_has_no_default_port() {
        for (uri, expected) in [
            ("https://api.example.org/get", "api.example.org"),
            ("https://api.example.org:443/get", "api.example.org"),
            ("http://api.example.org:80/", "api.example.org"),
            ("http://api.example.org:443/", "api.example.org:443"),
        ] {
            assert_eq!(Destination::of(&uri.parse().unwrap()).unwrap().authority(), expected, "{uri}");
        }
    }

    #[test]
    fn wildcard_stands_for_one_or_more_labels() {
        for uri in ["https://a.town.example/", "https://b.a.town.example/"] {
            assert!(matches("https://*.town.example", uri), "{uri}");
        }
        for uri in ["https://town.example/", "https://downtown.example/", "http://a.town.example/"] {
            assert!(!matches("https://*.town.example", uri), "{uri}");
        }
    }

    #[test]
    fn pattern_other_than_origin_is_refused() {
        for text in [
            "api.example.org",
            "ftp://api.example.org",
            "https://api.example.org/",
            "https://eva:secret@api.example.org",
            "https://*",
            "https://*.org",
            "https://a.*.org",
            "https://*.10.0.0.1",
            "http://0.0.0.0",
            "http://[ff02::1]",
            "https://api.example.org:0",
        ] {
            let refused = OriginPattern::parse(text).unwrap_err();
            assert!(refused.starts_with("must") || refused.starts_with("would"), "{text}: {refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn request_must_name_a_host() {
        for uri in ["/path", "ftp://a.example/", "https://eva@a.example/", "https://a.example:0/"] {
            assert!(Destination::of(&uri.parse().unwrap()).is_err(), "{uri}");
        }
    }
}
