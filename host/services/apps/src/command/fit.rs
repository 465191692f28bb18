//! Whether a file can be an app at all.

use std::path::Path;

use bulkhead_config::sandbox::LARGEST_COMPONENT_BYTES;
use bulkhead_runtime::slots::{outline, read_component};
use bulkhead_service::ComponentCheckError;

/// The start of the export that makes a component an app, of every release that the host serves.
const HANDLER: &str = "wasi:http/incoming-handler@0.2.";

/// Checks that a file is a component for HTTP.
///
/// # Errors
/// With what it is instead.
pub(super) fn check(file: &Path) -> anyhow::Result<()> {
    let wasm = read_component(file, LARGEST_COMPONENT_BYTES)?;
    let name = file.display();
    let refused = match outline(&wasm) {
        Err(why) => format!("{name} is not a WebAssembly component: {why}"),
        Ok(outline) if outline.exports.iter().any(|export| export.starts_with(HANDLER)) => return Ok(()),
        Ok(_) => format!(
            "{name} is not a wasi:http/proxy 0.2 component; `bulkhead component check {name}` says which world it fits"
        ),
    };
    Err(ComponentCheckError::World(refused).into())
}
