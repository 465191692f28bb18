//! Reads `[sandbox]`, the limits of all slots together.

use std::path::PathBuf;

use super::{reader::Reader, slots::signatures};

/// Deep enough for recursive parsers; every running call reserves it.
pub const STACK_BYTES: usize = 512 << 10;
/// Several times the largest first-party component; bounds the compiler's memory.
const COMPONENT_BYTES: usize = 32 << 20;
/// The largest value that can be set.
pub const LARGEST_COMPONENT_BYTES: usize = 1 << 30;
/// With less memory, bytes, components are compiled one after the other, each on one thread.
pub const PARALLEL_MEMORY: u64 = 1 << 30;
/// The least address space of a compilation that can be set, bytes; ample for embedded components.
const LEAST_COMPILE_MEMORY_BYTES: u64 = 512 << 20;
/// One compilation uses every idle core most of the time, and a second one the rest; more only add memory.
const COMPILE_WORKERS: usize = 2;
/// Several times what the largest component takes on a slow core.
const COMPILE_CPU_SECONDS: u64 = 300;
/// Twice what a component of [`COMPONENT_BYTES`] takes.
const COMPILE_MEMORY_BYTES: u64 = 2 << 30;
/// The binary of this process, even when its file was replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// Room for dozens of compiled components.
const CACHE_BYTES: u64 = 1 << 30;
/// Far beyond what a request needs, far below what would hurt.
pub const HANDLES: usize = 1000;
/// Half as many again as what componentize-py makes; a count, which reserves nothing.
pub const CORE_INSTANCES: usize = 64;
/// What toolchains with adapters make; with the pooling allocator every running call reserves them.
pub const MEMORIES: usize = 4;
/// The same for tables.
pub const TABLES: usize = 8;
/// A few seconds of work for the threads; beyond it clients should retry later.
const POW_QUEUE: usize = 256;

/// How WebAssembly instances get their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// Pooling where the address space can be reserved, else on demand with one warning.
    Auto,
    /// Pooling or refuse to start.
    Pooling,
    /// On demand: slower, needs little address space.
    OnDemand,
}

/// `[sandbox]`.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Stack of one call, bytes; wasmtime sets it for all slots alike.
    pub stack_bytes: usize,
    /// How instances get their memory.
    pub allocator: Allocator,
    /// Largest component that is accepted, bytes.
    pub component_bytes: usize,
    /// Components compiled at once, and small ones beside them.
    pub compile_workers: usize,
    /// Processor time of one compilation, all threads together, seconds.
    pub compile_cpu_seconds: u64,
    /// Memory of one compilation, bytes of address space.
    pub compile_memory_bytes: u64,
    /// The program that compiles: the host's binary. No key sets it; tests, which are another program, set it to the
    /// host's.
    pub compile_program: PathBuf,
    /// Keep compiled code in the data folder.
    pub cache: bool,
    /// Compiled code that is kept, bytes.
    pub cache_bytes: u64,
    /// minisign public keys in base64 that sign packs, components that are compiled already.
    pub pack_keys: Vec<String>,
    /// Handles (resources) that one call may hold at once.
    pub handles: usize,
    /// Core instances of one component.
    pub core_instances: usize,
    /// Linear memories of one component.
    pub memories: usize,
    /// Tables of one component.
    pub tables: usize,
    /// Calls of all slots that run at once; slots that are added while the host runs use what the others leave.
    pub calls: Option<usize>,
    /// Largest memory of a call, bytes.
    pub memory_bytes: Option<usize>,
    /// Largest table of a call, elements.
    pub table_elements: Option<usize>,
    /// Memory that a control group leaves to the host, bytes, if it limits memory. No key sets it.
    pub memory: Option<u64>,
    /// Threads that derive proof-of-work keys; 0 means one a core.
    pub pow_threads: usize,
    /// Proof-of-work jobs that wait for a thread.
    pub pow_queue: usize,
}

impl Sandbox {
    pub(super) fn read(reader: &mut Reader) -> Self {
        const ALLOCATORS: [(&str, Allocator); 3] =
            [("auto", Allocator::Auto), ("pooling", Allocator::Pooling), ("on-demand", Allocator::OnDemand)];
        let memory = reader.memory;
        let (compile_workers, compile_memory_bytes) = match memory {
            Some(memory) if memory < PARALLEL_MEMORY => (1, LEAST_COMPILE_MEMORY_BYTES),
            _ => (COMPILE_WORKERS, COMPILE_MEMORY_BYTES),
        };
        reader.table("sandbox", |r| Self {
            stack_bytes: r
                .key("stack_bytes", "Stack of one call")
                .unit("bytes")
                .integer(64 << 10..=8 << 20, STACK_BYTES),
            allocator: r
                .key("allocator", "How instances get their memory")
                .choice(&ALLOCATORS, Allocator::Auto),
            component_bytes: r
                .key("component_bytes", "Largest component that is accepted")
                .unit("bytes")
                .integer(1 << 10..=LARGEST_COMPONENT_BYTES as i64, COMPONENT_BYTES),
            compile_workers: r
                .key(
                    "compile_workers",
                    "Components compiled at once, small ones beside them; one at a time with less than 1 GiB",
                )
                .integer(1..=64, compile_workers),
            compile_cpu_seconds: r
                .key("compile_cpu_seconds", "Processor time of one compilation, all threads together")
                .unit("seconds")
                .integer(1..=86_400, COMPILE_CPU_SECONDS),
            compile_memory_bytes: r
                .key(
                    "compile_memory_bytes",
                    "Memory (address space) of one compilation; 536870912 with less than 1 GiB of memory",
                )
                .unit("bytes")
                .integer(LEAST_COMPILE_MEMORY_BYTES as i64..=1 << 40, compile_memory_bytes),
            compile_program: THIS_PROGRAM.into(),
            cache: r.key("cache", "Keep compiled code in the data folder").flag(true),
            cache_bytes: r
                .key("cache_bytes", "Compiled code that is kept; code that slots use is kept beyond it")
                .unit("bytes")
                .integer(0..=1 << 50, CACHE_BYTES),
            pack_keys: r
                .key(
                    "pack_keys",
                    "Public keys whose packs, components that are compiled already, are taken; none without",
                )
                .list("minisign public keys", signatures::key)
                .unwrap_or_default(),
            handles: r
                .key("handles", "Handles that one call may hold at once")
                .integer(1..=1_000_000, HANDLES),
            core_instances: r
                .key("core_instances", "Core instances of one component: its modules and what adapts them")
                .integer(1..=10_000, CORE_INSTANCES),
            memories: r
                .key("memories", "Linear memories of one component; the pool reserves them for every call")
                .integer(1..=100, MEMORIES),
            tables: r
                .key("tables", "Tables of one component; the pool reserves them for every call")
                .integer(1..=1_000, TABLES),
            calls: r
                .key("calls", "Calls of all slots that run at once, those that a reload adds included")
                .default_text("what the slots need, and up to 64 more")
                .optional_integer(1..=1_000_000),
            memory_bytes: r
                .key("memory_bytes", "Largest `memory_bytes` of an app that a reload adds")
                .unit("bytes")
                .default_text("268435456, or the largest of a slot")
                .optional_integer(64 << 10..=4 << 30),
            table_elements: r
                .key("table_elements", "Largest `table_elements` of an app that a reload adds")
                .default_text("20000, or the largest of a slot")
                .optional_integer(1..=10_000_000),
            memory,
            pow_threads: r
                .key("pow_threads", "Threads that derive proof-of-work keys; 0 means one a core")
                .integer(0..=1024, 0),
            pow_queue: r
                .key("pow_queue", "Proof-of-work jobs that wait for a thread")
                .integer(0..=1_000_000, POW_QUEUE),
        })
    }
}
