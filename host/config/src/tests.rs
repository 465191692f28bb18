//! Tests of the configuration's layers, checks and error texts.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod added_slots;
mod checks;
mod layers;
mod problems;
mod registries;
mod rows;
mod tables;

use super::{
    ConfigFile, Flag, HostSpec, Loaded, Problems, ServiceSpec, Sources,
    slots::{Limits, SlotId, SlotSettings, SlotSpec},
};

/// Limits that differ from the defaults.
const SHORT: Limits = Limits { cpu_ms: 200, ..Limits::DEFAULT };

const fn slot(id: &'static str, service: &'static str, limits: &'static Limits) -> SlotSpec {
    SlotSpec { id: SlotId::new(id), service, limits, grants: &[], uses_models: false, component: None }
}

const SERVICES: &[ServiceSpec] = &[
    ServiceSpec { name: "embedding", slots: &[] },
    ServiceSpec {
        name: "tickets",
        slots: &[slot("triage", "tickets", &Limits::DEFAULT), slot("answer", "tickets", &Limits::DEFAULT)],
    },
    ServiceSpec { name: "status", slots: &[slot("status", "status", &Limits::DEFAULT)] },
    ServiceSpec { name: "captcha", slots: &[slot("captcha", "captcha", &SHORT)] },
];

/// Returns a host of four services, with invented tables.
fn spec() -> HostSpec {
    let interfaces = vec!["wasi:io/poll", "bulkhead:host/llm"];
    HostSpec {
        services: SERVICES.to_vec(),
        interfaces,
        stubs: vec!["wasi:sockets/tcp"],
        tables: tables::TABLES.to_vec(),
        aliases: tables::ALIASES.to_vec(),
    }
}

fn load(sources: Sources) -> Result<Loaded, Problems> {
    super::load(sources, &spec())
}

/// Returns the settings of the captcha slot.
fn captcha_slot(toml: &str, environment: &[(&str, &str)]) -> SlotSettings {
    loaded(toml, environment).config.slots.get(SlotId::new("captcha")).unwrap().clone()
}

/// Makes sources of a TOML text and an environment, as root so that no HOME is needed.
fn sources(toml: &str, environment: &[(&str, &str)]) -> Sources {
    Sources {
        file: Some(ConfigFile { name: "config.toml".to_owned(), text: toml.to_owned() }),
        environment: environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        flags: Vec::new(),
        root: true,
        memory: None,
    }
}

fn with_flag(mut sources: Sources, name: &str, path: &str, value: &str) -> Sources {
    let [name, path, value] = [name, path, value].map(str::to_owned);
    sources.flags.push(Flag { name, path, value });
    sources
}

fn loaded(toml: &str, environment: &[(&str, &str)]) -> Loaded {
    loaded_for(&spec(), toml, environment)
}

fn refused(toml: &str, environment: &[(&str, &str)]) -> Problems {
    refused_for(&spec(), toml, environment)
}

fn each_refused(cases: &[(&str, &str)]) {
    each_refused_for(&spec(), cases);
}

fn loaded_for(spec: &HostSpec, toml: &str, environment: &[(&str, &str)]) -> Loaded {
    super::load(sources(toml, environment), spec).unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused_for(spec: &HostSpec, toml: &str, environment: &[(&str, &str)]) -> Problems {
    match super::load(sources(toml, environment), spec) {
        Ok(_) => panic!("accepted:\n{toml}\n{environment:?}"),
        Err(problems) => problems,
    }
}

/// Asserts that each text gives exactly one problem, which contains the words.
fn each_refused_for(spec: &HostSpec, cases: &[(&str, &str)]) {
    for (toml, words) in cases {
        let problems = refused_for(spec, toml, &[]);
        assert_eq!(problems.iter().count(), 1, "{toml}\n{problems}");
        assert!(problems.to_string().contains(words), "{toml}\n{problems}\nlacks: {words}");
    }
}
