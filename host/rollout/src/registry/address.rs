//! Where a registry may send: to itself, to what it is allowed beside, and over TLS to public addresses, so that no
//! registry has this host call on the machines around it.

use std::{
    collections::BTreeSet,
    error::Error,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use bulkhead_config::registries::Registry;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::Fault;

/// Addresses that are not public (IANA's special-purpose address registries).
const SPECIAL_V4: [(Ipv4Addr, u8); 14] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];
/// Of IPv6 only this is anybody's.
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// But for these: protocols, documentation, and addresses that stand for others of IPv4.
const SPECIAL_V6: [(Ipv6Addr, u8); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

fn within(net: Result<IpNet, ipnet::PrefixLenError>, address: IpAddr) -> bool {
    net.is_ok_and(|net| net.contains(&address))
}

/// Whether this is a machine's on the Internet.
fn is_public(address: IpAddr) -> bool {
    let v4 = |(net, length)| Ipv4Net::new(net, length).map(IpNet::from);
    let v6 = |(net, length)| Ipv6Net::new(net, length).map(IpNet::from);
    match address.to_canonical() {
        address @ IpAddr::V4(_) => !SPECIAL_V4.into_iter().any(|net| within(v4(net), address)),
        address @ IpAddr::V6(_) => {
            within(v6(GLOBAL_V6), address) && !SPECIAL_V6.into_iter().any(|net| within(v6(net), address))
        }
    }
}

/// Whether `registry` may redirect to `target`, as far as its text tells; [`Guarded`] sees to the rest.
pub(super) fn permit(registry: &Registry, target: &Url) -> Result<(), Fault> {
    if registry.allows(target) {
        return Ok(());
    }
    let refused = |why| Err(Fault::Redirect { target: target.origin().ascii_serialization(), why });
    if target.scheme() != "https" {
        return refused("without TLS");
    }
    if !target.username().is_empty() || target.password().is_some() {
        return refused("with a user's name");
    }
    let is_open = match target.host() {
        Some(Host::Ipv4(address)) => is_public(address.into()),
        Some(Host::Ipv6(address)) => is_public(address.into()),
        // Its own name is resolved wherever it leads, so that it must be its own origin.
        Some(Host::Domain(name)) => registry.names().all(|own| own != name),
        None => false,
    };
    if is_open { Ok(()) } else { refused("which is no public address") }
}

/// A name leads to no public address.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it leads to no public address")]
pub(super) struct NotPublic;

/// Resolves the registry's own names, and others as far as they lead to public addresses.
pub(super) struct Guarded(BTreeSet<String>);

impl Guarded {
    pub(super) fn new(registry: &Registry) -> Self {
        Self(registry.names().map(str::to_owned).collect())
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let is_own = self.0.contains(name.as_str());
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let open: Vec<_> = found.into_iter().filter(|found| is_own || is_public(found.ip())).collect();
            if open.is_empty() {
                return Err(NotPublic.into());
            }
            Ok::<Addrs, Box<dyn Error + Send + Sync>>(Box::new(open.into_iter()))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_addresses_on_the_internet_are_public() {
        for public in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "fe80::1",
            "fd00::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
