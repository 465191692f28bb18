//! Tests of the problems that a configuration of the whole binary reports.

use std::fs;

use bulkhead_configured::{sources, with_flag};

use super::{each_refused, load, loaded, refused};
use crate::services::captcha::config::Captcha;

#[test]
fn every_problem_is_reported_with_its_place() {
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
fn unknown_keys_are_errors_in_every_table() {
    each_refused(&[
        (
            "[captcha.sites.a]\nsecret = 's'\nalgoritm = 1",
            "captcha.sites.a.algoritm: unknown key; did you mean algorithm",
        ),
        ("[management.endpoints.web]\nbase-pat = ''", "did you mean base_path"),
    ]);
}

#[test]
fn secrets_from_files_are_never_shown() {
    let path = std::env::temp_dir().join(format!("bulkhead-secret-{}", std::process::id()));
    fs::write(&path, "from-file\n").unwrap();
    let toml = format!("[captcha]\nhmac_key = 'file:{}'", path.display());
    let config = loaded(&toml, &[]).config;
    fs::remove_file(&path).unwrap();
    let captcha: &Captcha = config.table().unwrap();
    assert_eq!(captcha.hmac_key.as_ref().unwrap().expose(), "from-file");
    assert!(!format!("{captcha:?}").contains("from-file"));
    assert!(!format!("{config:?}").contains("from-file"));
    let problems = refused(&toml, &[]).to_string();
    assert!(problems.contains("line 2: captcha.hmac_key: cannot read /"), "{problems}");
    let problems = refused("[captcha]\ndatabase = 'mysql://u:hunter2@h/d'", &[]).to_string();
    assert!(!problems.contains("hunter2"), "{problems}");
}
