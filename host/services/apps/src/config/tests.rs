//! Tests of `[apps]`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use bulkhead_config::{HostSpec, ServiceSpec, reference, tables::TableSpec};
use bulkhead_configured::{each_refused, loaded};

use super::*;
use crate::spec::SPEC;

fn host() -> HostSpec {
    let services = vec![SPEC, ServiceSpec { name: "shop", slots: &[] }];
    HostSpec {
        services,
        interfaces: vec!["wasi:nn/graph"],
        tables: vec![TableSpec::of::<AppsSettings>()],
        ..HostSpec::default()
    }
}

fn apps(toml: &str) -> Vec<Arc<AppSettings>> {
    loaded(&host(), toml, &[]).config.table::<AppsSettings>().unwrap().apps.clone()
}

#[test]
fn app_has_own_and_slot_keys() {
    let apps = apps(
        "[apps.hello]\ncomponent = 'hello.wasm'\npath_prefix = '/hello'\nhost = 'WWW.example.org'\n\
         strip_prefix = true\napi_keys = ['one']\ncors_origins = ['https://a.example']\nprobe = 'GET /health?a'\n\
         sticky = 'cookie:id'\nbody_bytes = 7\nstream_ms = 8\ncpu_ms = 9\ngrants = ['wasi:nn/graph']\n\
         [apps.hello.secrets]\ntoken = 'swordfish'\n[apps.hello.config]\nmode = 'x'",
    );
    let [hello] = &apps[..] else { unreachable!("{apps:?}") };
    assert_eq!(
        (hello.mount.path_prefix.as_str(), hello.mount.host.as_deref()),
        ("/hello", Some("www.example.org"))
    );
    assert_eq!((hello.slot.limits.cpu_ms, hello.body_bytes, hello.stream.as_millis()), (9, 7, 8));
    assert_eq!(hello.probe.as_ref().unwrap().target, "/health?a");
    assert_eq!(hello.secrets["token"].expose(), "swordfish");
    assert!(!format!("{hello:?}").contains("swordfish"));
}

#[test]
fn root_is_every_path() {
    let apps =
        apps("[apps.a]\npath_prefix = '/'\n[apps.b]\nhost = 'b.example'\n[apps.c]\nlisten = '127.0.0.1:1'");
    assert!(apps.iter().all(|app| app.mount.path_prefix.is_empty()), "{apps:?}");
}

#[test]
fn mounts_are_checked() {
    each_refused(
        &host(),
        &[
            ("[apps.a]\ncpu_ms = 1", "apps.a.path_prefix: must be given, unless host or listen is"),
            ("[apps.a]\npath_prefix = '/a/'", "line 2: apps.a.path_prefix: must be / for all paths or"),
            (
                "[apps.a]\npath_prefix = '/x'\n[apps.b]\npath_prefix = '/x'",
                "apps.b: has the mount of apps.a; give one of them another path_prefix, host or listen",
            ),
            (
                "[services.shop]\npath_prefix = '/shop'\n[apps.a]\npath_prefix = '/shop/a'",
                "line 4: apps.a.path_prefix: is inside services.shop.path_prefix",
            ),
            (
                "[apps.a]\nlisten = '127.0.0.1:9901'",
                "apps.a.listen: 127.0.0.1:9901 is taken by server.admin_listen",
            ),
        ],
    );
    loaded(&host(), "[services.shop]\npath_prefix = '/shop'\n[apps.a]\npath_prefix = '/'", &[]);
    let shared = "[apps.a]\nlisten = '127.0.0.1:1'\n[apps.b]\nlisten = '127.0.0.1:1'\nhost = 'b.example'";
    loaded(&host(), shared, &[]);
}

#[test]
fn values_of_wrong_form_are_refused() {
    for (key, said) in [
        ("probe = 'POST /'", "must be GET or HEAD and a path"),
        ("probe = 'GET health'", "must be GET or HEAD and a path"),
        ("sticky = 'ip'", "must be cookie:NAME, header:NAME or client"),
        ("cors_origins = ['a.example']", "must be an origin such as"),
        ("shadow_headers = ['a b']", "must be the name of a header field"),
        ("host = 'a.example:80'", "must be a host name without scheme and port"),
        ("outgoing = ['a.example']", "outgoing.0.origin: must be an origin"),
        ("secrets = { a = 'x' }\nconfig = { a = 'y' }", "secrets.a: is a key of config too"),
        ("compnent = 'x'", "unknown key; did you mean component"),
    ] {
        let toml = format!("[apps.a]\npath_prefix = '/a'\n{key}");
        each_refused(&host(), &[(toml.as_str(), said)]);
    }
}

#[test]
fn names_of_labels_are_refused() {
    for name in ["apps", "host"] {
        let toml = format!("[apps.{name}]\npath_prefix = '/a'");
        let said = format!("apps.{name}: is a name that the log and metrics of the host use");
        each_refused(&host(), &[(toml.as_str(), said.as_str())]);
    }
}

#[test]
fn every_problem_of_an_app_is_reported() {
    let toml = "[apps.Wrong]\ncpu_ms = 0\nprobe = 'x'\npath_prefix = 'y'";
    let problems = bulkhead_configured::refused(&host(), toml, &[]);
    assert_eq!(problems.iter().count(), 4, "{problems}");
}

#[test]
fn reference_has_rows_of_apps() {
    let keys: Vec<String> = reference(&host()).into_iter().map(|key| key.path).collect();
    for key in [
        "component",
        "path_prefix",
        "secrets.KEY",
        "cpu_ms",
        "rollout.history",
        "config.KEY",
        "stream_ms",
        "outgoing[].origin",
    ] {
        assert!(keys.contains(&format!("apps.NAME.{key}")), "{key}: {keys:?}");
    }
}

#[test]
fn live_keys_continue_an_app() {
    let app = |more: &str| apps(&format!("[apps.a]\npath_prefix = '/a'\n{more}")).remove(0);
    let before = app("");
    for live in ["cpu_ms = 7", "deadline_ms = 7", "path_prefix = '/b'", "api_keys = ['x']"] {
        let after =
            if live.starts_with("path") { apps(&format!("[apps.a]\n{live}")).remove(0) } else { app(live) };
        assert!(before.continues_as(&after), "{live}");
    }
    for other in [
        "component = 'x.wasm'",
        "memory_bytes = 65536",
        "max_concurrent = 1",
        "probe = 'GET /'",
        "probe_outgoing = true",
        "secrets = { a = 'b' }",
        "outgoing = ['https://a.example']",
    ] {
        assert!(!before.continues_as(&app(other)), "{other}");
    }
}
