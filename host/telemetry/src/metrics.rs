//! Holds a host's metrics: typed handles over its own registry, so that hosts in one process are separate.

mod http;
mod process;
mod pulls;
mod sets;
mod sharing;
mod slot;

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use bulkhead_config::slot_id::SlotId;
use prometheus::{Gauge, Histogram, IntCounter, Registry, Result, proto::MetricFamily};

use self::{process::Process, sets::Sets, slot::Families};
use crate::{catalog, family::Family, series::Series};

pub use http::{Answered, Http, method_label};
pub use process::{DiskSpace, WasmMemory};
pub use pulls::{Pull, Pulls};
pub use sets::MetricSet;
pub use sharing::SharingMetrics;
pub use slot::{SlotMetrics, SlotReading, VersionLabels};

/// A hook that runs before each scrape and sets figures that are only read then.
type Hook = dyn Fn(&Metrics) + Send + Sync;

/// Results of a look-up in the compiled-code cache.
const CACHE_RESULTS: [&str; 3] = ["hit", "miss", "fault"];

/// A kind of slot in the pooling allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// Component instances.
    ComponentInstances,
    /// Core instances inside them.
    CoreInstances,
    /// Linear memories.
    Memories,
    /// Tables.
    Tables,
    /// Stacks of calls.
    Stacks,
}

impl PoolKind {
    const ALL: [Self; 5] =
        [Self::ComponentInstances, Self::CoreInstances, Self::Memories, Self::Tables, Self::Stacks];

    /// Returns the label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ComponentInstances => "component_instances",
            Self::CoreInstances => "core_instances",
            Self::Memories => "memories",
            Self::Tables => "tables",
            Self::Stacks => "stacks",
        }
    }
}

/// All metrics of a host.
pub struct Metrics {
    registry: Registry,
    before_scrape: RwLock<Vec<Arc<Hook>>>,
    sets: Sets,
    slots: RwLock<BTreeMap<SlotId, SlotMetrics>>,
    slot_families: Families,
    pool_slots: Series<Gauge, 1>,
    compile_cache: Series<IntCounter, 1>,
    compile: Histogram,
    process: Process,
    /// Connections and requests.
    pub http: Http,
    /// The state that hosts share.
    pub sharing: SharingMetrics,
    /// Components that are pulled from registries.
    pub pulls: Pulls,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Returns metrics at zero for a host that keeps its data in `data_dir` and has these slots: their series exist
    /// from the start. Fails only when the list of names is wrong.
    pub fn new(data_dir: PathBuf, slots: impl IntoIterator<Item = SlotId>) -> Result<Self> {
        let registry = Registry::new();
        Series::<Gauge, 1>::register(&catalog::BUILD_INFO, &registry)?
            .get([env!("CARGO_PKG_VERSION")])
            .set(1.0);
        let slot_families = Families::register(&registry)?;
        let compile_cache = Series::register(&catalog::COMPILE_CACHE, &registry)?;
        for result in CACHE_RESULTS {
            compile_cache.get([result]);
        }
        let pool_slots = Series::<Gauge, 1>::register(&catalog::POOL_SLOTS, &registry)?;
        for kind in PoolKind::ALL {
            pool_slots.get([kind.as_str()]);
        }
        let slots = slots.into_iter().map(|id| (id, slot_families.slot(id.as_str()))).collect();
        Ok(Self {
            slots: RwLock::new(slots),
            slot_families,
            before_scrape: RwLock::default(),
            sets: Sets::default(),
            pool_slots,
            compile_cache,
            compile: Series::<Histogram, 0>::register(&catalog::COMPILE, &registry)?.get([]),
            process: Process::register(&registry, data_dir)?,
            http: Http::register(&registry)?,
            sharing: SharingMetrics::register(&registry)?,
            pulls: Pulls::register(&registry)?,
            registry,
        })
    }

    /// Returns a set of metrics, and registers it the first time: from then on its families are shown.
    ///
    /// # Errors
    /// Only when the set's families are wrong, see [`MetricSet::register`].
    pub fn set<T: MetricSet>(&self) -> Result<Arc<T>> {
        self.sets.get(&self.registry)
    }

    /// Returns every family that is registered: those of the platform, then those of sets.
    pub fn families(&self) -> Vec<&'static Family> {
        let mut families = catalog::ALL.to_vec();
        families.extend(self.sets.families());
        families
    }

    /// Returns the figures of one slot.
    pub fn slot(&self, id: SlotId) -> SlotMetrics {
        let known = self.slots.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        known.unwrap_or_else(|| self.slot_families.slot(id.as_str()))
    }

    /// Adds the series of a slot that is added while the host runs, and returns its figures.
    pub fn add_slot(&self, id: SlotId) -> SlotMetrics {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        slots.entry(id).or_insert_with(|| self.slot_families.slot(id.as_str())).clone()
    }

    /// Removes a slot's series from the families of the platform and of all sets.
    pub fn remove_slot(&self, id: SlotId) {
        let removed = self.slots.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(removed) = removed {
            self.slot_families.remove(&removed);
            self.sharing.remove(id.as_str());
            self.sets.remove_slot(id.as_str());
        }
    }

    /// Returns the figures of every slot that the host started with or has added.
    pub fn slots(&self) -> Vec<(SlotId, SlotMetrics)> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.iter().map(|(id, figures)| (*id, figures.clone())).collect()
    }

    /// Counts log text that a slot wrote beyond its rate, bytes.
    pub fn guest_log_dropped(&self, slot: &str, bytes: usize) {
        self.slot_families.log_dropped(slot, bytes as u64);
    }

    /// Counts a log line that a slot wrote.
    pub fn guest_log_line(&self, slot: &str, level: &'static str) {
        self.slot_families.log_line(slot, level);
    }

    /// Counts a look-up in the compiled-code cache: `hit`, `miss` or `fault`.
    pub fn compile_cache(&self, result: &'static str) {
        self.compile_cache.get([result]).inc();
    }

    /// Records the time that compiling a component took.
    pub fn compiled(&self, elapsed: Duration) {
        self.compile.observe(elapsed.as_secs_f64());
    }

    /// Sets the number of slots of the pooling allocator in use.
    pub fn set_pool_slots(&self, kind: PoolKind, in_use: u64) {
        self.pool_slots.get([kind.as_str()]).set(in_use as f64);
    }

    /// Sets the linear memory of running components.
    pub fn set_wasm_memory(&self, memory: WasmMemory) {
        self.process.set_wasm_memory(memory);
    }

    /// Records that the services are built.
    pub fn started(&self) {
        self.process.started();
    }

    /// Records that the host answers.
    pub fn ready(&self) {
        self.process.ready();
    }

    /// Returns the file system that holds the data folder; `None` when it cannot be read.
    pub fn disk_space(&self) -> Option<DiskSpace> {
        self.process.disk_space()
    }

    /// Registers `hook`, which sets figures that are only read at a scrape. It gets these metrics as an argument, and
    /// must not block.
    pub fn before_scrape(&self, hook: impl Fn(&Self) + Send + Sync + 'static) {
        let mut hooks = self.before_scrape.write().unwrap_or_else(PoisonError::into_inner);
        hooks.push(Arc::new(hook));
    }

    /// Returns all families with their present figures, sorted by name.
    pub fn gather(&self) -> Vec<MetricFamily> {
        self.process.refresh();
        let hooks = self.before_scrape.read().unwrap_or_else(PoisonError::into_inner).clone();
        for hook in hooks {
            hook(self);
        }
        self.registry.gather()
    }

    /// Returns these families only, for a page without access control.
    pub fn gather_only(&self, families: &[&Family]) -> Vec<MetricFamily> {
        let mut gathered = self.gather();
        gathered.retain(|gathered| families.iter().any(|family| family.name == gathered.name()));
        gathered
    }
}

#[cfg(test)]
mod tests;
