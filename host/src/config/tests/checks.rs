use super::{each_refused, loaded, refused};
use crate::config::management::{Endpoint, ShowDetails};

#[test]
fn listeners_may_not_clash() {
    each_refused(&[
        (
            "[server]\nlisten = '127.0.0.1:9901'",
            "server.admin_listen: 127.0.0.1:9901 is taken by server.listen",
        ),
        (
            "[services.captcha]\nlisten = '0.0.0.0:8080'",
            "line 2: services.captcha.listen: 0.0.0.0:8080 is taken",
        ),
        (
            "[management.server]\nport = 9901",
            "management.server.port: 127.0.0.1:9901 is taken by server.admin_listen",
        ),
    ]);
    loaded("[server]\nlisten = '127.0.0.1:0'\nadmin_listen = '127.0.0.1:0'", &[]);
    loaded("[services.status]\nenabled = false\nlisten = '127.0.0.1:8080'", &[]);
}

#[test]
fn grants_name_interfaces_of_this_host() {
    each_refused(&[
        (
            "[slots.captcha]\ngrants = ['wasi:io/poll', 'wasi:io/streams']",
            "line 2: slots.captcha.grants.1: names `wasi:io/streams`, not offered by this host; leave it out",
        ),
        ("[slots.status]\ngrants = ['wasi:io/pol']", "the nearest is `wasi:io/poll`"),
        (
            "[slots.answer]\ngrants = ['wasi:io/poll@0.2.12']",
            "must be without a version: write `wasi:io/poll`",
        ),
    ]);
    loaded("[slots.captcha]\ngrants = ['wasi:io/poll', 'bulkhead:host/llm']", &[]);
}

#[test]
fn a_remote_admin_listener_needs_a_guard() {
    let remote = "[server]\nadmin_listen = '0.0.0.0:9901'\n";
    each_refused(&[(remote, "line 2: server.admin_listen: is reachable from other machines; add admin.tls")]);
    loaded(&format!("{remote}[admin]\nallow_remote = true"), &[]);
    loaded(&format!("{remote}[admin]\ntls = {{ cert = 'c', key = 'k' }}"), &[]);
}

#[test]
fn passages_fit_into_a_call_of_the_language_model() {
    let config = |strategy: &str, more: &str, limit: u32| {
        format!(
            "[tickets.answer]\nstrategy = '{strategy}'\n[tickets.knowledge]\nlimit = {limit}\n[tickets.llm]\n\
             url = 'https://llm.example.org/v1'\nallow = ['https://llm.example.org']\nmodel = 'small'\n{more}"
        )
    };
    // 50 of 1000 characters are 16667 tokens, and the answer has 1024.
    let refusal = refused(&config("llm", "", 50), &[]).to_string();
    for part in ["line 4: tickets.knowledge.limit: ", "16667 tokens", "tickets.llm.tokens_per_call, 16000"] {
        assert!(refusal.contains(part), "{refusal}");
    }
    refused(&config("llm", "tokens_per_call = 17690", 50), &[]);
    loaded(&config("llm", "tokens_per_call = 17691", 50), &[]);
    loaded(&config("llm", "", 40), &[]);
    loaded(&config("extractive", "", 50), &[]);
    refused(&config("llm", "max_tokens = 15000", 5), &[]);
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
        let exposed = loaded(&toml, &[]).config.management.exposed;
        assert_eq!(exposed.into_iter().collect::<Vec<_>>(), expected, "{toml}");
    }
}

#[test]
fn remote_databases_without_tls_are_warned_about() {
    for key in ["captcha.database", "status.database", "tickets.knowledge.url"] {
        let warned = |host: &str| {
            let toml = format!("captcha.hmac_key = 'k'\n{key} = 'postgres://u:p@{host}/d'");
            let warnings = loaded(&toml, &[]).warnings;
            warnings.iter().filter(|warning| warning.key == key && warning.text.contains("TLS")).count()
        };
        assert_eq!((warned("db.example"), warned("127.0.0.1")), (1, 0), "{key}");
    }
}

#[test]
fn unknown_endpoints_are_warned_about() {
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
    let management = loaded(toml, &[]).config.management;
    assert_eq!(management.base_path, "/ops");
    assert_eq!(management.show_details, ShowDetails::WhenAuthorized);
    assert_eq!(management.listen.unwrap().to_string(), "10.0.0.1:9000");

    let same = loaded("[management.server]\nport = 8080", &[]).config.management;
    assert_eq!(same.listen, None, "the public port is no listener of its own");
    let off = loaded("[management.server]\nport = -1", &[]).config.management;
    assert!(off.exposed.is_empty() && off.listen.is_none());
    let follows = "[services.captcha]\nlisten = '10.0.0.2:80'\n[management.server]\nport = 81";
    assert_eq!(loaded(follows, &[]).config.management.listen.unwrap().to_string(), "10.0.0.2:81");
    let alone = refused("[management.server]\naddress = '10.0.0.1'", &[]).to_string();
    assert!(alone.contains("has no effect without management.server.port"), "{alone}");
}

#[test]
fn what_tickets_need_must_be_there() {
    each_refused(&[
        ("[tickets.guard]\nblock = true", "tickets.guard.url: is not set, so no guard is asked"),
        (
            "[tickets]\nhead = 't11'\n[embedding.heads]\nt1 = 'a.safetensors'\nt2 = 'b.safetensors'",
            "tickets.head: `t11` is none of embedding.heads, which are t1, t2",
        ),
        (
            "[tickets.knowledge]\nurl = 'mysql://u:p@h/n'",
            "tickets.knowledge.url: must be sqlite:PATH or postgres:",
        ),
        (
            "[tickets.guard]\nurl = 'localhost:8081'",
            "tickets.guard.url: must be a URL that begins with https:// or http://",
        ),
        (
            "[tickets.answer]\noffice_contacts = ['@']",
            "tickets.answer.office_contacts.0: must be like info@town.example",
        ),
    ]);
    for contact in ["@town.example", "info@town.example", "+49 89 233", "115", "Rathausplatz 1"] {
        loaded(&format!("[tickets.answer]\noffice_contacts = ['{contact}']"), &[]);
    }
}
