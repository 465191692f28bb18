use std::fs;

use super::{each_refused, load, loaded, refused, sources, with_flag};

#[test]
fn every_problem_is_told_at_once_with_its_place() {
    let toml = "demo = 1\n[server]\nlisten = 'localhost'\nmax_connections = 0\nbody_bites = 5\n\
                [captcha.sites.a]\nsecret = 'x'\ndifficulty_map = [\n  { min_visits = 1, cost = 0 },\n]\n";
    let environment = [("BULKHEAD_LOG__LEVEL", "loud"), ("BULKHEAD_ADMIN__ALLOW", "1")];
    let flagged = with_flag(sources(toml, &environment), "--drain", "server.drain_seconds", "soon");
    let problems = load(flagged).unwrap_err();
    let expected = "\
config.toml line 1: demo: must be true or false, not a whole number
config.toml line 3: server.listen: must be an IP address with a port such as 127.0.0.1:8080 or [::1]:8080, not `localhost`
config.toml line 4: server.max_connections: must be from 1 to 1000000, not 0
config.toml line 5: server.body_bites: unknown key; did you mean body_bytes
config.toml line 9: captcha.sites.a.difficulty_map.0.cost: must be from 1 to 4294967295, not 0
BULKHEAD_ADMIN__ALLOW: admin.allow: unknown key; known here: tls, allow_remote, hosts, tokens
BULKHEAD_LOG__LEVEL: log.level: must be one of error, warn, info, debug, trace, not `loud`
--drain: server.drain_seconds: must be a whole number, not `soon`";
    assert_eq!(problems.to_string(), expected);
}

#[test]
fn texts_are_lower_case_without_full_stop() {
    let toml = "[server]\nlisten = 1\nx = 2\ntls = 3\n[captcha]\nauth = 'jwt'\n[captcha.sites.a]";
    for problem in refused(toml, &[]).iter() {
        assert!(problem.text.starts_with(|c: char| c.is_lowercase()), "{problem}");
        assert!(!problem.text.ends_with('.'), "{problem}");
    }
}

#[test]
fn unknown_keys_are_errors_at_every_depth() {
    each_refused(&[
        ("demmo = true", "demmo: unknown key; did you mean demo"),
        ("[sever]\nlisten = '1.1.1.1:1'", "sever: unknown key; did you mean server"),
        ("[slots.triage]\ncpu = 1", "slots.triage.cpu: unknown key"),
        ("[slots.triag]", "slots.triag: unknown key; did you mean triage"),
        (
            "[captcha.sites.a]\nsecret = 's'\nalgoritm = 1",
            "captcha.sites.a.algoritm: unknown key; did you mean algorithm",
        ),
        ("[management.endpoints.web]\nbase-pat = ''", "did you mean base_path"),
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
fn secrets_come_from_files_and_are_never_shown() {
    let path = std::env::temp_dir().join(format!("bulkhead-secret-{}", std::process::id()));
    fs::write(&path, "from-file\n").unwrap();
    let toml = format!("[captcha]\nhmac_key = 'file:{}'", path.display());
    let config = loaded(&toml, &[]).config;
    fs::remove_file(&path).unwrap();
    assert_eq!(config.captcha.hmac_key.as_ref().unwrap().expose(), "from-file");
    assert!(!format!("{config:?}").contains("from-file"));
    let problems = refused(&toml, &[]).to_string();
    assert!(problems.contains("line 2: captcha.hmac_key: cannot read /"), "{problems}");
    let problems = refused("[captcha]\ndatabase = 'mysql://u:hunter2@h/d'", &[]).to_string();
    assert!(!problems.contains("hunter2"), "{problems}");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(loaded("\u{feff}demo = true\n", &[]).set.contains_key("demo"));
    let problems = refused("\u{feff}demo = 1\n", &[]).to_string();
    assert!(problems.starts_with("config.toml line 1: demo: must be true or false"), "{problems}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    for (file, fault) in [
        ("/does/not/exist.toml", "is not there; check the path given with --config"),
        ("/", "cannot be read: "),
    ] {
        let problems = crate::config::ConfigFile::open(std::path::Path::new(file)).unwrap_err().to_string();
        assert!(problems.starts_with(&format!("{file}: {fault}")), "{problems}");
    }
}
