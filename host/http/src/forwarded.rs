//! Who the client is, behind proxies that are trusted to say so.
//!
//! The chain is read from the right, since only what trusted proxies appended can be believed: the first hop that is
//! not one of them is the client, and nothing left of it matters. Where that hop names no address (`unknown`,
//! `_hidden`, garbage), the client is nobody (`0.0.0.0`): the proxy's own address may be allow-listed. Scheme and host
//! come from the header that names the client. Where both `Forwarded` (RFC 7239) and `X-Forwarded-For` do, one of them
//! may have gone unchecked through the proxy: if client, scheme or host differ, the request is refused, and a scheme or
//! host that only one names does not count; unless the configuration says which of the two headers does. A `Forwarded`
//! that is about no client (`proto=https`, which RFC 7239 allows) is not heard beside `X-Forwarded-For`.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    Router,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, Uri,
        header::{FORWARDED, HOST},
        uri::Authority,
    },
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use bulkhead_config::server::{ForwardedBy, Server};
use ipnet::IpNet;

use super::accept::{OverTls, PeerAddr};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// A host has at most 253 characters, and brackets or a port beside them.
const LONGEST_AUTHORITY: usize = 261;

/// The client as far as it can be known. In every request's extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its address, `0.0.0.0` if the proxy names none; IPv4 addresses in IPv6 clothes (`::ffff:192.0.2.1`) are plain IPv4. Never log it.
    pub address: IpAddr,
    /// `http` or `https`, as the client used it.
    pub scheme: &'static str,
    /// The host and port that the client asked for, if it is well-formed.
    pub host: Option<String>,
}

/// Whose word on the client is believed.
#[derive(Clone, Debug)]
pub struct Proxies {
    /// The peers.
    pub trusted: Arc<[IpNet]>,
    /// Which of their headers count.
    pub by: ForwardedBy,
}

impl Proxies {
    /// Those that are configured.
    pub fn new(server: &Server) -> Self {
        Self { trusted: server.trusted_proxies.clone().into(), by: server.forwarded }
    }

    /// Nobody's.
    #[cfg(test)]
    pub fn none() -> Self {
        Self { trusted: Arc::new([]), by: ForwardedBy::Either }
    }

    fn are(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(&address))
    }
}

/// `Forwarded` and `X-Forwarded-*` of a trusted proxy name different clients, schemes or hosts. In such a request's extensions, in the
/// place of the [`Client`].
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

/// Middleware: puts the [`Client`] into the request's extensions, or [`Contradicting`]. Without a connection (in tests)
/// the peer is `0.0.0.0`.
pub async fn identify(State(proxies): State<Proxies>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<PeerAddr>().map_or(unspecified(), |peer| peer.0);
    let over_tls = request.extensions().get::<OverTls>().is_some_and(|tls| tls.0);
    let authority = request.uri().authority().map(Authority::as_str);
    match client(peer.ip(), over_tls, authority, request.headers(), &proxies) {
        Ok(client) => drop(request.extensions_mut().insert(client)),
        Err(contradicting) => drop(request.extensions_mut().insert(contradicting)),
    }
    next.run(request).await
}

/// Answers requests of [`Contradicting`] proxies to any of a service's routes in the service's own shape. Every service
/// does so; else its handlers would find no [`Client`].
pub fn refuse_contradictions<S>(router: Router<S>, answer: fn(&Uri) -> Response) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    router.layer(from_fn_with_state(answer, refuse))
}

async fn refuse(State(answer): State<fn(&Uri) -> Response>, request: Request, next: Next) -> Response {
    match request.extensions().get::<Contradicting>() {
        Some(Contradicting) => answer(request.uri()),
        None => next.run(request).await,
    }
}

const fn unspecified() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0)
}

/// The client of a request that came from `peer`. `target` is the authority in the request's target, if there is
/// one: HTTP/2 has no Host header, and in HTTP/1.1 it goes before that (RFC 9112, 3.2.2).
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
    if !proxies.are(peer) {
        return Ok(direct);
    }
    let standard = || rightmost_untrusted(&forwarded_hops(headers), proxies);
    let customary = || rightmost_untrusted(&x_forwarded_hops(headers), proxies);
    let hop = match proxies.by {
        ForwardedBy::Forwarded => standard(),
        ForwardedBy::XForwarded => customary(),
        ForwardedBy::Either => match (standard(), customary()) {
            (Some(_), Some(customary)) if is_about_no_client(headers) => Some(customary),
            (Some(standard), Some(customary)) => Some(standard.agreed(customary)?),
            (standard, customary) => standard.or(customary),
        },
    };
    let Some(hop) = hop else { return Ok(direct) };
    Ok(Client {
        address: hop.address.unwrap_or(unspecified().ip()),
        scheme: hop.scheme.unwrap_or(direct.scheme),
        host: hop.host.or(direct.host),
    })
}

/// What a proxy said of the side that it was asked from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Hop {
    /// None if it named no address.
    address: Option<IpAddr>,
    scheme: Option<&'static str>,
    host: Option<String>,
}

impl Hop {
    /// What this header and the other one say. A scheme or host that only one names may be the client's word.
    fn agreed(self, other: Self) -> Result<Self, Contradicting> {
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

/// The hop that counts: from the right the first that is not a trusted proxy, else the leftmost.
fn rightmost_untrusted(from_the_right: &[Hop], proxies: &Proxies) -> Option<Hop> {
    let is_proxy = |hop: &&Hop| hop.address.is_some_and(|address| proxies.are(address));
    from_the_right.iter().find(|hop| !is_proxy(hop)).or(from_the_right.last()).cloned()
}

fn forwarded_hops(headers: &HeaderMap) -> Vec<Hop> {
    elements(headers, &FORWARDED).map(forwarded_hop).collect()
}

fn forwarded_hop(element: &str) -> Hop {
    let mut hop = Hop::default();
    for pair in split_from_the_right(element, ';') {
        let Some((name, value)) = pair.trim().split_once('=') else {
            continue;
        };
        let value = unquote(value);
        match name.to_ascii_lowercase().as_str() {
            "for" => hop.address = node(&value),
            "proto" => hop.scheme = scheme(&value),
            "host" => hop.host = authority(&value),
            _ => {}
        }
    }
    hop
}

/// Whether every element of `Forwarded` is well-formed and none has a `for`. What is malformed may be hiding one.
fn is_about_no_client(headers: &HeaderMap) -> bool {
    let is_silent = |pair: &str| {
        let name = pair.trim().split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| is_token(name) && !name.eq_ignore_ascii_case("for"))
    };
    elements(headers, &FORWARDED).all(|element| split_from_the_right(element, ';').all(is_silent))
}

/// RFC 9110, 5.6.2.
fn is_token(text: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

/// `X-Forwarded-For` with the entries of its companions that stand at the same place, or the nearest to it:
/// some proxies append to them, others leave one entry for the whole chain.
fn x_forwarded_hops(headers: &HeaderMap) -> Vec<Hop> {
    let schemes: Vec<_> = elements(headers, &X_FORWARDED_PROTO).collect();
    let hosts: Vec<_> = elements(headers, &X_FORWARDED_HOST).collect();
    let hop = |(place, address): (usize, &str)| Hop {
        address: node(address),
        scheme: schemes.get(place).or(schemes.last()).and_then(|name| scheme(name)),
        host: hosts.get(place).or(hosts.last()).and_then(|name| authority(name)),
    };
    elements(headers, &X_FORWARDED_FOR).enumerate().map(hop).collect()
}

/// The elements of a list header, last one first.
fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    // A line that is not text still takes its place, so that it cannot hide.
    let lines: Vec<_> = headers.get_all(name).iter().map(|line| line.to_str().unwrap_or("")).collect();
    lines.into_iter().rev().flat_map(|line| split_from_the_right(line, ',')).map(str::trim)
}

/// The parts of `text` between separators outside quotes, last one first. Quotes are paired from the right:
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

/// The address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
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

/// `text` if it can stand in a URL as host and port.
pub(super) fn authority(text: &str) -> Option<String> {
    // One entry of a header may count for thousands of hops: it is read, and kept, for each.
    if text.trim().len() > LONGEST_AUTHORITY {
        return None;
    }
    let authority: Authority = text.trim().parse().ok()?;
    (!authority.host().is_empty() && !authority.as_str().contains('@')).then(|| authority.to_string())
}

#[cfg(test)]
mod tests;
