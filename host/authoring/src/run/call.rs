//! Calls an export of a component, without a host and without a configuration.

use std::{path::Path, sync::Arc};

use bulkhead_config::slots::SlotSpec;
use bulkhead_runtime::slots::Outline;

use crate::{
    component::{
        exports,
        fit::{self, Fit},
    },
    platform::AuthorPlatform,
    report::{AuthoringFailure, CommandReport},
    run::{
        program::{Overrides, Program},
        values,
    },
};

/// Returns the slot whose world a component fits.
pub(crate) fn slot(platform: &AuthorPlatform, wasm: &[u8], outline: &Outline) -> Option<SlotSpec> {
    match Fit::find(platform, wasm, outline) {
        Fit::Slot { slot, .. } => Some(slot),
        Fit::Served { .. } | Fit::Refused(..) | Fit::None(_) => None,
    }
}

/// Calls an export with arguments in WAVE.
///
/// # Errors
/// When the component cannot be loaded, it has no such export, or an argument does not have its type.
pub(crate) async fn call(
    platform: &AuthorPlatform,
    file: &Path,
    export: &str,
    arguments: &[String],
    overrides: Overrides,
) -> anyhow::Result<CommandReport> {
    let (wasm, outline) = fit::read(file)?;
    let slot = slot(platform, &wasm, &outline);
    let program = Program::load(Arc::clone(&wasm), slot, overrides).await?;
    let functions = program.functions();
    let function = exports::find(&functions, export)?;
    let arguments = values::arguments(&wasm, function, arguments)?;
    Ok(match program.call(function, &arguments).await {
        Ok(None) => CommandReport::done(String::new()),
        Ok(Some(value)) => {
            let text = format!("{}\n", values::text(&value));
            match values::error(&value) {
                Some(_) => CommandReport::failed(text, AuthoringFailure::Answered(function.full_name())),
                None => CommandReport::done(text),
            }
        }
        Err(ended) => {
            let text =
                format!("{} ended with {}: {}", function.full_name(), ended.outcome.as_str(), ended.text);
            CommandReport::failed(String::new(), AuthoringFailure::Ended(text))
        }
    })
}
