//! Tests of `[captcha]`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;
use crate::configured::{each_refused, loaded, refused, table};

fn read(toml: &str) -> Captcha {
    table(toml, &[])
}

const COMPAT: &str = "compat = true\ndifficulty_map = [{ min_visits = 1, cost = 1000 }]\n";

fn site(body: &str) -> Site {
    let toml = format!("[captcha.sites.a]\nsecret = 's'\n{body}");
    read(&toml).sites.remove("a").unwrap()
}

fn step(min_visits: u32, cost: u32) -> LadderStep {
    LadderStep { min_visits, cost }
}

#[test]
fn empty_configuration_has_the_defaults() {
    assert_eq!(read("").captcha_timeout, CAPTCHA_TIMEOUT);
}

#[test]
fn variables_find_a_site_by_its_key() {
    let toml = "[captcha.sites.My-Site]\nsecret = 's'";
    let captcha: Captcha = table(toml, &[("BULKHEAD_CAPTCHA__SITES__MY_SITE__COUNTER_MAX", "7")]);
    assert_eq!(captcha.sites["My-Site"].counter_max, 7);
}

#[test]
fn site_needs_only_a_secret() {
    let site = site("");
    assert!(!site.compat && site.deterministic && !site.accept_v1);
    assert_eq!((site.protocol, site.algorithm), (Protocol::V2, PowAlgorithm::Pbkdf2Sha256));
    assert_eq!(site.difficulty_map, [step(1, 5000)]);
    assert_eq!((site.binding, site.counter_max), (Binding::None, 256));
    assert_eq!((site.max_verifies_per_payload, site.max_failures_per_challenge), (1, 10));
    assert_eq!((site.source_address_ipv4_net_size, site.source_address_ipv6_net_size), (32, 64));
}

#[test]
fn compat_sites_count_whole_ipv6_addresses() {
    assert_eq!(site(COMPAT).source_address_ipv6_net_size, 128);
    assert_eq!(site(&format!("{COMPAT}source_address_ipv6_net_size = 56")).source_address_ipv6_net_size, 56);
}

#[test]
fn auto_needs_no_ladder() {
    const AUTO: &str = "auto = { target_solve_ms = 800, min_cost = 10, max_cost = 400 }\n";
    for algorithm in ["PBKDF2/SHA-256", "SHA-256"] {
        assert_eq!(site(&format!("algorithm = '{algorithm}'\n{AUTO}")).difficulty_map, []);
    }
    let ladder = |low: u32, high: u32| {
        format!(
            "[captcha.sites.a]\nsecret = 's'\n{AUTO}\
             difficulty_map = [{{ min_visits = 1, cost = {low} }}, {{ min_visits = 5, cost = {high} }}]"
        )
    };
    loaded(&ladder(10, 400), &[]);
    for (low, high, outside) in [(9, 400, 9), (10, 401, 401), (5000, 5000, 5000)] {
        let words = format!("difficulty_map: has a cost of {outside}, which is outside auto.min_cost");
        each_refused(&[(&ladder(low, high), &words)]);
    }
}

#[test]
fn unsolvable_challenges_give_warnings() {
    let warnings = |body: &str| {
        let toml = format!("[captcha.sites.a]\nsecret = 'as long as it should be'\n{body}");
        loaded(&toml, &[]).warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let auto = "auto = { target_solve_ms = 5, min_cost = 1, max_cost = 2 }";
    let cost = |cost: u32| format!("difficulty_map = [{{ min_visits = 1, cost = {cost} }}]");
    for algorithm in ["SHA-384", "SHA-512"] {
        for costs in [&*cost(2), auto, &*format!("deterministic = false\n{}", cost(5000))] {
            let warnings = warnings(&format!("algorithm = '{algorithm}'\n{costs}"));
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            let head = "config.toml line 3: captcha.sites.a.algorithm: no published widget solves";
            assert!(warnings[0].starts_with(&format!("{head} {algorithm} ")), "{warnings:?}");
        }
        for solved in [&cost(1), &format!("protocol = 'v1'\n{}", cost(5000))] {
            assert_eq!(warnings(&format!("algorithm = '{algorithm}'\n{solved}")), [""; 0]);
        }
        assert_eq!(warnings(&format!("algorithm = 'PBKDF2/{algorithm}'\n{}", cost(5000))), [""; 0]);
    }
    let endless = warnings(&format!("{}\ncounter_max = 65536", cost(10_000_000)));
    assert_eq!(endless.len(), 1, "{endless:?}");
    assert!(
        endless[0].contains("difficulty_map: no browser solves a challenge of cost 10000000"),
        "{endless:?}"
    );
    assert_eq!(warnings(&format!("{}\ncounter_max = 256", cost(1_000_000))), [""; 0]);
}

#[test]
fn ledger_failure_refuses_calls_by_default() {
    let of = |line: &str| read(&format!("[captcha]\n{line}")).on_ledger_failure;
    assert_eq!(of(""), OnLedgerFailure::Refuse);
    assert_eq!(of("on_ledger_failure = 'refuse'"), OnLedgerFailure::Refuse);
    assert_eq!(of("on_ledger_failure = 'allow'"), OnLedgerFailure::Allow);
    each_refused(&[(
        "[captcha]\non_ledger_failure = 'open'",
        "on_ledger_failure: must be one of refuse, allow",
    )]);
}

#[test]
fn compat_and_v1_mean_sha_256() {
    let compat = site(COMPAT);
    assert!(compat.compat && !compat.deterministic);
    assert_eq!(compat.algorithm, PowAlgorithm::Sha256);
    let v1 = site("protocol = 'v1'\ndifficulty_map = [{ min_visits = 0, cost = 9 }]");
    assert!(v1.accept_v1 && !v1.deterministic);
    assert_eq!(v1.algorithm, PowAlgorithm::Sha256);
}

#[test]
fn every_site_key_is_read() {
    let site = site(
        "algorithm = 'argon2id'\nmemory_cost = 8192\nparallelism = 2\ncounter-max = 21\n\
         difficulty-map = [{ min-visits = 10, cost = 3 }, { min-visits = 0, cost = 1 }]\n\
         auto = { target_solve_ms = 800, min_cost = 1, max_cost = 4 }\nbinding = 'network'\n\
         source_address_ipv6_net_size = 48\nwhitelisted_source_addresses = ['10.0.0.0/8', '::1']\n\
         denied_source_addresses = ['192.0.2.0/24', '2001:db8::/32', '::2']\n\
         allowed_origins = ['https://a.example', 'http://localhost:3000', '*']\n\
         widget_calls_per_minute = 5\nmax_verifies_per_payload = 3",
    );
    assert_eq!((site.memory_cost, site.parallelism), (Some(8192), Some(2)));
    assert_eq!(site.difficulty_map, [step(0, 1), step(10, 3)]);
    assert_eq!(site.auto.unwrap().target_solve.as_millis(), 800);
    assert_eq!(site.binding, Binding::Network);
    assert_eq!(site.source_address_ipv6_net_size, 48);
    assert_eq!((site.whitelisted_source_addresses.len(), site.denied_source_addresses.len()), (2, 3));
    assert_eq!(site.allowed_origins.len(), 3);
}

#[test]
fn secrets_are_lists_in_nfc() {
    let secrets = |line: &str| {
        let toml = format!("[captcha.sites.a]\n{line}");
        let site = read(&toml).sites.remove("a").unwrap();
        site.secrets.iter().map(|secret| secret.expose().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(secrets("site_secret = 'x'"), ["x"]);
    assert_eq!(secrets("site-secret = 'a, b'"), ["a, b"]);
    assert_eq!(secrets("secrets = ['x', 'y']"), ["x", "y"]);
    assert_eq!(secrets("secret = \"e\\u0301\""), ["\u{e9}"]);
    each_refused(&[
        ("[captcha.sites.a]", "line 1: captcha.sites.a.secret: must be given"),
        ("[captcha.sites.a]\nsecret = ' '", "captcha.sites.a.secret.0: must not be empty"),
        ("[captcha.sites.a]\nsecrets = ['1', '2', '3']", "must be one secret or two"),
        ("[captcha.sites.a]\nsecret = 'x'\nsecrets = ['y']", "another name of secret; give one"),
    ]);
}

#[test]
fn long_or_control_site_keys_are_refused() {
    let named = |key: &str| format!("[captcha.sites.\"{key}\"]\nsecret = 's'");
    let longest = "\u{e9}".repeat(127);
    assert!(read(&named(&longest)).sites.contains_key(&longest));
    for key in ["\u{e9}".repeat(128), "a\\u0000b".to_owned(), "a\\u0085".to_owned(), "a\\tb".to_owned()] {
        each_refused(&[(&named(&key), "at most 255 bytes and no control characters")]);
    }
}

#[test]
fn invalid_sites_are_refused() {
    let cases = [
        (
            "difficulty_map = [{ min_visits = 2, cost = 1 }]",
            "difficulty_map: has no entry for the first visit",
        ),
        ("difficulty_map = []", "has no entry for the first visit"),
        (
            "difficulty_map = [{ min_visits = 0, cost = 1 }, { min_visits = 1, cost = 2 }]",
            "two entries for one visit",
        ),
        ("difficulty_map = [{ min_visits = 1 }]", "difficulty_map.0.cost: must be given"),
        (
            "difficulty_map = [{ min_visits = 1, cost = 10000001 }]",
            "must be from 1 to 10000000 with PBKDF2/SHA-256",
        ),
        ("difficulty_map = 5", "must be a list of tables, not a whole number"),
        ("compat = true", "difficulty_map: must be given with SHA-256"),
        ("algorithm = 'MD5'", "algorithm: must be one of SHA-256, SHA-384"),
        (
            "algorithm = 'SCRYPT'\ndifficulty_map = [{ min_visits = 1, cost = 1024 }]",
            "memory_cost: must be given with SCRYPT",
        ),
        ("memory_cost = 8", "memory_cost: has no effect with PBKDF2/SHA-256"),
        ("parallelism = 2", "parallelism: has no effect"),
        ("parallelism = 5", "must be from 1 to 4"),
        (
            "algorithm = 'SCRYPT'\nmemory_cost = 8\ndifficulty_map = [{ min_visits = 1, cost = 1000 }]",
            "must be a power of two",
        ),
        (
            "algorithm = 'SCRYPT'\nmemory_cost = 8\ndifficulty_map = [{ min_visits = 1, cost = 131072 }]",
            "67108864 is the most",
        ),
        (
            "algorithm = 'ARGON2ID'\nmemory_cost = 8\nparallelism = 2\ndifficulty_map = [{ min_visits = 1, cost = 1 }]",
            "must be from 16 to 65536 (KiB)",
        ),
        (
            "algorithm = 'ARGON2ID'\nmemory_cost = 8\ndifficulty_map = [{ min_visits = 1, cost = 65 }]",
            "must be from 1 to 64 with ARGON2ID",
        ),
        ("protocol = 'v1'\nalgorithm = 'PBKDF2/SHA-256'", "algorithm: must be SHA-256, SHA-384 or SHA-512"),
        (
            "auto = { target_solve_ms = 5, min_cost = 9, max_cost = 2 }",
            "auto.min_cost: is greater than max_cost",
        ),
        ("max_verifies_per_payload = 0", "must be from 1"),
        ("counter_max = 65537", "must be from 1 to 65536"),
        ("source_address_ipv4_net_size = 33", "must be from 0 to 32"),
        ("source_address_ipv6_net_size = 129", "must be from 0 to 128"),
        ("source_address_ipv4_net_size = -1", "must be from 0 to 32"),
        (
            "whitelisted_source_addresses = ['10.0.0.0/33']",
            "whitelisted_source_addresses.0: must be an IP address",
        ),
        ("denied_source_addresses = ['10.0.0.0/33']", "denied_source_addresses.0: must be an IP address"),
        ("allowed_origins = ['https://a.example/']", "write it as https://a.example"),
        ("allowed_origins = ['https://A.example:443']", "write it as https://a.example"),
        ("allowed_origins = ['a.example']", "must be an origin such as"),
        ("widget_calls_per_minute = 0", "must be from 1"),
        ("signature_secret = 'a short one'", "signature_secret: must have at least 32 characters"),
        ("signature_secret = ['', 'x']", "signature_secret.0: must not be empty"),
    ];
    for (body, words) in cases {
        each_refused(&[(&format!("[captcha.sites.a]\nsecret = 's'\n{body}"), words)]);
    }
    for (line, words) in [
        ("deterministic = true", "deterministic: is impossible with compat = true"),
        ("algorithm = 'SHA-512'", "algorithm: must be SHA-256 with compat = true"),
        ("binding = 'exact'", "binding: must be none with compat = true"),
    ] {
        each_refused(&[(&format!("[captcha.sites.a]\nsecret = 's'\n{COMPAT}{line}"), words)]);
    }
}

#[test]
fn site_keys_must_differ_in_nfc() {
    let toml = "[captcha.sites.\"\u{e9}\"]\nsecret = 's'\n[captcha.sites.\"e\u{301}\"]\nsecret = 's'\n\
                [captcha.sites.'']\nsecret = 's'";
    let problems = refused(toml, &[]).to_string();
    assert!(problems.contains("clashes with another site key"), "{problems}");
    assert!(problems.contains("a site key must not be empty"), "{problems}");
}

#[test]
fn database_urls_select_the_backend() {
    let database = |url: &str| {
        let toml = format!("[captcha]\nhmac_key = 'k'\ndatabase = '{url}'");
        read(&toml).database
    };
    assert!(matches!(read("").database, Database::EmbeddedSqlite));
    assert!(matches!(database("sqlite:/a/b.db"), Database::Sqlite(path) if path.ends_with("a/b.db")));
    assert!(matches!(database("sqlite:///a/b.db"), Database::Sqlite(path) if path.is_absolute()));
    assert!(matches!(database("postgres://u:p@h/d"), Database::Postgres(_)));
    each_refused(&[
        ("[captcha]\ndatabase = 'postgres://h/d'", "line 2: captcha.database: hosts that share"),
        ("[captcha]\ndatabase = 'sqlite::memory:'", "must be sqlite: and the path"),
        ("[captcha]\ndatabase = 'mysql://h/d'", "must be sqlite:PATH or postgres://"),
        ("[captcha]\nhmac_key = ''", "captcha.hmac_key: must not be empty"),
    ]);
}

#[test]
fn authentication_modes_are_read() {
    let long = "k".repeat(32);
    let keys = format!("[captcha]\nauth = 'api-key'\napi_keys = ['{long}', '{long}x']");
    assert!(matches!(read(&keys).auth, Auth::ApiKey(keys) if keys.len() == 2));
    let jwt = "[captcha]\nauth = 'jwt'\n[captcha.jwt]\nkey_set_url = 'https://i/keys'\naudiences = ['a']";
    let Auth::Jwt(jwt) = read(jwt).auth else { panic!("no JWT") };
    assert_eq!(jwt.key_set, KeySetLocation::Url("https://i/keys".to_owned()));
    assert_eq!(jwt.audiences, ["a"]);
    each_refused(&[
        ("[captcha]\nauth = 'api-key'", "captcha.auth: needs captcha.api_keys"),
        ("[captcha]\nauth = 'api-key'\napi_keys = []", "captcha.auth: needs captcha.api_keys"),
        ("[captcha]\nauth = 'api-key'\napi_keys = ['']", "captcha.api_keys.0: must not be empty"),
        ("[captcha]\nauth = 'api-key'\napi_keys = ['short']", "must have at least 32 characters"),
        ("[captcha]\nauth = 'jwt'", "captcha.auth: needs captcha.jwt.key_set_url"),
        (
            "[captcha]\nauth = 'jwt'\njwt = { issuer = 'i' }",
            "captcha.jwt.key_set_url: must be given, or key_set_file",
        ),
        ("[captcha]\njwt = { key_set_url = 'https://a', key_set_file = 'f' }", "remove one"),
        ("[captcha]\njwt = { key_set_url = 'keys' }", "must be a URL"),
    ]);
}

#[test]
fn unused_credentials_give_warnings() {
    let long = "k".repeat(32);
    let toml = format!("[captcha]\napi_keys = ['{long}']\njwt = {{ key_set_file = 'f' }}");
    let warnings = loaded(&toml, &[]).warnings;
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "config.toml line 2: captcha.api_keys: has no effect with this captcha.auth",
            "config.toml line 3: captcha.jwt: has no effect with this captcha.auth",
        ]
    );
}

#[test]
fn secured_java_service_requires_explicit_mode() {
    let variable = "SPRING_SECURITY_OAUTH2_RESOURCESERVER_JWT_JWK_SET_URI";
    let problems = refused("", &[(variable, "https://i/keys")]).to_string();
    assert!(problems.starts_with(&format!("{variable}: captcha.auth: the Java service asked")), "{problems}");
    loaded("[captcha]\nauth = 'none'", &[(variable, "https://i/keys")]);
}

#[test]
fn short_site_secrets_give_warnings() {
    let of = |secret: &str| loaded(&format!("[captcha.sites.a]\nsecret = {secret}"), &[]).warnings;
    for short in ["'fifteen letters'", "['sixteen letters!', 'x']", "'ääääääää'"] {
        let warnings = of(short);
        assert_eq!(warnings.len(), 1, "{short}");
        let text = warnings[0].to_string();
        assert!(text.starts_with("config.toml line 2: captcha.sites.a.secret: has fewer than 16"), "{text}");
        assert!(!text.contains("letters"), "{text}");
    }
    assert!(of("'sixteen letters!'").is_empty());
}

#[test]
fn compat_without_key_gives_warning() {
    let toml = format!("[captcha.sites.a]\nsecret = 'as long as it should be'\n{COMPAT}");
    let warnings = loaded(&toml, &[]).warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].to_string().starts_with("config.toml line 3: captcha.sites.a.compat: signs with"));
    assert!(loaded(&format!("captcha.hmac_key = 'k'\n{toml}"), &[]).warnings.is_empty());
}
