//! Tests of the Java service's environment variables.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_pow::PowAlgorithm;

use crate::config::{
    Captcha, Database, LadderStep,
    management::{Endpoint, Management, ShowDetails},
};
use crate::configured::{loaded, refused, table};

#[test]
fn java_variables_configure_the_service() {
    let environment = [
        ("CAPTCHA_HMACKEY", "secret"),
        ("CAPTCHA_CAPTCHA_TIMEOUT_SECONDS", "300"),
        ("CAPTCHA_SOURCEADDRESSWINDOWSECONDS", "3600"),
        ("CAPTCHA_SITES_TEST_SECRET", "as long as it should be"),
        ("CAPTCHA_SITES_TEST_MAX_VERIFIES_PER_PAYLOAD", "2"),
        ("CAPTCHA_SITES_TEST_DIFFICULTYMAP_0_MINVISITS", "1"),
        ("CAPTCHA_SITES_TEST_DIFFICULTYMAP_0_COST", "1000"),
        ("CAPTCHA_SITES_TEST_DIFFICULTY_MAP_1_MIN_VISITS", "10"),
        ("CAPTCHA_SITES_TEST_DIFFICULTY_MAP_1_COST", "5000"),
        ("CAPTCHA_SITES_TEST_SOURCEADDRESSIPV4NETSIZE", "24"),
        ("CAPTCHA_SITES_TEST_SOURCE_ADDRESS_IPV6_NET_SIZE", "64"),
        ("CAPTCHA_SITES_TEST_WHITELISTEDSOURCEADDRESSES", "10.0.0.0/8,::1"),
        ("MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE", "health,prometheus"),
        ("MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_EXCLUDE_0", "health"),
        ("MANAGEMENT_ENDPOINTS_WEB_BASE_PATH", "/ops"),
        ("MANAGEMENT_ENDPOINT_HEALTH_SHOWDETAILS", "always"),
        ("MANAGEMENT_SERVER_PORT", "9000"),
        ("SERVER_PORT", "39146"),
        ("SERVER_SERVLET_CONTEXT_PATH", "/captcha"),
    ];
    let loaded = loaded("", &environment);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let config = loaded.config;
    let captcha: &Captcha = config.table().unwrap();
    assert_eq!(captcha.hmac_key.as_ref().unwrap().expose(), "secret");
    assert_eq!(captcha.captcha_timeout.as_secs(), 300);
    assert_eq!(captcha.source_address_window.as_secs(), 3600);
    let site = &captcha.sites["test"];
    assert!(site.compat && !site.deterministic);
    assert_eq!(site.algorithm, PowAlgorithm::Sha256);
    assert_eq!(site.difficulty_map[1], LadderStep { min_visits: 10, cost: 5000 });
    assert_eq!(site.max_verifies_per_payload, 2);
    assert_eq!((site.source_address_ipv4_net_size, site.source_address_ipv6_net_size), (24, 64));
    assert_eq!(site.whitelisted_source_addresses.len(), 2);
    let management: &Management = config.table().unwrap();
    assert_eq!(Vec::from_iter(management.exposed.clone()), [Endpoint::Metrics, Endpoint::Prometheus]);
    assert_eq!(management.base_path, "/ops");
    assert_eq!(management.show_details, ShowDetails::Always);
    assert_eq!(management.listen.unwrap().to_string(), "127.0.0.1:9000");
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:39146");
    assert_eq!(config.services.get("captcha").path_prefix, "/captcha");
}

#[test]
fn variables_may_hold_hexadecimal_numbers() {
    let environment = [
        ("CAPTCHA_HMACKEY", "0x10"),
        ("CAPTCHA_CAPTCHATIMEOUTSECONDS", " 0X12c "),
        ("CAPTCHA_SITES_TEST_SECRET", "#20"),
        ("CAPTCHA_SITES_TEST_DIFFICULTYMAP_0_MINVISITS", "#1"),
        ("CAPTCHA_SITES_TEST_DIFFICULTYMAP_0_COST", "0x10"),
        ("MANAGEMENT_SERVER_PORT", "0x2328"),
        ("SERVER_PORT", "0x1F90"),
    ];
    let config = loaded("", &environment).config;
    let captcha: &Captcha = config.table().unwrap();
    assert_eq!(captcha.captcha_timeout.as_secs(), 300);
    assert_eq!(captcha.sites["test"].difficulty_map, [LadderStep { min_visits: 1, cost: 16 }]);
    let secrets = (captcha.hmac_key.as_ref().unwrap().expose(), captcha.sites["test"].secrets[0].expose());
    assert_eq!(secrets, ("0x10", "#20"), "a secret is text");
    assert_eq!(config.server.listen.port(), 8080);
    let management: &Management = config.table().unwrap();
    assert_eq!(management.listen.unwrap().port(), 9000);
    for port in ["0x", "0xg", "0x10000", "-1"] {
        let problems = refused("", &[("SERVER_PORT", port)]).to_string();
        assert!(problems.contains("must be a port from 0 to 65535"), "{port}: {problems}");
    }
}

#[test]
fn java_tls_gives_a_warning() {
    let warnings = |environment: &[(&str, &str)]| loaded("", environment).warnings;
    let key_store = ("SERVER_SSL_KEY_STORE", "/k.p12");
    let [warning] = &warnings(&[key_store, ("SERVER_SSL_KEY_STORE_PASSWORD", "x")])[..] else {
        panic!("not one warning")
    };
    assert!(warning.to_string().starts_with("SERVER_SSL_KEY_STORE: server.tls: "), "{warning}");
    for off in ["false", "FALSE", " off"] {
        assert!(warnings(&[key_store, ("SERVER_SSL_ENABLED", off)]).is_empty(), "{off}");
    }
    let management = ("MANAGEMENT_SERVER_SSL_KEY_STORE", "/k.p12");
    let [warning] = &warnings(&[key_store, ("SERVER_SSL_ENABLED", "no"), management])[..] else {
        panic!("not one warning")
    };
    assert!(warning.to_string().starts_with("MANAGEMENT_SERVER_SSL_KEY_STORE: server.tls: "), "{warning}");
}

#[test]
fn context_path_may_end_with_slash() {
    let toml = "services.captcha.path_prefix = '/file'";
    for (path, prefix) in [("/captcha", "/captcha"), ("/captcha/", "/captcha"), ("/", "")] {
        for name in ["SERVER_SERVLET_CONTEXT_PATH", "SERVER_SERVLET_CONTEXTPATH"] {
            let config = loaded(toml, &[(name, path)]).config;
            assert_eq!(config.services.get("captcha").path_prefix, prefix, "{name}={path}");
        }
    }
}

/// The Java service serves its endpoint `prometheus` at `/actuator/metrics`.
#[test]
fn exposed_scrape_keeps_its_path() {
    use Endpoint::{Health, Metrics, Prometheus};
    let exposed = |environment: &[(&str, &str)]| -> Vec<Endpoint> {
        let loaded = loaded("", environment);
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        Vec::from_iter(loaded.config.table::<Management>().unwrap().exposed.clone())
    };
    let include = ("MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE", "health, prometheus");
    assert_eq!(exposed(&[include]), [Health, Metrics, Prometheus]);
    let indexed = [
        ("MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE_0", "prometheus"),
        ("MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE_1", "health"),
    ];
    assert_eq!(exposed(&indexed), [Health, Metrics, Prometheus]);
    let mapped = ("MANAGEMENT_ENDPOINTS_WEB_PATHMAPPING_PROMETHEUS", "prom");
    assert_eq!(exposed(&[include, mapped]), [Health, Prometheus]);
    assert_eq!(exposed(&[("MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE", "health")]), [Health]);
    assert_eq!(exposed(&[include, ("MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_EXCLUDE", "prometheus")]), [Health]);
    let native = ("BULKHEAD_MANAGEMENT__ENDPOINTS__WEB__EXPOSURE__INCLUDE", "prometheus");
    assert_eq!(exposed(&[native]), [Prometheus], "our own names say what they mean");
}

#[test]
fn variables_keep_mode_of_configured_site() {
    let toml = "[captcha.sites.My_Site]\nsecret = 'old'";
    let mut captcha: Captcha = table(toml, &[("CAPTCHA_SITES_MY_SITE_SECRET", "new")]);
    let site = captcha.sites.remove("My_Site").unwrap();
    assert_eq!(site.secrets[0].expose(), "new");
    assert!(!site.compat);
}

#[test]
fn variables_of_one_site_stay_together() {
    let environment = [
        ("CAPTCHA_SITES_MY_SITE_DIFFICULTYMAP_0_MINVISITS", "1"),
        ("CAPTCHA_SITES_MY_SITE_DIFFICULTYMAP_0_COST", "7"),
        ("CAPTCHA_SITES_MY_SITE_SECRET", "s"),
        ("BULKHEAD_CAPTCHA__SITES__MY_SITE__COMPAT", "false"),
        ("BULKHEAD_CAPTCHA__SITES__MY_SITE__ALGORITHM", "PBKDF2/SHA-512"),
    ];
    let sites = table::<Captcha>("", &environment).sites;
    assert_eq!(sites.keys().collect::<Vec<_>>(), ["my_site"]);
    assert_eq!((sites["my_site"].difficulty_map[0].cost, sites["my_site"].compat), (7, false));
    let problems = refused("", &environment[2..3]).to_string();
    assert!(problems.contains("captcha.sites.my.difficulty_map: must be given with SHA-256"), "{problems}");
}

#[test]
fn jdbc_url_becomes_postgresql_url() {
    let cases = [
        ("jdbc:postgresql://h:5433/db", "postgres://admin:p%40ss%2Fw@h:5433/db"),
        ("jdbc:postgresql://h/db?sslmode=require", "postgres://admin:p%40ss%2Fw@h/db?sslmode=require"),
        ("jdbc:postgresql://h/db?ssl=true", "postgres://admin:p%40ss%2Fw@h/db?sslmode=verify-full"),
        ("jdbc:postgresql:db", "postgres://admin:p%40ss%2Fw@localhost/db"),
        ("jdbc:postgresql:///db", "postgres://admin:p%40ss%2Fw@localhost/db"),
        ("jdbc:postgresql://[::1]:5/db", "postgres://admin:p%40ss%2Fw@[::1]:5/db"),
        (
            "jdbc:postgresql://h/db?currentSchema=s",
            "postgres://admin:p%40ss%2Fw@h/db?options%5Bsearch_path%5D=s",
        ),
    ];
    for (jdbc, expected) in cases {
        let environment = [
            ("CAPTCHA_HMAC_KEY", "k"),
            ("SPRING_DATASOURCE_URL", jdbc),
            ("SPRING_DATASOURCE_USERNAME", "admin"),
            ("SPRING_DATASOURCE_PASSWORD", "p@ss/w"),
        ];
        let Database::Postgres(url) = table::<Captcha>("", &environment).database else {
            panic!("{jdbc} is not PostgreSQL")
        };
        assert_eq!(url.expose(), expected);
    }
}

#[test]
fn unsupported_jdbc_url_is_refused() {
    for jdbc in ["jdbc:h2:mem:x", "jdbc:postgresql://a,b/db", "jdbc:postgresql://u:p@h/db", "x"] {
        let problems = refused("", &[("SPRING_DATASOURCE_URL", jdbc)]).to_string();
        let start = "SPRING_DATASOURCE_URL: captcha.database: must be jdbc:postgresql://";
        assert!(problems.starts_with(start), "{problems}");
    }
    let environment = [
        ("CAPTCHA_HMAC_KEY", "k"),
        ("SPRING_DATASOURCE_URL", "jdbc:postgresql://h/db?user=u&reWriteBatchedInserts=true"),
    ];
    let warnings = loaded("", &environment).warnings;
    let mut ignored = warnings.iter().filter(|warning| warning.text.contains("ignored parameter(s)"));
    assert!(ignored.any(|warning| warning.text.contains("reWriteBatchedInserts")), "{warnings:?}");
}

#[test]
fn problems_name_the_variable() {
    let environment = [("CAPTCHA_CAPTCHATIMEOUTSECONDS", "soon"), ("SERVER_PORT", "http")];
    let problems = refused("", &environment).to_string();
    let expected = "\
CAPTCHA_CAPTCHATIMEOUTSECONDS: captcha.captcha_timeout_seconds: must be a whole number, not `soon`
SERVER_PORT: server.listen: must be a port from 0 to 65535, not `http`";
    assert_eq!(problems, expected);
}

#[test]
fn unknown_variables_give_warnings() {
    let environment =
        [("CAPTCHA_COLOUR", "red"), ("MANAGEMENT_METRICS_TAGS_X", "y"), ("SPRING_PROFILES_ACTIVE", "z")];
    let loaded = loaded("", &environment);
    assert_eq!(loaded.warnings.len(), 2, "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].to_string().starts_with("CAPTCHA_COLOUR: ignored"));
}
