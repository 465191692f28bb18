//! Tests of checks between keys.

use super::{each_refused, loaded};

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
            "[slots.status]\ngrants = ['wasi:sockets/tcp']",
            "line 2: slots.status.grants.0: names `wasi:sockets/tcp`, which is a stub: it can be imported without a grant",
        ),
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
