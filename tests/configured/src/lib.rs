//! Configurations for unit tests, from a TOML text and an environment.

#![allow(clippy::panic)]

use bulkhead_config::{ConfigFile, Flag, HostSpec, Loaded, Problems, Sources};

/// Returns what a configuration is read from, as root so that no HOME is needed.
pub fn sources(toml: &str, environment: &[(&str, &str)]) -> Sources {
    Sources {
        file: Some(ConfigFile { name: "config.toml".to_owned(), text: toml.to_owned() }),
        environment: environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        flags: Vec::new(),
        root: true,
        memory: None,
    }
}

/// Adds a flag.
pub fn with_flag(mut sources: Sources, name: &str, path: &str, value: &str) -> Sources {
    let [name, path, value] = [name, path, value].map(str::to_owned);
    sources.flags.push(Flag { name, path, value });
    sources
}

/// Reads a configuration that must be right.
///
/// # Panics
/// With the problems of one that is not.
pub fn loaded(spec: &HostSpec, toml: &str, environment: &[(&str, &str)]) -> Loaded {
    bulkhead_config::load(sources(toml, environment), spec).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the problems of a configuration.
///
/// # Panics
/// When it has none.
pub fn refused(spec: &HostSpec, toml: &str, environment: &[(&str, &str)]) -> Problems {
    match bulkhead_config::load(sources(toml, environment), spec) {
        Ok(_) => panic!("accepted:\n{toml}\n{environment:?}"),
        Err(problems) => problems,
    }
}

/// Asserts that each text has exactly one problem, which contains the words beside it.
///
/// # Panics
/// When one does not.
pub fn each_refused(spec: &HostSpec, cases: &[(&str, &str)]) {
    for (toml, words) in cases {
        let problems = refused(spec, toml, &[]);
        assert_eq!(problems.iter().count(), 1, "{toml}\n{problems}");
        assert!(problems.to_string().contains(words), "{toml}\n{problems}\nlacks: {words}");
    }
}
