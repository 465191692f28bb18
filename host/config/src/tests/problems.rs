//! Tests of rejected configurations and their texts.

use super::{each_refused, loaded, refused};

#[test]
fn unknown_keys_are_errors_at_every_depth() {
    each_refused(&[
        ("demmo = true", "demmo: unknown key; did you mean demo"),
        ("[sever]\nlisten = '1.1.1.1:1'", "sever: unknown key; did you mean server"),
        ("[slots.triage]\ncpu = 1", "slots.triage.cpu: unknown key"),
        ("[slots.triag]", "slots.triag: unknown key; did you mean triage"),
        ("[shop.hours]\nopne = 'x'", "shop.hours.opne: unknown key; did you mean open"),
        ("[spring.datasource]\nurl = 'x'", "spring: unknown key"),
    ]);
    assert!(refused("", &[("BULKHEAD_FOO_1", "x")]).to_string().contains("foo: unknown key"));
}

#[test]
fn wrong_types_name_both_types() {
    each_refused(&[
        ("[server]\nlisten = 8080", "server.listen: must be a string, not a whole number"),
        ("[server]\nmax_connections = '8'", "must be a whole number, not a string"),
        ("[server]\nmax_connections = 8.5", "must be a whole number, not a number with a fraction"),
        ("[server]\ndrain_seconds = 99999999999999999999", "not a number beyond 64 bits"),
        ("server = 3", "server: must be a table, not a whole number"),
        ("[server]\ntrusted_proxies = 7", "must be a list, not a whole number"),
        ("[server]\ntrusted_proxies = ['1.1.1.1', 'x']", "server.trusted_proxies.1: must be an IP address"),
        ("[server.trusted_proxies]\na = '1.1.1.1'", "must be a list, not a table"),
        ("[server]\ntls = { cert = 'c' }", "server.tls.key: must be given"),
        ("[slots.captcha.config]\na = 1", "slots.captcha.config.a: must be a string"),
        ("[services.captcha]\npath_prefix = '/a/'", "services.captcha.path_prefix: must be empty or like"),
        ("[services.captcha]\npath_prefix = '/{a}'", "must be empty or like"),
        ("[services.captcha]\npath_prefix = 'a'", "must be empty or like"),
        ("[slots.captcha]\nmemory_bytes = 65535", "must be from 65536"),
    ]);
}

#[test]
fn syntax_errors_have_their_line() {
    let problems = refused("demo = true\n[server]\nlisten = \n", &[]).to_string();
    assert!(problems.starts_with("config.toml line 3: not valid TOML: "), "{problems}");
    let problems = refused("demo = true\ndemo = false\n", &[]).to_string();
    assert!(problems.contains("line 2: not valid TOML: duplicate key"), "{problems}");
    let problems = refused("demo = 1\n[server\nlisten = 5\n", &[("BULKHEAD_X", "1")]).to_string();
    let lines: Vec<&str> = problems.lines().collect();
    assert_eq!(lines.len(), 3, "{problems}");
    assert!(lines[0].starts_with("config.toml line 1: demo: must be true or false"), "{problems}");
    assert!(lines[1].starts_with("config.toml line 2: not valid TOML: "), "{problems}");
    assert!(lines[2].starts_with("BULKHEAD_X: x: unknown key"), "{problems}");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(loaded("\u{feff}demo = true\n", &[]).set.contains_key("demo"));
    let problems = refused("\u{feff}demo = 1\n", &[]).to_string();
    assert!(problems.starts_with("config.toml line 1: demo: must be true or false"), "{problems}");
}

#[test]
fn unreadable_file_is_named() {
    for (file, fault) in [
        ("/does/not/exist.toml", "the file does not exist; check the path given with --config"),
        ("/", "cannot be read: "),
    ] {
        let problems = crate::ConfigFile::open(std::path::Path::new(file)).unwrap_err().to_string();
        assert!(problems.starts_with(&format!("{file}: {fault}")), "{problems}");
    }
}
