//! Whether a file can be an app at all.

use std::path::Path;

use bulkhead_config::{HostSpec, sandbox::LARGEST_COMPONENT_BYTES};
use bulkhead_runtime::{
    capabilities::general,
    slots::{PreflightFinding, outline, read_component},
};
use bulkhead_service::ComponentCheckError;

use crate::world::{self, SERVED};

/// Checks that a file is a component for HTTP that the host described by `spec` does not refuse before it compiles it.
///
/// # Errors
/// With what it is instead, or everything that it is refused for.
pub(super) fn check(file: &Path, spec: &HostSpec) -> anyhow::Result<()> {
    let wasm = read_component(file, LARGEST_COMPONENT_BYTES)?;
    let name = file.display();
    let refused = |text: String| -> anyhow::Result<()> { Err(ComponentCheckError::World(text).into()) };
    let outline = match outline(&wasm) {
        Ok(outline) => outline,
        Err(why) => return refused(format!("{name} is not a WebAssembly component: {why}")),
    };
    let capabilities = world::add_capabilities(general());
    let contract = SERVED.contract(&capabilities);
    let Err(refusal) = contract.check(&wasm, LARGEST_COMPONENT_BYTES) else { return Ok(()) };
    if !contract.is_meant(&outline) {
        return refused(format!(
            "{name} is not a wasi:http/proxy 0.2 component; `bulkhead component check {name}` says which world it fits"
        ));
    }
    let mut text = format!("{name} cannot be served:");
    for finding in &refusal.findings {
        text += &format!("\n  - {}", explained(finding, spec));
    }
    refused(text)
}

/// Returns a finding for people who have no configuration.
fn explained(finding: &PreflightFinding, spec: &HostSpec) -> String {
    let is_offered = |wanted: &str| {
        let name = wanted.split_once('@').map_or(wanted, |(name, _)| name);
        spec.interfaces.contains(&name)
    };
    match finding {
        PreflightFinding::Ungranted { wanted, .. } => ungranted(wanted),
        // That of another service.
        PreflightFinding::Unknown { wanted, .. } if is_offered(wanted) => ungranted(wanted),
        finding => finding.to_string(),
    }
}

fn ungranted(wanted: &str) -> String {
    format!("it imports {wanted}, which needs apps.NAME.grants; serve it as an app of a configuration")
}
