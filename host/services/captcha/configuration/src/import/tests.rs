//! Tests of the import of the Java service's configuration.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_pow::PowAlgorithm;

use super::*;
use crate::config::{
    Auth, Captcha, Database, KeySetLocation,
    management::{Endpoint, Management},
};
use crate::configured::{loaded, refused, table};

const APPLICATION: &str = r#"
spring:
  application.name: captcha
  datasource:
    url: jdbc:postgresql://db:5432/captcha
    username: admin
    password: p@ss
server:
  port: 39146
management:
  endpoints:
    web:
      exposure:
        include: health, info, prometheus, sbom
      path-mapping:
        prometheus: metrics
  endpoint.health.show-details: always
captcha:
  hmac-key: 0123
  captchaTimeoutSeconds: 300
  sites:
    "[my.site]":
      site-secret: 12345
      max-verifies-per-payload: 2
      whitelisted-source-addresses:
        - 10.0.0.0/8
        - "::1"
      difficulty-map:
        - min-visits: 1
          cost: 1000
        - { min-visits: 10, cost: 5000 }
    2:
      secret: two
---
spring.config.activate.on-profile: local
captcha.sites.2.secret: local
---
captcha.source-address-window-seconds: 60
"#;

fn import(text: &str) -> Imported {
    import_application(text, ApplicationFormat::Yaml).unwrap()
}

fn import_properties(text: &str) -> Imported {
    import_application(text, ApplicationFormat::Properties).unwrap()
}

fn assert_noted(imported: &Imported, expected: &str) {
    let Imported { toml, notes } = imported;
    assert!(notes.iter().any(|note| note == expected), "{expected}\n{notes:#?}\n{toml}");
}

#[test]
fn converted_configuration_loads() {
    let imported = import(APPLICATION);
    let loaded = loaded(&imported.toml, &[]);
    let config = loaded.config;
    let captcha: &Captcha = config.table().unwrap();
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:39146");
    assert_eq!(captcha.hmac_key.as_ref().unwrap().expose(), "83", "octal, as the Java service reads it");
    assert_eq!(captcha.captcha_timeout.as_secs(), 300);
    assert_eq!(captcha.source_address_window.as_secs(), 60);
    let Database::Postgres(url) = &captcha.database else { panic!("not PostgreSQL") };
    assert_eq!(url.expose(), "postgres://admin:p%40ss@db:5432/captcha");
    let site = &captcha.sites["my.site"];
    assert!(site.compat);
    assert_eq!(site.algorithm, PowAlgorithm::Sha256);
    assert_eq!(site.secrets[0].expose(), "12345");
    assert_eq!(site.max_verifies_per_payload, 2);
    assert_eq!(site.difficulty_map.len(), 2);
    assert_eq!(site.whitelisted_source_addresses.len(), 2);
    let two = &captcha.sites["2"];
    assert_eq!((two.secrets[0].expose(), two.difficulty_map[0].cost), ("two", 1000));
    let management: &Management = config.table().unwrap();
    assert!(management.exposed.contains(&Endpoint::Metrics));
    assert!(!management.exposed.contains(&Endpoint::Scrape));
}

#[test]
fn dropped_settings_are_noted() {
    let notes = import(APPLICATION).notes;
    for expected in [
        "line 3: spring.application.name is not carried over",
        "settings of profile local are left out",
        "site 2 has no difficulty-map; it gets cost 1000 throughout",
        "server.listen stays on loopback",
    ] {
        assert!(notes.iter().any(|note| note.contains(expected)), "{expected}\n{notes:#?}");
    }
    let octal = "line 19: captcha.hmac-key is a number or a boolean without its quotes";
    assert!(notes.iter().any(|note| note.starts_with(octal)), "{notes:#?}");
    assert_eq!(notes.len(), 5, "{notes:#?}");
    let notes = import("captcha:\n  hmac-key: ${KEY:x}\n  sites.a.site-key: a\n").notes;
    assert!(
        notes.contains(
            &"line 2: captcha.hmac-key holds a placeholder; write the value, or set it in the environment"
                .to_owned()
        ),
        "{notes:#?}"
    );
    assert!(notes.contains(&"line 3: captcha.sites.a.site-key is not carried over".to_owned()), "{notes:#?}");
}

#[test]
fn token_checks_are_kept() {
    let imported = import(
        "spring.security.oauth2.resourceserver.jwt:\n  jwk-set-uri: https://i/keys\n  audiences: [a, b]\n",
    );
    let Auth::Jwt(jwt) = table::<Captcha>(&imported.toml, &[]).auth else { panic!("no JWT") };
    assert_eq!(jwt.audiences, ["a", "b"]);
    let discovered = import("spring.security.oauth2.resourceserver.jwt.issuer-uri: https://i\n");
    assert!(discovered.notes.iter().any(|note| note.contains("key_set_url is missing")));
    assert!(discovered.toml.contains("auth = \"jwt\""), "must not fall open: {}", discovered.toml);
}

#[test]
fn sites_may_share_yaml_anchors() {
    let imported = import(
        "captcha:\n  sites:\n    a: &common\n      site-secret: one\n      max-verifies-per-payload: 3\n    b:\n      <<: *common\n      site-secret: two\n",
    );
    let sites = table::<Captcha>(&imported.toml, &[]).sites;
    assert_eq!((sites["a"].secrets[0].expose(), sites["b"].secrets[0].expose()), ("one", "two"));
    assert_eq!(sites["b"].max_verifies_per_payload, 3);
}

#[test]
fn quoted_site_key_may_have_dots() {
    let sites = [
        "captcha:\n  sites:\n    \"a.b\": {secret: s}\n",
        "captcha:\n  sites:\n    'a.b':\n      secret: s\n",
        "captcha:\n  sites:\n    \"[a.b]\": {secret: s}\n",
        "captcha.sites:\n  \"a.b\": {secret: s}\n",
        "captcha.sites.[a.b].secret: s\n",
        "captcha:\n  sites:\n    \"[a.b].secret\": s\n",
    ];
    for text in sites {
        let sites = table::<Captcha>(&import(text).toml, &[]).sites;
        assert_eq!(sites.keys().collect::<Vec<_>>(), ["a.b"], "{text}");
        assert_eq!(sites["a.b"].secrets[0].expose(), "s", "{text}");
    }
    // Other names are split as Spring splits them, in quotes or not.
    let imported = import("\"captcha.hmac-key\": k\ncaptcha:\n  sites:\n    \"a.secret\": s\n");
    let captcha: Captcha = table(&imported.toml, &[]);
    assert_eq!(captcha.hmac_key.unwrap().expose(), "k");
    assert_eq!(captcha.sites["a"].secrets[0].expose(), "s");
}

#[test]
fn malformed_yaml_names_its_line() {
    let cases = [
        ("a: b\nc: [1\n", "not valid YAML"),
        ("a: &x [*x]\n", "line 1: an alias is inside of its own anchor"),
        ("? [a]\n: b\n", "a name must be plain text"),
    ];
    for (text, words) in cases {
        let error = import_application(text, ApplicationFormat::Yaml).unwrap_err().to_string();
        assert!(error.starts_with("line ") && error.contains(words), "{error}");
    }
    let deep = "[".repeat(200);
    assert!(import_application(&deep, ApplicationFormat::Yaml).is_err());
    assert!(loaded(&import("").toml, &[]).warnings.is_empty());
}

/// The Java service's own profile for development: numbers of YAML 1.1 and placeholders.
const LOCAL: &str = r"
server:
  port: 39146
spring:
  datasource:
    url: jdbc:postgresql://localhost:5432/postgres
    username: admin
    password: admin
  security.oauth2.resourceserver.jwt:
    jwk-set-uri: ${sso.url}/realms/${sso.realm}/certs
    audiences:
      - ${sso.client}
sso:
  url: http://localhost:8100
  realm: local_realm
  client: local
captcha:
  hmac-key: secret
  sites:
    test:
      secret: test
      difficulty-map:
        - min-visits: 0
          cost: 1_000
        - min-visits: 0x4
          cost: 0b1001110001000
        - min-visits: 011
          cost: 2:46:40
";

#[test]
fn numbers_of_yaml_1_1_are_numbers() {
    let imported = import(LOCAL);
    let captcha: Captcha = table(&imported.toml, &[]);
    let ladder: Vec<_> =
        captcha.sites["test"].difficulty_map.iter().map(|step| (step.min_visits, step.cost)).collect();
    assert_eq!(ladder, [(0, 1000), (4, 5000), (9, 10_000)]);
    let Auth::Jwt(jwt) = captcha.auth else { panic!("no JWT") };
    assert_eq!(jwt.key_set, KeySetLocation::Url("http://localhost:8100/realms/local_realm/certs".to_owned()));
    assert_eq!(jwt.audiences, ["local"]);
}

#[test]
fn unquoted_secrets_are_what_java_prints() {
    let sites = ["1_000", "yes", "0x10", "'0x10'", "1.50"].map(|secret| {
        let text = format!("captcha.sites.a.secret: {secret}\ncaptcha.hmac-key: k\n");
        let imported = import(&text);
        let site = table::<Captcha>(&imported.toml, &[]).sites.remove("a").unwrap();
        (
            site.secrets[0].expose().to_owned(),
            imported.notes.iter().any(|note| note.contains("without its quotes")),
        )
    });
    let expected = [("1000", true), ("true", true), ("16", true), ("0x10", false), ("1.50", true)];
    assert_eq!(sites, expected.map(|(secret, is_noted)| (secret.to_owned(), is_noted)));
}

#[test]
fn properties_and_yaml_convert_alike() {
    let properties = "\
# The same in Java's other format.
server.port = 39146
server.servlet.context-path: /captcha
management.endpoints.web.exposure.include=health,info,prometheus
captcha.hmac-key=0123
captcha.sites[my.site].secret=caf\\u00e9
captcha.sites[my.site].difficulty-map[0].min-visits=1
captcha.sites[my.site].difficulty-map[0].cost=0x3E8
captcha.sites[my.site].whitelisted-source-addresses=10.0.0.0/8,::1
#---
spring.config.activate.on-profile=local
captcha.hmac-key=other
";
    let imported = import_properties(properties);
    assert_noted(&imported, "line 11: settings of profile local are left out");
    let config = loaded(&imported.toml, &[]).config;
    let captcha: &Captcha = config.table().unwrap();
    assert_eq!(captcha.hmac_key.as_ref().unwrap().expose(), "0123", "text, as Java reads it");
    let site = &captcha.sites["my.site"];
    assert_eq!((site.secrets[0].expose(), site.difficulty_map[0].cost), ("caf\u{e9}", 1000));
    assert_eq!(site.whitelisted_source_addresses.len(), 2);
    assert_eq!(config.server.listen.port(), 39146);
    assert_eq!(config.services.get("captcha").path_prefix, "/captcha");
    assert!(config.table::<Management>().unwrap().exposed.contains(&Endpoint::Metrics));
}

#[test]
fn ports_are_read_as_spring_does() {
    for port in ["8080", "8080 ", "0x1F90", "#1f90"] {
        let imported = import_properties(&format!("server.port={port}\n"));
        assert_eq!(loaded(&imported.toml, &[]).config.server.listen.port(), 8080, "{port}");
    }
}

#[test]
fn context_path_becomes_path_prefix() {
    for (path, prefix) in [("/captcha", "/captcha"), ("/", ""), ("/a/b", "/a/b")] {
        let imported = import(&format!("server.servlet.context-path: {path}\n"));
        assert_eq!(loaded(&imported.toml, &[]).config.services.get("captcha").path_prefix, prefix);
    }
}

#[test]
fn dropped_tls_settings_are_noted() {
    let imported = import("server:\n  ssl:\n    key-store: /k.p12\n    key-store-password: x\n");
    let [note] = imported.notes.iter().filter(|note| note.contains("TLS")).collect::<Vec<_>>()[..] else {
        panic!("{:?}", imported.notes)
    };
    assert!(
        note.starts_with("line 3: server.ssl.key-store, server.ssl.key-store-password are not"),
        "{note}"
    );
    assert!(note.contains("server.tls.cert"), "{note}");
    let off = import("server.ssl:\n  enabled: no\n  key-store: /k.p12\n");
    assert!(!off.notes.iter().any(|note| note.contains("TLS")), "{:?}", off.notes);
    // Each listener has a switch of its own.
    let one =
        import_properties("server.ssl.enabled=OFF\nserver.ssl.bundle=a\nmanagement.server.ssl.bundle=b\n");
    let lost: Vec<_> = one.notes.iter().filter(|note| note.contains("TLS")).collect();
    assert!(
        matches!(lost[..], [note] if note.starts_with("line 3: management.server.ssl.bundle is not")),
        "{lost:?}"
    );
}

#[test]
fn site_without_secret_is_noted() {
    for text in [
        "captcha.sites.a.max-verifies-per-payload: 2\n",
        "captcha.sites.a.secret: ${SECRET}\n",
        "captcha:\n  sites:\n    a:\n",
        "captcha.sites: { a: {} }\n",
        "captcha.sites.a: []\n",
    ] {
        let imported = import(text);
        assert_noted(
            &imported,
            "site a has no secret, without which no host starts; set captcha.sites.a.secret",
        );
        let problems = refused(&imported.toml, &[]).to_string();
        assert!(problems.contains("captcha.sites.a.secret: must be given"), "{problems}");
    }
    let unknown_keys = import(
        "captcha.sites.a.secret: ${SECRET:x}\nspring.security.oauth2.resourceserver.jwt.jwk-set-uri: ${URL}\n",
    );
    assert!(unknown_keys.toml.contains("auth = \"jwt\""), "must not fall open: {}", unknown_keys.toml);
}

#[test]
fn scraping_keeps_its_path() {
    let exposed = |text: &str| {
        let imported = import(text);
        Vec::from_iter(table::<Management>(&imported.toml, &[]).exposed)
    };
    use Endpoint::{Health, Metrics, Prometheus};
    let include = "management.endpoints.web.exposure.include: health,prometheus\n";
    let mapped = "management.endpoints.web.path-mapping.prometheus: prom\n";
    assert_eq!(exposed(include), [Health, Metrics, Prometheus]);
    assert_eq!(exposed(&format!("{include}{mapped}")), [Health, Prometheus]);
    let excluded = exposed("management.endpoints.web.exposure.exclude: [prometheus]\n");
    assert!(!excluded.contains(&Metrics) && excluded.contains(&Health), "{excluded:?}");
}
