//! Tests of `[management]`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::configured::{each_refused, loaded, refused};

fn read(toml: &str) -> Management {
    loaded(toml, &[]).config.table::<Management>().unwrap().clone()
}

#[test]
fn empty_configuration_has_the_defaults() {
    let management = read("");
    assert_eq!(management.base_path, "/actuator");
    assert_eq!(management.exposed.len(), 5);
}

#[test]
fn taken_listener_address_is_refused() {
    each_refused(&[(
        "[management.server]\nport = 9901",
        "management.server.port: 127.0.0.1:9901 is taken by server.admin_listen",
    )]);
    loaded("[services.captcha]\nenabled = false\n[management.server]\nport = 9901", &[]);
}

#[test]
fn exposure_follows_spring() {
    use Endpoint::{Health, Info, Metrics, Prometheus, Scrape};
    let cases: [(&str, &[Endpoint]); 6] = [
        ("", &[Health, Info, Metrics, Scrape, Prometheus]),
        ("include = '*'\nexclude = ['metrics', 'scrape']", &[Health, Info, Prometheus]),
        ("include = 'health, Info'", &[Health, Info]),
        ("include = ['health', 'info']\nexclude = '*'", &[]),
        ("include = ''", &[]),
        ("exclude = 'info'", &[Health, Metrics, Scrape, Prometheus]),
    ];
    for (toml, expected) in cases {
        let toml = format!("[management.endpoints.web.exposure]\n{toml}");
        let exposed = read(&toml).exposed;
        assert_eq!(exposed.into_iter().collect::<Vec<_>>(), expected, "{toml}");
    }
}

#[test]
fn unknown_endpoints_give_warnings() {
    let toml = "[management.endpoints.web.exposure]\ninclude = ['health', 'sbom']";
    let loaded = loaded(toml, &[]);
    assert_eq!(loaded.warnings.len(), 1);
    let warning = loaded.warnings[0].to_string();
    assert!(
        warning.contains("line 2: management.endpoints.web.exposure.include: there is no endpoint `sbom`"),
        "{warning}"
    );
}

#[test]
fn management_settings_are_read() {
    let toml = "[management.endpoints.web]\nbase-path = '/ops/'\n\
                [management.endpoint.health]\nshow-details = 'when_authorized'\n\
                [management.server]\nport = 9000\naddress = '10.0.0.1'";
    let management = read(toml);
    assert_eq!(management.base_path, "/ops");
    assert_eq!(management.show_details, ShowDetails::WhenAuthorized);
    assert_eq!(management.listen.unwrap().to_string(), "10.0.0.1:9000");

    let same = read("[management.server]\nport = 8080");
    assert_eq!(same.listen, None, "the public port needs no separate listener");
    let off = read("[management.server]\nport = -1");
    assert!(off.exposed.is_empty() && off.listen.is_none());
    let follows = "[services.captcha]\nlisten = '10.0.0.2:80'\n[management.server]\nport = 81";
    assert_eq!(read(follows).listen.unwrap().to_string(), "10.0.0.2:81");
    let alone = refused("[management.server]\naddress = '10.0.0.1'", &[]).to_string();
    assert!(alone.contains("has no effect without management.server.port"), "{alone}");
}
