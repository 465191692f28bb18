//! Says what a host with little memory does without.

use bulkhead_config::Loaded;
use bulkhead_runtime::engine::PoolSize;

/// Logs what is lowered or switched off because a control group limits memory, if anything is.
pub(super) fn report(loaded: &Loaded, pool: PoolSize) {
    let Some(memory) = loaded.config.sandbox.memory else { return };
    let lowered = lowered(loaded, pool, memory);
    if !lowered.is_empty() {
        tracing::info!(
            memory_bytes = memory,
            "the control group limits memory: {}; raise memory.max (MemoryMax of a unit), or set the keys",
            lowered.join(", ")
        );
    }
}

/// Returns what the configuration does not set and so many bytes of memory lower.
fn lowered(Loaded { config, set, .. }: &Loaded, pool: PoolSize, memory: u64) -> Vec<String> {
    let is_default = |key: &str| !set.contains_key(key);
    let mut lowered = Vec::new();
    for slot in config.slots.all().filter(|slot| config.services.uses(&slot.spec)) {
        let (key, calls, more) =
            (slot.key("max_concurrent"), slot.limits.max_concurrent, slot.spec.limits.max_concurrent);
        if calls < more && is_default(&key) {
            lowered.push(format!("{key} is {calls} instead of {more}"));
        }
    }
    if config.sandbox.compile_workers == 1 && is_default("sandbox.compile_workers") {
        lowered.push("sandbox.compile_workers is 1, and a compilation has one thread".to_owned());
    }
    match pool.kept_bytes(Some(memory)) {
        0 => lowered.push("idle instances keep no memory".to_owned()),
        kept if kept < pool.kept_bytes(None) => {
            lowered.push(format!("idle instances keep {} KiB of memory each", kept >> 10));
        }
        _ => {}
    }
    lowered
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_config::{
        ConfigFile, HostSpec, ServiceSpec, Sources, load,
        reader::Reader,
        slots::{Limits, SlotId, SlotSpec},
        tables::{Context, ServiceTable, TableSpec},
    };

    use super::*;

    const SLOT: SlotSpec = SlotSpec {
        id: SlotId::new("shop"),
        service: "shop",
        limits: &Limits::DEFAULT,
        grants: &[],
        uses_models: false,
        component: None,
    };
    const SLOTS: &[SlotSpec] = &[SLOT];

    /// A table with a slot under each name.
    #[derive(Clone, Debug)]
    struct Stalls;

    impl ServiceTable for Stalls {
        const NAME: &'static str = "stalls";
        const CHOSEN_NAMES: &'static [&'static str] = &["stalls"];
        const HAS_SLOTS: bool = true;

        fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
            reader.named_tables(Self::NAME, "NAME", |r, name| {
                let id = context.slot_id("shop", name).unwrap();
                context.slot(r, SlotSpec { id, ..SLOT }, Self::NAME)
            });
            Self
        }
    }

    /// Returns what is lowered under this memory and configuration.
    fn lowered_by(memory: u64, toml: &str) -> String {
        let services = vec![ServiceSpec { name: "shop", slots: SLOTS }];
        let tables = vec![TableSpec::of::<Stalls>()];
        let file = Some(ConfigFile { name: "test.toml".to_owned(), text: toml.to_owned() });
        let sources = Sources { file, root: true, memory: Some(memory), ..Sources::default() };
        let loaded = load(sources, &HostSpec { services, tables, ..HostSpec::default() }).unwrap();
        lowered(&loaded, PoolSize::of(loaded.config.slots.each().map(|slot| &slot.limits)), memory).join(", ")
    }

    #[test]
    fn little_memory_names_what_it_lowers() {
        let text = lowered_by(64 << 20, "[stalls.north]");
        for part in [
            "slots.shop.max_concurrent is 2 instead of 16",
            "stalls.north.max_concurrent is 2 instead of 16",
            "compile_workers is 1",
            "KiB of memory each",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(lowered_by(1 << 20, "").contains("keep no memory"));
        let text = lowered_by(384 << 20, "[slots.shop]\nmemory_bytes = 134217728\n");
        assert!(text.contains("slots.shop.max_concurrent is 3 instead of 16"), "{text}");
    }

    #[test]
    fn set_keys_and_ample_memory_lower_nothing() {
        let keys = "[slots.shop]\nmax_concurrent = 4\n[stalls.north]\nmax_concurrent = 4\n\
                    [sandbox]\ncompile_workers = 1\n";
        assert_eq!(lowered_by(512 << 20, keys), "");
        assert_eq!(lowered_by(8 << 30, ""), "");
    }
}
