//! Puts components into slots.

use std::sync::Arc;

use anyhow::Context as _;

use super::Parts;
use crate::{
    capabilities::Backing,
    config::slots::{ComponentSource, SlotName},
    embedded, invoke,
    slots::{self, Slot, Version, World},
};

/// Puts the configured component into the slot, or says in log and readiness why it may not answer.
pub(super) async fn fill<W: World>(slot: &Slot<W>, parts: &Parts<'_>) {
    let loaded = async {
        let (wasm, source) =
            component(slot.name(), &slot.settings.component, slot.yard.sandbox.component_bytes)?;
        let version = try_component(slot, wasm, &source).await?;
        tracing::info!(slot = slot.name().as_str(), digest = %version.digest, source, "component active");
        slot.activate(version);
        anyhow::Ok(())
    };
    if let Err(error) = loaded.await {
        let reason = format!("{error:#}");
        tracing::error!(slot = slot.name().as_str(), reason, "the component may not answer");
        slot.empty("its component was refused; the host's log and /health/ready say why");
        parts.health.slot_empty(slot.name().as_str(), reason);
    }
}

/// Every check that stands before a component's first answer.
pub(super) async fn try_component<W: World>(
    slot: &Slot<W>,
    wasm: Arc<[u8]>,
    source: &str,
) -> anyhow::Result<Arc<Version<W>>> {
    let version = slot.prepare(wasm, source).await?;
    let trial = invoke::trial(slot, &version).await;
    trial.map_err(|word| anyhow::anyhow!("the component's self-test failed: {word}"))?;
    Ok(version)
}

/// What a slot's guests may reach, with nothing of the service's own in it yet.
pub(super) fn backing(parts: &Parts<'_>, slot: SlotName) -> Backing {
    let log = parts.config.slots.get(slot).limits.log_bytes_per_second;
    Backing::new(slot, log, Arc::clone(&parts.pow), Arc::clone(&parts.metrics))
}

fn component(slot: SlotName, source: &ComponentSource, cap: usize) -> anyhow::Result<(Arc<[u8]>, String)> {
    match source {
        ComponentSource::Embedded => {
            let wasm = embedded::component(slot).context("this binary carries no component for it")?;
            Ok((wasm.into(), "embedded".into()))
        }
        ComponentSource::File(path) => Ok((slots::read_component(path, cap)?, path.display().to_string())),
    }
}
