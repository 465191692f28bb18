//! Tests of forwarded headers: trust, conflicts, forms of addresses.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use axum::http::HeaderValue;

use super::*;

mod steps;

const PROXY: &str = "10.0.0.1";
const UNSPECIFIED: &str = "0.0.0.0";

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let line = |(name, value): &(&str, &str)| {
        (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
    };
    let mut headers = HeaderMap::new();
    for (name, value) in lines.iter().map(line) {
        headers.append(name, value);
    }
    headers
}

fn judge(by: ForwardedBy, peer: &str, lines: &[(&str, &str)]) -> Result<Client, Contradicting> {
    let trusted = ["10.0.0.0/8", "2001:db8:aaaa::/48"].map(|net| net.parse().unwrap());
    let proxies = Proxies { trusted: trusted.into(), by };
    client(peer.parse().unwrap(), false, None, &headers(lines), &proxies)
}

fn ask(peer: &str, lines: &[(&str, &str)]) -> Client {
    judge(ForwardedBy::Either, peer, lines).unwrap()
}

fn address(peer: &str, lines: &[(&str, &str)]) -> String {
    ask(peer, lines).address.to_string()
}

#[test]
fn headers_of_untrusted_peer_are_ignored() {
    let lines = [
        ("forwarded", "for=192.0.2.9;proto=https;host=evil.example"),
        ("x-forwarded-for", "192.0.2.9"),
        ("host", "good.example"),
    ];
    let client = ask("198.51.100.7", &lines);
    assert_eq!(client.address.to_string(), "198.51.100.7");
    assert_eq!((client.scheme, client.host.as_deref()), ("http", Some("good.example")));
}

#[test]
fn elements_left_of_the_client_are_ignored() {
    for name in ["x-forwarded-for", "forwarded"] {
        let chain = |hops: &[&str]| match name {
            "forwarded" => hops.iter().map(|hop| format!("for={hop}")).collect::<Vec<_>>().join(", "),
            _ => hops.join(", "),
        };
        let spoofed = chain(&["203.0.113.5", "192.0.2.1"]);
        assert_eq!(address(PROXY, &[(name, &spoofed)]), "192.0.2.1");
        let through_two = chain(&["203.0.113.5", "192.0.2.1", "10.2.3.4"]);
        assert_eq!(address(PROXY, &[(name, &through_two)]), "192.0.2.1");
        assert_eq!(address(PROXY, &[(name, "203.0.113.5"), (name, &chain(&["192.0.2.1"]))]), "192.0.2.1");
    }
}

#[test]
fn chain_of_proxies_ends_at_leftmost() {
    assert_eq!(address(PROXY, &[("x-forwarded-for", "10.9.9.9, 10.8.8.8")]), "10.9.9.9");
}

#[test]
fn unpaired_quote_keeps_the_proxys_element() {
    for spoof in [r#"for="203.0.113.5, for=192.0.2.1"#, r#"for="a\", for=192.0.2.1"#, "\", for=192.0.2.1"] {
        assert_eq!(address(PROXY, &[("forwarded", spoof)]), "192.0.2.1", "{spoof}");
    }
}

#[test]
fn separators_inside_quotes_do_not_separate() {
    let line = r#"for=192.0.2.1;by="_a,b;for=203.0.113.5\"""#;
    assert_eq!(address(PROXY, &[("forwarded", line)]), "192.0.2.1");
}

#[test]
fn addresses_come_in_every_form() {
    for (node, wanted) in [
        ("192.0.2.1", "192.0.2.1"),
        (r#""192.0.2.1:4711""#, "192.0.2.1"),
        (r#""[2001:db8::17]""#, "2001:db8::17"),
        (r#""[2001:db8::17]:4711""#, "2001:db8::17"),
        (r#""[::ffff:192.0.2.1]:80""#, "192.0.2.1"),
        (r#""192\.0.2.1""#, "192.0.2.1"),
    ] {
        assert_eq!(address(PROXY, &[("forwarded", &format!("For={node};proto=http"))]), wanted);
    }
    for (node, wanted) in [("2001:db8::17", "2001:db8::17"), ("192.0.2.1:99", "192.0.2.1")] {
        assert_eq!(address(PROXY, &[("x-forwarded-for", node)]), wanted);
    }
}

#[test]
fn element_without_address_is_unspecified() {
    for bad in ["for=unknown", "for=_hidden", "for=", "for=1.2.3", "garbage", "", "proto=https"] {
        assert_eq!(address(PROXY, &[("forwarded", bad)]), UNSPECIFIED, "{bad}");
        let hidden = format!("for=203.0.113.5, {bad}, for=10.2.3.4");
        assert_eq!(address(PROXY, &[("forwarded", &hidden)]), UNSPECIFIED, "{bad}");
        let irrelevant = format!("{bad}, for=192.0.2.1");
        assert_eq!(address(PROXY, &[("forwarded", &irrelevant)]), "192.0.2.1", "{bad}");
    }
    for bad in ["192.0.2.1, localhost", "unknown", ""] {
        assert_eq!(address(PROXY, &[("x-forwarded-for", bad)]), UNSPECIFIED, "{bad}");
    }
    assert_eq!(address(PROXY, &[]), PROXY, "it asks on its own account");
}

#[test]
fn contradicting_headers_are_rejected() {
    let agreeing = [("forwarded", "for=192.0.2.1"), ("x-forwarded-for", "192.0.2.1")];
    assert_eq!(address(PROXY, &agreeing), "192.0.2.1");
    for forwarded in
        ["for=203.0.113.5", "for=unknown", "for=_hidden", "garbage", "for=192.0.2.1, for=10.2.3.4, for=x"]
    {
        let smuggled = [("forwarded", forwarded), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(judge(ForwardedBy::Either, PROXY, &smuggled), Err(Contradicting), "{forwarded}");
        // Headers of an untrusted peer are ignored.
        assert_eq!(address("198.51.100.7", &smuggled), "198.51.100.7");
    }
}

/// RFC 7239 does not require a `for`: a scheme or host alone does not contradict the client of `X-Forwarded-For`.
#[test]
fn header_without_client_is_ignored() {
    let beside = |forwarded: &[&str]| {
        let lines = forwarded.iter().map(|line| ("forwarded", *line));
        let named = [("x-forwarded-for", "203.0.113.5, 192.0.2.1"), ("x-forwarded-proto", "http")];
        judge(ForwardedBy::Either, PROXY, &lines.chain(named).collect::<Vec<_>>())
            .map(|client| (client.address.to_string(), client.scheme, client.host))
    };
    for silent in [
        &["proto=https"][..],
        &["by=10.0.0.1;proto=https;host=evil.example", "proto=https, host=evil.example"],
        &[r#"by="for=198.51.100.7""#],
    ] {
        assert_eq!(beside(silent), Ok(("192.0.2.1".to_owned(), "http", None)), "{silent:?}");
    }
    for heard in [
        &["proto=https, for=198.51.100.7"][..],
        &["FOR=198.51.100.7, proto=https"],
        &["proto=https", "for=unknown"],
        &["proto=https;for=198.51.100.7"],
        // A client's quote hides nothing that a proxy has added.
        &["proto=\"https, for=198.51.100.7"],
        &["proto=https;"],
        &["for =198.51.100.7"],
        &["proto=https, "],
        &[""],
    ] {
        assert_eq!(beside(heard), Err(Contradicting), "{heard:?}");
    }
    let alone = [("forwarded", "proto=https")];
    assert_eq!(address(PROXY, &alone), UNSPECIFIED);
    let named = [alone[0], ("x-forwarded-for", "192.0.2.1")];
    let standard = judge(ForwardedBy::Forwarded, PROXY, &named).unwrap();
    assert_eq!(standard.address.to_string(), UNSPECIFIED);
}

/// The address may be the client's own, which it knows; scheme and host are then not for one header to choose.
#[test]
fn scheme_and_host_count_where_headers_agree() {
    let seen = |forwarded: &str, proto: &str, host: &str| {
        let forwarded = format!("for=192.0.2.1;{forwarded}");
        let mut lines = vec![("forwarded", forwarded.as_str()), ("x-forwarded-for", "192.0.2.1")];
        lines.push(("host", "direct.example"));
        lines.extend(
            [("x-forwarded-proto", proto), ("x-forwarded-host", host)]
                .iter()
                .filter(|line| !line.1.is_empty()),
        );
        judge(ForwardedBy::Either, PROXY, &lines).map(|client| (client.scheme, client.host.unwrap()))
    };
    let expected = |scheme, host: &str| Ok((scheme, host.to_owned()));
    let agreed = expected("https", "www.example");
    assert_eq!(seen("proto=https;host=www.example", "https", "www.example"), agreed);
    for (forwarded, proto, host) in [
        ("proto=https;host=evil.example", "https", "www.example"),
        ("proto=http;host=www.example", "https", "www.example"),
        ("host=evil.example", "", "www.example"),
        ("proto=https", "http", ""),
    ] {
        assert_eq!(seen(forwarded, proto, host), Err(Contradicting), "{forwarded}");
    }
    for (forwarded, proto, host, wanted) in [
        ("proto=https;host=evil.example", "", "", expected("http", "direct.example")),
        ("", "https", "evil.example", expected("http", "direct.example")),
        ("proto=https;host=evil.example", "https", "", expected("https", "direct.example")),
        ("host=www.example", "https", "www.example", expected("http", "www.example")),
    ] {
        assert_eq!(seen(forwarded, proto, host), wanted, "{forwarded} {proto} {host}");
    }
}

#[test]
fn the_named_header_counts_alone() {
    let both = [
        ("forwarded", "for=203.0.113.5;proto=https;host=standard.example"),
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-proto", "http"),
        ("x-forwarded-host", "customary.example"),
        ("host", "direct.example"),
    ];
    let seen = |by, lines: &[(&str, &str)]| {
        let client = judge(by, PROXY, lines).unwrap();
        (client.address.to_string(), client.scheme, client.host.unwrap())
    };
    let expected = |address: &str, scheme, host: &str| (address.to_owned(), scheme, host.to_owned());
    assert_eq!(seen(ForwardedBy::Forwarded, &both), expected("203.0.113.5", "https", "standard.example"));
    assert_eq!(seen(ForwardedBy::XForwarded, &both), expected("192.0.2.1", "http", "customary.example"));
    let direct = expected(PROXY, "http", "direct.example");
    assert_eq!(seen(ForwardedBy::Forwarded, &both[1..]), direct, "the other one is ignored");
    assert_eq!(seen(ForwardedBy::XForwarded, &[both[0], both[4]]), direct);
}

#[test]
fn a_mapped_peer_is_its_ipv4_address() {
    assert_eq!(address("::ffff:198.51.100.7", &[]), "198.51.100.7");
    assert_eq!(address("::ffff:10.0.0.1", &[("x-forwarded-for", "192.0.2.1")]), "192.0.2.1");
    assert_eq!(address("2001:db8:aaaa::1", &[("x-forwarded-for", "192.0.2.1")]), "192.0.2.1");
}

#[test]
fn scheme_and_host_come_from_clients_element() {
    let two = "for=192.0.2.1;proto=https;host=www.example:8443, for=10.2.3.4;proto=http;host=inner";
    let client = ask(PROXY, &[("forwarded", two)]);
    assert_eq!((client.scheme, client.host.as_deref()), ("https", Some("www.example:8443")));
    let one_for_all = [
        ("x-forwarded-for", "192.0.2.1, 10.2.3.4"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "www.example"),
    ];
    let client = ask(PROXY, &one_for_all);
    assert_eq!((client.scheme, client.host.as_deref()), ("https", Some("www.example")));
    let one_each = [("x-forwarded-for", "192.0.2.1, 10.2.3.4"), ("x-forwarded-proto", "https, http")];
    assert_eq!(ask(PROXY, &one_each).scheme, "https");
}

#[test]
fn invalid_host_is_dropped() {
    for bad in ["a b", "user@host", "http://host/", ""] {
        assert_eq!(ask("198.51.100.7", &[("host", bad)]).host, None, "{bad}");
    }
    let bad = [("forwarded", "for=192.0.2.1;host=\"a b\";proto=ftp"), ("host", "ok.example")];
    let client = ask(PROXY, &bad);
    assert_eq!((client.scheme, client.host.as_deref()), ("http", Some("ok.example")));
}
