//! Which apps of a configuration need more than the instance pool has until the host is restarted.

use std::sync::Arc;

use bulkhead_config::slots::{Limits, SlotId};
use bulkhead_runtime::engine::PoolSize;

use crate::config::{AppSettings, AppsSettings};

/// Returns a key of each app that the pool has no room for: of a memory or a table that is too large, or else of its calls.
/// `pool` is what apps share, and `running` returns the limits of an app that runs. Those that go on with as many calls go before
/// others, which get what is left.
pub(crate) fn exceeded(
    pool: PoolSize,
    apps: &AppsSettings,
    running: impl Fn(SlotId) -> Option<Limits>,
) -> Vec<String> {
    let goes_on = |app: &&Arc<AppSettings>| {
        running(app.id()).is_some_and(|limits| calls(&limits) == calls(&app.slot.limits))
    };
    let (going_on, others): (Vec<_>, Vec<_>) = apps.apps.iter().partition(goes_on);
    let mut free = pool.calls;
    let key = |app: &Arc<AppSettings>| {
        let limits = &app.slot.limits;
        let name = if limits.memory_bytes > pool.memory_bytes {
            "memory_bytes"
        } else if limits.table_elements > pool.table_elements {
            "table_elements"
        } else {
            match free.checked_sub(calls(limits)) {
                Some(left) => {
                    free = left;
                    return None;
                }
                None => "max_concurrent",
            }
        };
        Some(app.slot.key(name))
    };
    going_on.into_iter().chain(others).filter_map(key).collect()
}

/// Returns how many calls a slot with these limits runs at once.
pub(crate) fn calls(limits: &Limits) -> usize {
    limits.max_concurrent.saturating_add(limits.shadow_calls)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_config::{HostSpec, tables::TableSpec};
    use bulkhead_configured::loaded;

    use super::*;
    use crate::spec::SPEC;

    const POOL: PoolSize = PoolSize { calls: 8, memory_bytes: 1 << 20, table_elements: 100 };

    fn exceeded_by(toml: &str, running: &[(&str, usize)]) -> Vec<String> {
        let tables = vec![TableSpec::of::<AppsSettings>()];
        let host = HostSpec { services: vec![SPEC], tables, ..HostSpec::default() };
        let loaded = loaded(&host, toml, &[]);
        exceeded(POOL, loaded.config.table::<AppsSettings>().unwrap(), |id| {
            let (_, max_concurrent) = running.iter().find(|(name, _)| *name == id.as_str())?;
            Some(Limits { max_concurrent: *max_concurrent, shadow_calls: 1, ..Limits::DEFAULT })
        })
    }

    fn app(name: &str, calls: usize, more: &str) -> String {
        let fits = "memory_bytes = 65536\ntable_elements = 1";
        let limits = if more.is_empty() { fits } else { more };
        format!(
            "[apps.{name}]\npath_prefix = '/{name}'\nmax_concurrent = {calls}\nshadow_calls = 1\n{limits}\n"
        )
    }

    #[test]
    fn large_memory_and_table_are_named() {
        let memory = app("a", 1, "memory_bytes = 2097152\ntable_elements = 1");
        let table = app("b", 1, "memory_bytes = 65536\ntable_elements = 101");
        let apps = format!("{memory}{table}{}", app("c", 7, ""));
        assert_eq!(exceeded_by(&apps, &[]), ["apps.a.memory_bytes", "apps.b.table_elements"]);
    }

    #[test]
    fn calls_go_to_running_apps_first() {
        let apps = format!("{}{}", app("a", 3, ""), app("b", 4, ""));
        assert_eq!(exceeded_by(&apps, &[]), ["apps.b.max_concurrent"]);
        assert_eq!(exceeded_by(&apps, &[("b", 4)]), ["apps.a.max_concurrent"]);
        assert_eq!(exceeded_by(&apps, &[("b", 2)]), ["apps.b.max_concurrent"]);
    }
}
