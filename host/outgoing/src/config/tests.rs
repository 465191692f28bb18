//! Tests of the list of origins, and lists for other tests.

#![allow(clippy::unwrap_used)]

use bulkhead_config::{
    Config, HostSpec, Loaded, Problems,
    reader::Reader,
    tables::{Context, ServiceTable, TableSpec},
};

use super::*;

/// A table with the keys of a slot.
#[derive(Clone, Debug)]
struct Shop {
    origins: Vec<OutgoingOrigin>,
    limits: OutgoingLimits,
}

impl ServiceTable for Shop {
    const NAME: &'static str = "shop";

    fn read(reader: &mut Reader, _: &mut Context<'_>) -> Self {
        reader.table(Self::NAME, |r| Self { origins: read_origins(r), limits: OutgoingLimits::read(r) })
    }
}

fn load(toml: &str) -> Result<Loaded, Problems> {
    let tables = vec![TableSpec::of::<Shop>()];
    let spec = HostSpec { tables, ..HostSpec::default() };
    bulkhead_config::load(bulkhead_configured::sources(&format!("[shop]\n{toml}"), &[]), &spec)
}

fn shop(config: &Config) -> &Shop {
    config.table::<Shop>().unwrap()
}

/// Returns the origins of a list.
pub(crate) fn origins(list: &str) -> Vec<OutgoingOrigin> {
    shop(&load(&format!("outgoing = {list}")).unwrap().config).origins.clone()
}

fn closest(origins: &[OutgoingOrigin], uri: &str) -> Option<usize> {
    let destination = Destination::of(&uri.parse().unwrap()).unwrap();
    let found = OutgoingOrigin::closest(origins, &destination)?;
    origins.iter().position(|origin| origin.pattern == found.pattern)
}

#[test]
fn closest_entry_decides() {
    let origins = origins(
        "['https://*.town.example', { origin = 'https://api.town.example', headers = { authorization = 's' } }, \
         'https://*.api.town.example']",
    );
    assert_eq!(closest(&origins, "https://shop.town.example/"), Some(0));
    assert_eq!(closest(&origins, "https://api.town.example/"), Some(1));
    assert_eq!(closest(&origins, "https://v2.api.town.example/"), Some(2));
    assert_eq!(closest(&origins, "https://town.example/"), None);
}

#[test]
fn every_problem_is_reported_without_secrets() {
    let problems = load(
        "outgoing = [
            'api.example.org',
            { origin = 'https://*.example.org', private = true },
            { origin = 'https://a.example.org', headers = { host = 'unspoken', 'a b' = 'unspoken' } },
            { origin = 'https://b.example.org', headers = { authorization = \"unspoken\\nx\" } },
            'https://a.example.org',
            { headers = {} },
        ]
        outgoing_limits = { calls = 0 }",
    );
    let problems = problems.unwrap_err().to_string();
    for part in [
        "outgoing.0.origin: must be an origin",
        "outgoing.1.private: goes with one name",
        "outgoing.2.headers.host: is set for each connection",
        "outgoing.2.headers.a b: must be the name",
        "outgoing.3.headers.authorization: has characters",
        "outgoing.4.origin: is listed twice",
        "outgoing.5.origin: must be given",
        "outgoing_limits.calls: must be from 1",
    ] {
        assert!(problems.contains(part), "{problems}\nlacks: {part}");
    }
    assert!(!problems.contains("unspoken"), "{problems}");
}

#[test]
fn debug_output_hides_header_values() {
    let origins =
        origins("[{ origin = 'https://a.example', headers = { authorization = 'Bearer unspoken' } }]");
    assert!(!format!("{origins:?}").contains("unspoken"));
}

#[test]
fn secret_over_plain_http_is_warned_about() {
    let list = "outgoing = [{ origin = 'http://a.example', headers = { authorization = 's' } }]";
    let loaded = load(list).unwrap();
    let warnings: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|warning| warning.contains("headers: are sent unencrypted")), "{warnings:?}");
    assert_eq!(shop(&loaded.config).limits, OutgoingLimits::default());
}

#[test]
fn addresses_are_admitted_as_named() {
    let origins = origins(
        "['https://a.example', { origin = 'https://b.example', private = true }, 'http://169.254.169.254']",
    );
    let admitted = |address: &str| {
        let address: IpAddr = address.parse().unwrap();
        Vec::from_iter(origins.iter().map(|origin| origin.admits(address)))
    };
    assert_eq!(admitted("1.1.1.1"), [true, true, true]);
    assert_eq!(admitted("10.0.0.1"), [false, true, true]);
    assert_eq!(admitted("169.254.169.254"), [false, false, true]);
    assert_eq!(admitted("64:ff9b::a00:1"), [false, false, true]);
}
