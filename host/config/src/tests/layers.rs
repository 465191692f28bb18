//! Tests of the layers and their precedence.

use std::{path::Path, time::Duration};

use super::{SHORT, captcha_slot, load, loaded, refused, slot, sources, tables::Shop, with_flag};
use crate::{
    Config, HostSpec, ServiceSpec, Sources,
    sandbox::Sandbox,
    server,
    slot_id::MAX_SLOTS,
    slots::{ComponentSource, Limits, SlotId, SlotSpec},
};

#[test]
fn empty_sources_give_the_defaults() {
    let config = load(Sources { root: true, ..Sources::default() }).unwrap().config;
    assert_eq!(config.data_dir, Path::new("/var/lib/bulkhead"));
    assert_eq!(config.server.listen, server::LISTEN);
    assert_eq!(config.server.admin_listen.to_string(), "127.0.0.1:9901");
    assert_eq!(config.server.drain, Duration::from_secs(30));
    let slot = |id| config.slots.get(SlotId::new(id)).unwrap();
    assert_eq!(slot("captcha").limits, SHORT);
    assert_eq!(slot("triage").limits, Limits::DEFAULT);
    assert_eq!(slot("triage").component, ComponentSource::Embedded);
    assert!(config.services.get("captcha").enabled && config.services.get("tickets").enabled);
    assert!(!config.services.get("absent").enabled);
}

#[test]
fn data_dir_defaults_to_users_folder() {
    let user = |environment: &[(&str, &str)]| {
        let sources = Sources { root: false, file: None, ..sources("", environment) };
        load(sources).map(|loaded| loaded.config.data_dir)
    };
    let both = [("HOME", "/home/a"), ("XDG_DATA_HOME", "/data")];
    assert_eq!(user(&both[..1]).unwrap(), Path::new("/home/a/.local/share/bulkhead"));
    assert_eq!(user(&both).unwrap(), Path::new("/data/bulkhead"));
    let problems = user(&[]).unwrap_err().to_string();
    assert!(problems.contains("data_dir: has no default without HOME"), "{problems}");
    assert!(loaded("data_dir = 'x'", &[]).config.data_dir.is_absolute());
}

#[test]
fn each_layer_overrides_the_ones_below() {
    let toml = "[server]\nlisten = '10.0.0.1:1'";
    let alias = [("SERVER_PORT", "2")];
    let both = [("SERVER_PORT", "2"), ("BULKHEAD_SERVER__LISTEN", "10.0.0.3:3")];
    let listen = |sources| load(sources).unwrap().config.server.listen.to_string();
    assert_eq!(listen(sources(toml, &[])), "10.0.0.1:1");
    assert_eq!(listen(sources(toml, &alias)), "10.0.0.1:2");
    assert_eq!(listen(sources(toml, &both)), "10.0.0.3:3");
    let flagged = with_flag(sources(toml, &both), "--listen", "server.listen", "10.0.0.4:4");
    assert_eq!(listen(flagged), "10.0.0.4:4");
}

#[test]
fn little_memory_lowers_defaults_only() {
    let with = |toml, memory| load(Sources { memory, ..sources(toml, &[]) }).unwrap().config;
    let of = |config: &Config| {
        let Sandbox { compile_workers, compile_memory_bytes, memory, .. } = config.sandbox;
        let calls = config.slots.get(SlotId::new("triage")).unwrap().limits.max_concurrent;
        (calls, compile_workers, compile_memory_bytes, memory)
    };
    let default = Limits::DEFAULT.max_concurrent;
    assert_eq!(of(&with("", None)), (default, 2, 2 << 30, None));
    assert_eq!(of(&with("", Some(256 << 20))), (4, 1, 512 << 20, Some(256 << 20)));
    assert_eq!(of(&with("", Some(1 << 20))).0, 2);
    assert_eq!(of(&with("", Some(u64::MAX))).0, default);
    let set = "[slots.triage]\nmax_concurrent = 9\n[sandbox]\ncompile_workers = 3\ncompile_memory_bytes = 1073741824";
    assert_eq!(of(&with(set, Some(256 << 20))), (9, 3, 1 << 30, Some(256 << 20)));
}

#[test]
fn dashes_and_underscores_are_one_in_toml() {
    let config = loaded("[server]\nadmin-listen = '127.0.0.1:7'\nmax-connections = 5", &[]).config;
    assert_eq!(config.server.admin_listen.port(), 7);
    assert_eq!(config.server.max_connections, 5);
    let problems = refused("demo = true\ndata-dir = 'a'\ndata_dir = 'b'", &[]);
    assert!(problems.to_string().contains("data_dir: is given twice"), "{problems}");
}

#[test]
fn chosen_names_stay_as_they_are() {
    let toml = "[slots.captcha.config]\n'Some-Key' = 'v'\n[shop.prices]\nOld-Bread = '2'";
    let environment =
        [("BULKHEAD_SHOP__PRICES__OLD_BREAD", "7"), ("BULKHEAD_SLOTS__CAPTCHA__CONFIG__SOME_KEY", "w")];
    let config = loaded(toml, &environment).config;
    assert_eq!(config.table::<Shop>().unwrap().prices["Old-Bread"], "7");
    assert_eq!(captcha_slot(toml, &environment).config["Some-Key"], "w");
}

#[test]
fn environment_types_follow_the_key() {
    let environment = [
        ("BULKHEAD_DEMO", "TRUE"),
        ("bulkhead_server__compression", "false"),
        ("BULKHEAD_SLOTS__CAPTCHA__QUEUE_WAIT_MS", "250"),
        ("BULKHEAD_SLOTS__CAPTCHA__COMPONENT", "/c.wasm"),
        ("BULKHEAD_LOG__FORMAT", "JSON"),
        ("BULKHEAD_SANDBOX__ALLOCATOR", "on_demand"),
        ("BULKHEAD_SERVER__TLS__CERT", "c"),
        ("BULKHEAD_SERVER__TLS__KEY", "k"),
    ];
    let config = loaded("", &environment).config;
    assert!(config.demo && !config.server.compression);
    let slot = captcha_slot("", &environment);
    assert_eq!(slot.limits.queue_wait, Duration::from_millis(250));
    assert_eq!(slot.component, ComponentSource::File("/c.wasm".into()));
    assert_eq!(config.log.format, server::LogFormat::Json);
    assert_eq!(config.sandbox.allocator, crate::sandbox::Allocator::OnDemand);
    assert_eq!(config.server.tls.unwrap().key, Path::new("k"));
}

#[test]
fn lists_are_toml_comma_text_or_indexes() {
    let toml = "[server]\ntrusted_proxies = ['10.0.0.0/8', '::1']";
    let cases: [(&str, &[(&str, &str)]); 4] = [
        (toml, &[]),
        ("", &[("BULKHEAD_SERVER__TRUSTED_PROXIES", "10.0.0.0/8, ::1")]),
        (
            "[server]\ntrusted_proxies = ['1.1.1.1']",
            &[
                ("BULKHEAD_SERVER__TRUSTED_PROXIES_0", "10.0.0.0/8"),
                ("BULKHEAD_SERVER__TRUSTED_PROXIES_1", "::1"),
            ],
        ),
        (
            "",
            &[
                ("BULKHEAD_SERVER__TRUSTED_PROXIES__0", "10.0.0.0/8"),
                ("BULKHEAD_SERVER__TRUSTED_PROXIES__1", "::1"),
            ],
        ),
    ];
    for (toml, environment) in cases {
        let proxies = loaded(toml, environment).config.server.trusted_proxies;
        let proxies: Vec<String> = proxies.iter().map(ToString::to_string).collect();
        assert_eq!(proxies, ["10.0.0.0/8", "::1/128"], "{toml} {environment:?}");
    }
}

#[test]
fn indexes_sort_by_number() {
    let names: Vec<(String, String)> =
        (0..12).map(|i| (format!("BULKHEAD_SLOTS__CAPTCHA__MODELS_{i}"), format!("a:b/c{i}"))).collect();
    let environment: Vec<(&str, &str)> = names.iter().map(|(k, v)| (&**k, &**v)).collect();
    let models = captcha_slot("", &environment).models.unwrap();
    assert_eq!(models.last().unwrap(), "a:b/c11");
}

#[test]
fn kubernetes_variables_are_ignored_with_one_warning() {
    let environment = [
        ("BULKHEAD_PORT", "tcp://10.0.0.1:8080"),
        ("BULKHEAD_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("BULKHEAD_SERVICE_HOST", "10.0.0.1"),
        ("BULKHEAD_SERVICE_PORT_HTTP", "8080"),
        ("BULKHEAD_ADMIN_PORT", "tcp://10.0.0.2:9901"),
        ("BULKHEAD_ADMIN_SERVICE_HOST", "10.0.0.2"),
        ("SERVER_PORT", "tcp://10.0.0.3:80"),
    ];
    let loaded = loaded("", &environment);
    assert_eq!(loaded.warnings.len(), 1, "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].text.contains("ignored 6 variable(s)"));
    assert_eq!(loaded.config.server.listen, server::LISTEN);
    assert!(refused("", &[("BULKHEAD_SERVICEZ", "1")]).to_string().contains("did you mean services"));
}

#[test]
fn slots_and_services_keep_their_order() {
    let config = loaded("[services.tickets]\nenabled = false", &[]).config;
    let ids: Vec<&str> = config.slots.ids().map(SlotId::as_str).collect();
    assert_eq!(ids, ["triage", "answer", "status", "captcha"]);
    let services: Vec<&str> = config.services.each().map(|(name, _)| name).collect();
    assert_eq!(services, ["embedding", "tickets", "status", "captcha"]);
    let used = config.slots.each().filter(|slot| config.services.uses(&slot.spec));
    assert_eq!(used.map(|slot| slot.id().as_str()).collect::<Vec<_>>(), ["status", "captcha"]);
}

#[test]
fn variable_sets_slot_with_a_dash() {
    const SLOTS: &[SlotSpec] = &[slot("my-app-2", "apps", &Limits::DEFAULT)];
    let services = vec![ServiceSpec { name: "apps", slots: SLOTS }];
    let spec = HostSpec { services, ..HostSpec::default() };
    let environment = [("BULKHEAD_SLOTS__MY_APP_2__CPU_MS", "7")];
    let config = crate::load(sources("", &environment), &spec).unwrap().config;
    assert_eq!(config.slots.get(SlotId::new("my-app-2")).unwrap().limits.cpu_ms, 7);
}

#[test]
fn too_many_slots_are_rejected() {
    let slots: Vec<SlotSpec> = (0..=MAX_SLOTS)
        .map(|number| SlotSpec {
            id: SlotId::parse(&format!("slot{number}")).unwrap(),
            ..slot("slot", "apps", &Limits::DEFAULT)
        })
        .collect();
    let services = vec![ServiceSpec { name: "apps", slots: slots.leak() }];
    let spec = HostSpec { services, ..HostSpec::default() };
    let refused = crate::load(sources("", &[]), &spec).err().unwrap();
    assert!(refused.to_string().contains("has 65 slots, a host takes at most 64"), "{refused}");
}

#[test]
fn names_of_slots_are_their_own() {
    let spec = |slots: Vec<SlotSpec>| {
        let slots: &'static [SlotSpec] = slots.leak();
        let services = vec![ServiceSpec { name: "shop", slots }, ServiceSpec { name: "bakery", slots: &[] }];
        HostSpec { services, ..HostSpec::default() }
    };
    let refused = |slots| crate::load(sources("", &[]), &spec(slots)).err().unwrap().to_string();
    let own = |id| slot(id, "shop", &Limits::DEFAULT);
    assert!(crate::load(sources("", &[]), &spec(vec![own("shop"), own("till")])).is_ok());
    let twice = refused(vec![own("till"), own("till")]);
    assert!(twice.contains("two services have a slot till; rename one"), "{twice}");
    let other = refused(vec![own("bakery")]);
    assert!(other.contains("the slot bakery of shop has the name of another service; rename it"), "{other}");
}
