//! `bulkhead triage import`: converts the configuration of zammad-ai.

use std::path::Path;

use bulkhead_cli::output;
use bulkhead_telemetry::logs;

use super::read;
use crate::triage::import::import_triage_yml;

/// Prints the converted configuration; notes go to standard error.
pub(super) fn run(file: &Path) -> anyhow::Result<()> {
    let imported = import_triage_yml(&read(file)?)?;
    for note in &imported.notes {
        logs::write_last(&format!("{note}\n"));
    }
    Ok(output::text(imported.toml)?)
}
