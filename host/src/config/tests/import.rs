use super::loaded;
use crate::config::{
    Imported,
    captcha::{Algorithm, Auth, Database},
    import_application_yml,
    management::Endpoint,
};

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
    import_application_yml(text).unwrap()
}

#[test]
fn what_comes_out_loads_and_means_the_same() {
    let imported = import(APPLICATION);
    let loaded = loaded(&imported.toml, &[]);
    let config = loaded.config;
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:39146");
    assert_eq!(config.captcha.hmac_key.unwrap().expose(), "0123");
    assert_eq!(config.captcha.captcha_timeout.as_secs(), 300);
    assert_eq!(config.captcha.source_address_window.as_secs(), 60);
    let Database::Postgres(url) = config.captcha.database else { panic!("not PostgreSQL") };
    assert_eq!(url.expose(), "postgres://admin:p%40ss@db:5432/captcha");
    let site = &config.captcha.sites["my.site"];
    assert!(site.compat);
    assert_eq!(site.algorithm, Algorithm::Sha256);
    assert_eq!(site.secrets[0].expose(), "12345");
    assert_eq!(site.max_verifies_per_payload, 2);
    assert_eq!(site.difficulty_map.len(), 2);
    assert_eq!(site.whitelisted_source_addresses.len(), 2);
    let two = &config.captcha.sites["2"];
    assert_eq!((two.secrets[0].expose(), two.difficulty_map[0].cost), ("two", 1000));
    assert!(config.management.exposed.contains(&Endpoint::Metrics));
    assert!(!config.management.exposed.contains(&Endpoint::Scrape));
}

#[test]
fn what_does_not_come_out_is_told() {
    let notes = import(APPLICATION).notes;
    for expected in [
        "line 3: spring.application.name is not carried over",
        "settings of profile local are left out",
        "site 2 has no difficulty-map; it gets cost 1000 throughout",
        "server.listen stays on loopback",
    ] {
        assert!(notes.iter().any(|note| note.contains(expected)), "{expected}\n{notes:#?}");
    }
    assert_eq!(notes.len(), 4, "{notes:#?}");
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
    let Auth::Jwt(jwt) = loaded(&imported.toml, &[]).config.captcha.auth else { panic!("no JWT") };
    assert_eq!(jwt.audiences, ["a", "b"]);
    let discovered = import("spring.security.oauth2.resourceserver.jwt.issuer-uri: https://i\n");
    assert!(discovered.notes.iter().any(|note| note.contains("key_set_url is missing")));
    assert!(discovered.toml.contains("auth = \"jwt\""), "must not fall open: {}", discovered.toml);
}

#[test]
fn sites_may_share_what_they_have_in_common() {
    let imported = import(
        "captcha:\n  sites:\n    a: &common\n      site-secret: one\n      max-verifies-per-payload: 3\n    b:\n      <<: *common\n      site-secret: two\n",
    );
    let sites = loaded(&imported.toml, &[]).config.captcha.sites;
    assert_eq!((sites["a"].secrets[0].expose(), sites["b"].secrets[0].expose()), ("one", "two"));
    assert_eq!(sites["b"].max_verifies_per_payload, 3);
}

#[test]
fn broken_yaml_has_its_line() {
    let cases = [
        ("a: b\nc: [1\n", "not valid YAML"),
        ("a: &x [*x]\n", "line 1: an alias stands inside of what it stands for"),
        ("? [a]\n: b\n", "a name must be plain text"),
    ];
    for (text, words) in cases {
        let error = import_application_yml(text).unwrap_err().to_string();
        assert!(error.starts_with("line ") && error.contains(words), "{error}");
    }
    let deep = "[".repeat(200);
    assert!(import_application_yml(&deep).is_err());
    assert!(loaded(&import("").toml, &[]).warnings.is_empty());
}
