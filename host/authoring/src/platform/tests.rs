//! The binary of the tests: a service with one slot, and worlds whose components need no slot.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_config::slots::Limits;
use bulkhead_runtime::capabilities;

use super::*;

const SLOT: SlotSpec = SlotSpec {
    id: SlotId::new("greeter"),
    service: "greeter",
    limits: &Limits::DEFAULT,
    grants: &[],
    uses_models: false,
    component: None,
};

const FILES: AuthorFiles = AuthorFiles {
    wit: &[
        EmbeddedFile {
            path: "greeter/greeter.wit",
            bytes: b"package test:greeter@0.1.0;

world greeter {
    import names;
    import bulkhead:host/keys@0.1.1;
    import wasi:random/random@0.2.12;
    import wasi:logging/logging@0.1.0-draft;
    export greet: func() -> string;
    export self-test: func() -> result<_, string>;
}
",
        },
        EmbeddedFile {
            path: "greeter/names.wit",
            bytes: b"package test:greeter@0.1.0;

interface names {
    known: func() -> list<string>;
}
",
        },
    ],
    templates: &[
        EmbeddedFile { path: "rust/greeter/template", bytes: b"world: test:greeter/greeter\nguest: yes\n" },
        EmbeddedFile { path: "rust/greeter/src/lib.rs", bytes: b"//! {{name}}.\n" },
    ],
};

/// Returns the binary.
pub(crate) fn platform() -> AuthorPlatform {
    let served = ServedWorld {
        name: "wasi:http/proxy",
        exports: &["wasi:http/incoming-handler@0.2.12"],
        table: "apps",
        grants: &[],
        advice: "run it",
    };
    let world =
        SlotWorld { slot: SLOT.id, name: "test:greeter/greeter@0.1.0", exports: &["greet", "self-test"] };
    AuthorPlatform {
        name: "bulkhead",
        slots: vec![SLOT],
        worlds: vec![world],
        served: vec![served],
        files: vec![FILES],
        capabilities: capabilities::general(),
    }
}

/// Returns a binary without services.
pub(crate) fn without_services() -> AuthorPlatform {
    let (slots, worlds, served, files) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    AuthorPlatform { slots, worlds, served, files, ..platform() }
}
