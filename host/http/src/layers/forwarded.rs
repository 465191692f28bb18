//! Determines the client behind trusted proxies.
//!
//! The elements are read from the right, since only those that trusted proxies appended can be believed: the first
//! element whose address is not a trusted proxy is the client, and elements left of it are ignored. Where that element
//! has no address (`unknown`, `_hidden`, garbage), the client is unspecified (`0.0.0.0`), because the proxy's address
//! may be allow-listed. Scheme and host come from the header that names the client. Where both `Forwarded` (RFC 7239)
//! and `X-Forwarded-For` name it, one of them may have passed the proxy unchecked: if client, scheme or host differ,
//! the request is rejected, and a scheme or host that only one has is ignored; unless the configuration says which of
//! the two headers counts. A `Forwarded` without a client (`proto=https`, which RFC 7239 allows) is ignored where there
//! is an `X-Forwarded-For`.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::Request,
    http::{
        HeaderMap, HeaderName, Uri,
        header::{FORWARDED, HOST},
        uri::Authority,
    },
    response::Response,
};
use bulkhead_config::server::{ForwardedBy, Server};
use ipnet::IpNet;

use crate::accept::{OverTls, PeerAddr};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// A host has at most 253 characters, plus brackets or a port.
const LONGEST_AUTHORITY: usize = 261;

/// The client as far as it can be known. In every request's extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its address, `0.0.0.0` if the proxy names none; IPv4-mapped IPv6 addresses (`::ffff:192.0.2.1`) are plain IPv4.
    /// Never log it.
    pub address: IpAddr,
    /// `http` or `https`, as the client used it.
    pub scheme: &'static str,
    /// The host and port that the client asked for, if it is well-formed.
    pub host: Option<String>,
}

/// The trusted proxies.
#[derive(Clone, Debug)]
pub struct Proxies {
    /// The peers.
    pub trusted: Arc<[IpNet]>,
    /// Which of their headers count.
    pub by: ForwardedBy,
}

impl Proxies {
    /// Returns the configured proxies.
    pub fn new(server: &Server) -> Self {
        Self { trusted: server.trusted_proxies.clone().into(), by: server.forwarded }
    }

    /// Trusts no proxy.
    #[cfg(test)]
    pub fn none() -> Self {
        Self { trusted: Arc::new([]), by: ForwardedBy::Either }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(&address))
    }
}

/// `Forwarded` and `X-Forwarded-*` of a trusted proxy name different clients, schemes or hosts. In such a request's
/// extensions, in the place of the [`Client`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradicting;

impl Contradicting {
    /// The name for programs.
    pub const CODE: &'static str = "contradicting-forwarded";
    /// The text for people.
    pub const MESSAGE: &'static str = "Forwarded and X-Forwarded-* name different clients, schemes or hosts; let the \
                                       proxy set or remove both, or name the one that counts in server.forwarded";
    /// The text where an error's shape has no place for the name.
    pub const NAMED_MESSAGE: &'static str = "contradicting-forwarded: Forwarded and X-Forwarded-* name different \
                                             clients, schemes or hosts; let the proxy set or remove both, or name the \
                                             one that counts in server.forwarded";
}

/// Puts the [`Client`] into the request's extensions, or [`Contradicting`]. Without a connection (in tests) the peer is
/// `0.0.0.0`.
pub(super) fn identify(request: &mut Request, proxies: &Proxies) {
    let peer = request.extensions().get::<PeerAddr>().map_or(unspecified(), |peer| peer.0);
    let over_tls = request.extensions().get::<OverTls>().is_some_and(|tls| tls.0);
    let authority = request.uri().authority().map(Authority::as_str);
    match client(peer.ip(), over_tls, authority, request.headers(), proxies) {
        Ok(client) => drop(request.extensions_mut().insert(client)),
        Err(contradicting) => drop(request.extensions_mut().insert(contradicting)),
    }
}

/// Returns a check that answers [`Contradicting`] requests to a service's routes in the service's format, for
/// [`middleware`](crate::middleware). Every service must use it, since handlers would find no [`Client`].
pub fn contradiction_check(
    answer: fn(&Uri) -> Response,
) -> impl Fn(&mut Request) -> Option<Response> + Clone + Send + Sync + 'static {
    move |request: &mut Request| {
        let Contradicting = request.extensions().get::<Contradicting>()?;
        Some(answer(request.uri()))
    }
}

const fn unspecified() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0)
}

/// Returns the client of a request that came from `peer`. `target` is the authority in the request's target, if there
/// is one: HTTP/2 has no Host header, and in HTTP/1.1 it goes before that (RFC 9112, 3.2.2).
///
/// # Errors
/// Where both headers count and name different clients, schemes or hosts.
pub fn client(
    peer: IpAddr,
    over_tls: bool,
    target: Option<&str>,
    headers: &HeaderMap,
    proxies: &Proxies,
) -> Result<Client, Contradicting> {
    let peer = peer.to_canonical();
    let asked = target.or_else(|| headers.get(HOST)?.to_str().ok());
    let direct = Client {
        address: peer,
        scheme: if over_tls { "https" } else { "http" },
        host: asked.and_then(authority),
    };
    if !proxies.trusts(peer) {
        return Ok(direct);
    }
    let standard = || rightmost_untrusted(&forwarded_elements(headers), proxies);
    let customary = || rightmost_untrusted(&x_forwarded_elements(headers), proxies);
    let element = match proxies.by {
        ForwardedBy::Forwarded => standard(),
        ForwardedBy::XForwarded => customary(),
        ForwardedBy::Either => match (standard(), customary()) {
            (Some(_), Some(customary)) if names_no_client(headers) => Some(customary),
            (Some(standard), Some(customary)) => Some(standard.merged_with(customary)?),
            (standard, customary) => standard.or(customary),
        },
    };
    let Some(element) = element else { return Ok(direct) };
    Ok(Client {
        address: element.address.unwrap_or(unspecified().ip()),
        scheme: element.scheme.unwrap_or(direct.scheme),
        host: element.host.or(direct.host),
    })
}

/// One element of a forwarded header: a proxy's statement about its client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ForwardedElement {
    /// None if it named no address.
    address: Option<IpAddr>,
    scheme: Option<&'static str>,
    host: Option<String>,
}

impl ForwardedElement {
    /// Merges the elements of both headers. A scheme or host that only one has may be sent by the client, and is
    /// dropped.
    fn merged_with(self, other: Self) -> Result<Self, Contradicting> {
        let schemes = self.scheme.zip(other.scheme);
        let hosts = self.host.as_ref().zip(other.host.as_ref());
        if self.address != other.address
            || schemes.is_some_and(|(one, other)| one != other)
            || hosts.is_some_and(|(one, other)| one != other)
        {
            return Err(Contradicting);
        }
        let (scheme, host) = (self.scheme.and(other.scheme), self.host.and(other.host));
        Ok(Self { address: self.address, scheme, host })
    }
}

/// Returns the element that counts: from the right the first that is not a trusted proxy, else the leftmost.
fn rightmost_untrusted(from_the_right: &[ForwardedElement], proxies: &Proxies) -> Option<ForwardedElement> {
    let is_proxy =
        |element: &&ForwardedElement| element.address.is_some_and(|address| proxies.trusts(address));
    from_the_right.iter().find(|element| !is_proxy(element)).or(from_the_right.last()).cloned()
}

fn forwarded_elements(headers: &HeaderMap) -> Vec<ForwardedElement> {
    list_elements(headers, &FORWARDED).map(parse_element).collect()
}

fn parse_element(element: &str) -> ForwardedElement {
    let mut parsed = ForwardedElement::default();
    for pair in split_from_the_right(element, ';') {
        let Some((name, value)) = pair.trim().split_once('=') else {
            continue;
        };
        let value = unquote(value);
        match name.to_ascii_lowercase().as_str() {
            "for" => parsed.address = node(&value),
            "proto" => parsed.scheme = scheme(&value),
            "host" => parsed.host = authority(&value),
            _ => {}
        }
    }
    parsed
}

/// Returns whether every element of `Forwarded` is well-formed and none has a `for`. A malformed element may contain
/// one.
fn names_no_client(headers: &HeaderMap) -> bool {
    let is_other_parameter = |pair: &str| {
        let name = pair.trim().split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| is_token(name) && !name.eq_ignore_ascii_case("for"))
    };
    list_elements(headers, &FORWARDED)
        .all(|element| split_from_the_right(element, ';').all(is_other_parameter))
}

/// Returns whether this is a token (RFC 9110, 5.6.2).
fn is_token(text: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

/// Returns `X-Forwarded-For` with the entries of `X-Forwarded-Proto` and `-Host` at the same position, or the last
/// ones: some proxies append to them, others leave one entry for the whole chain.
fn x_forwarded_elements(headers: &HeaderMap) -> Vec<ForwardedElement> {
    let schemes: Vec<_> = list_elements(headers, &X_FORWARDED_PROTO).collect();
    let hosts: Vec<_> = list_elements(headers, &X_FORWARDED_HOST).collect();
    let element = |(place, address): (usize, &str)| ForwardedElement {
        address: node(address),
        scheme: schemes.get(place).or(schemes.last()).and_then(|name| scheme(name)),
        host: hosts.get(place).or(hosts.last()).and_then(|name| authority(name)),
    };
    list_elements(headers, &X_FORWARDED_FOR).enumerate().map(element).collect()
}

/// Returns the elements of a list header, last one first.
fn list_elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    // A line that is not text still counts as an element, so that it hides nothing.
    let lines: Vec<_> = headers.get_all(name).iter().map(|line| line.to_str().unwrap_or("")).collect();
    lines.into_iter().rev().flat_map(|line| split_from_the_right(line, ',')).map(str::trim)
}

/// Returns the parts of `text` between separators outside quotes, last one first. Quotes are paired from the right:
/// a client's unpaired quote on the left must not swallow what a proxy appended.
fn split_from_the_right(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut quoted = false;
        let cut = text.char_indices().rev().find_map(|(at, character)| {
            if character == '"' && !is_escaped(text, at) {
                quoted = !quoted;
            }
            (character == separator && !quoted).then_some(at)
        });
        let (left, part) = match cut {
            Some(at) => (text.get(..at), text.get(at + separator.len_utf8()..)),
            None => (None, Some(text)),
        };
        rest = left;
        part
    })
}

fn is_escaped(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

fn unquote(value: &str) -> String {
    let value = value.trim();
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return value.to_owned();
    };
    let mut escaped = false;
    inner
        .chars()
        .filter(|character| {
            escaped = *character == '\\' && !escaped;
            !escaped
        })
        .collect()
}

/// Returns the address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
pub fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    text.parse::<IpAddr>()
        .ok()
        .or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
        .or_else(bracketed)
        .map(|address| address.to_canonical())
}

fn scheme(text: &str) -> Option<&'static str> {
    ["http", "https"].into_iter().find(|scheme| text.trim().eq_ignore_ascii_case(scheme))
}

/// Returns `text` if it is valid as host and port of a URL.
fn authority(text: &str) -> Option<String> {
    parsed_authority(text).map(|authority| authority.as_str().to_owned())
}

/// Returns whether `text` is valid as host and port of a URL.
pub(super) fn is_authority(text: &str) -> bool {
    parsed_authority(text).is_some()
}

fn parsed_authority(text: &str) -> Option<Authority> {
    // One entry of a header may be parsed and stored for thousands of elements.
    if text.trim().len() > LONGEST_AUTHORITY {
        return None;
    }
    let authority: Authority = text.trim().parse().ok()?;
    (!authority.host().is_empty() && !authority.as_str().contains('@')).then_some(authority)
}

#[cfg(test)]
mod tests;
