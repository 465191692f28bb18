//! What the start page of `--demo` shows of the `bulkhead` binary: its name, and the guides of the repository.

use bulkhead_server::{BinaryGuide, StartPage};

macro_rules! guide {
    ($title:literal, $source:literal) => {
        BinaryGuide {
            source: $source,
            title: $title,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", $source)),
        }
    };
}

/// The start page.
pub(super) const START_PAGE: StartPage = StartPage {
    name: "Bulkhead",
    first_guides: &[guide!("Bulkhead", "README.md")],
    last_guides: &[
        guide!("Deploy a host", "host/deploy/README.md"),
        guide!("Configuration reference", "host/config/REFERENCE.md"),
        guide!("Operators' guide", "host/rollout/README.md"),
        guide!("Authors' guide", "components/README.md"),
        guide!("Interfaces and versions", "wit/README.md"),
        guide!("Key-value stores", "host/keyvalue/README.md"),
        guide!("Outgoing HTTP", "host/outgoing/README.md"),
        guide!("Security", "SECURITY.md"),
    ],
};
