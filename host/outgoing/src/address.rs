//! Which addresses are public, private, or for special purposes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Networks of an organisation and of the host itself.
const PRIVATE_V4: [(Ipv4Addr, u8); 5] = [
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
];
/// The same of IPv6.
const PRIVATE_V6: [(Ipv6Addr, u8); 2] =
    [(Ipv6Addr::LOCALHOST, 128), (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7)];
/// Further addresses that are not public (IANA's special-purpose address registries).
const SPECIAL_V4: [(Ipv4Addr, u8); 9] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];
/// Of IPv6 only this is public.
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// But for these: protocols, documentation, and addresses that stand for others of IPv4. Those of NAT64 are not global.
const SPECIAL_V6: [(Ipv6Addr, u8); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];
/// Where clouds hand credentials to their machines, whatever network the address is in.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// What an address is for. One of IPv4 in the form of IPv6 is what it is in its own form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// A machine's on the Internet.
    Public,
    /// One of an organisation's own network or of the host itself.
    Private,
    /// Any other: link-local, metadata of a cloud, multicast, unspecified, documentation, translations of IPv4.
    Special,
}

impl AddressClass {
    /// Classifies an address.
    pub fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        if METADATA.contains(&address) {
            return Self::Special;
        }
        let within = |v4: &[(Ipv4Addr, u8)], v6: &[(Ipv6Addr, u8)]| match address {
            IpAddr::V4(_) => v4.iter().any(|(net, length)| contains(Ipv4Net::new(*net, *length), address)),
            IpAddr::V6(_) => v6.iter().any(|(net, length)| contains(Ipv6Net::new(*net, *length), address)),
        };
        if within(&PRIVATE_V4, &PRIVATE_V6) {
            return Self::Private;
        }
        let is_global = address.is_ipv4() || within(&[], &[GLOBAL_V6]);
        if is_global && !within(&SPECIAL_V4, &SPECIAL_V6) { Self::Public } else { Self::Special }
    }
}

fn contains<N: Into<IpNet>>(net: Result<N, ipnet::PrefixLenError>, address: IpAddr) -> bool {
    net.map(Into::<IpNet>::into).is_ok_and(|net| net.contains(&address))
}

/// Returns whether this is a machine's address on the Internet.
pub fn is_public(address: IpAddr) -> bool {
    AddressClass::of(address) == AddressClass::Public
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_addresses_on_the_internet_are_public() {
        let cases: [(AddressClass, &[&str]); 3] = [
            (
                AddressClass::Public,
                &["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1"],
            ),
            (
                AddressClass::Private,
                &[
                    "10.1.2.3",
                    "100.64.0.1",
                    "127.0.0.1",
                    "172.16.0.1",
                    "192.168.1.1",
                    "::1",
                    "::ffff:127.0.0.1",
                    "fd00::1",
                ],
            ),
            (
                AddressClass::Special,
                &[
                    "0.0.0.0",
                    "169.254.169.254",
                    "::ffff:169.254.169.254",
                    "100.100.100.200",
                    "168.63.129.16",
                    "198.18.0.1",
                    "224.0.0.1",
                    "255.255.255.255",
                    "::",
                    "::7f00:1",
                    "64:ff9b::7f00:1",
                    "64:ff9b:1::a9fe:a9fe",
                    "fe80::1",
                    "fd00:ec2::254",
                    "2001:db8::1",
                    "2002:7f00:1::",
                    "ff02::1",
                ],
            ),
        ];
        for (class, addresses) in cases {
            for address in addresses {
                assert_eq!(AddressClass::of(address.parse().unwrap()), class, "{address}");
            }
        }
    }
}
