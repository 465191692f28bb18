//! Parses the client address that a back end sends: an IPv4 or IPv6 literal in the grammar that captchaservice 2.x
//! accepts (Guava's `InetAddresses.forString`), never a name, port or range.

use std::{
    borrow::Cow,
    net::{IpAddr, Ipv6Addr},
};

/// The zeros of the decimal digits in Unicode's basic plane, other than ASCII's.
const ZEROS: [u32; 36] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6,
    0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0,
    0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

/// Parses an address literal. Ignores a `%scope` after an IPv6 address, and converts an IPv4-mapped IPv6 address to
/// IPv4, so that it is counted and masked as one.
pub fn parse(text: &str) -> Option<IpAddr> {
    let ascii: Cow<'_, str> = match text.is_ascii() {
        true => text.into(),
        false => text.chars().map(ascii_digit).collect::<String>().into(),
    };
    let literal = match ascii.split_once('%') {
        Some((address, _)) if address.contains(':') => address,
        _ => &*ascii,
    };
    literal.parse().ok().map(|address| match address {
        IpAddr::V6(v6) => unmapped(v6),
        v4 => v4,
    })
}

/// Converts an IPv4-mapped address to IPv4; returns any other one unchanged.
fn unmapped(address: Ipv6Addr) -> IpAddr {
    address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
}

/// Converts a decimal digit of any script to ASCII; returns any other character unchanged.
fn ascii_digit(c: char) -> char {
    let code = u32::from(c);
    let before = ZEROS.partition_point(|zero| *zero <= code);
    before
        .checked_sub(1)
        .and_then(|index| ZEROS.get(index))
        .and_then(|zero| char::from_digit(code - zero, 10))
        .unwrap_or(c)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    #[test]
    fn address_literals_are_parsed() {
        for (text, address) in [
            ("1.2.3.4", "1.2.3.4"),
            ("0.0.0.0", "0.0.0.0"),
            ("255.255.255.255", "255.255.255.255"),
            ("::", "::"),
            ("::1", "::1"),
            ("1::", "1::"),
            ("EA28:FB8:E3F6:2836:1:2:3:4", "ea28:fb8:e3f6:2836:1:2:3:4"),
            ("0001:0:0:0:0:0:0:1", "1::1"),
            ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
            ("::1.2.3.4", "::102:304"),
            ("fe80::1%eth0", "fe80::1"),
            ("fe80::1%", "fe80::1"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
            ("::FFFF:102:304", "1.2.3.4"),
            ("0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4"),
            ("١.٢.٣.٤", "1.2.3.4"),
            ("１９２.１６８.0.1", "192.168.0.1"),
            ("२००१:db8::१", "2001:db8::1"),
        ] {
            assert_eq!(parse(text), Some(address.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let texts = "| |test|localhost|1.2.3|1.2.3.4.5|1.2.3.256|01.2.3.4|1.2.3.04|1.2.3.4 | 1.2.3.4|\
             1.2.3.4:80|[::1]|[::1]:80|10.0.0.0/8|::/0|1.2.3.4%eth0|1::2::3|1:2:3:4:5:6:7|\
             1:2:3:4:5:6:7:8:9|1:2:3:4:5:6:7::8|:1::|1::2:|12345::|g::1|::1.2.3|::01.2.3.4|\
             0x7f.0.0.1|2130706433|1.2.3.-4|+1.2.3.4|1.2.3.4\0|½.2.3.4|%eth0|::ffff:1.2.3.4:5";
        for text in texts.split('|') {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn digit_table_is_sorted() {
        assert!(ZEROS.is_sorted());
    }

    #[test]
    fn address_steps_grow_with_its_length() {
        let shapes: [Shape<'_, String>; 3] = [
            ("digits of another script", &|bytes| repeated("", "\u{ff11}", "", bytes)),
            ("colons", &|bytes| repeated("", ":", "", bytes)),
            ("zones", &|bytes| repeated("::1%", "%", "", bytes)),
        ];
        let test = concat!(module_path!(), "::address_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| parse(text));
    }
}
