//! Holds the limits of a slot's calls.

use std::time::Duration;

use crate::reader::Reader;

/// WebAssembly's page, the least memory that a call can use.
const MEMORY_PAGE: i64 = 64 << 10;
/// Calls of a slot that run at once however little memory there is: one alone would wait for every other one.
const LEAST_CONCURRENT: usize = 2;

/// Limits of one call, and of all calls of a slot together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All linear memories and tables of a call together, bytes.
    pub memory_bytes: usize,
    /// Elements of all tables of a call together.
    pub table_elements: usize,
    /// Time on the processor, milliseconds; an upper bound that contention can loosen.
    pub cpu_ms: u64,
    /// Wall time of a call, without the wait for a permit.
    pub deadline: Duration,
    /// Calls that run at once.
    pub max_concurrent: usize,
    /// Copies of calls that run at once on a candidate in shadow; further calls are not copied.
    pub shadow_calls: usize,
    /// Calls that wait for a permit.
    pub queue_length: usize,
    /// How long a call waits for a permit.
    pub queue_wait: Duration,
    /// Largest answer of a call, bytes.
    pub response_bytes: usize,
    /// Log text that a slot may write, bytes a second; the rest is counted and dropped.
    pub log_bytes_per_second: u32,
    /// Embedding calls of a slot that run at once; more wait.
    pub inference_calls: usize,
    /// Tokens that a slot may have embedded, a second; calls over it are refused.
    pub inference_tokens_per_second: u32,
}

impl Limits {
    /// Limits for answers that come from data at hand.
    pub const DEFAULT: Self = Self {
        // Room for a document and its parse tree; the pool reserves it for every concurrent call.
        memory_bytes: 64 << 20,
        // Indirect calls of large programs fit; a table bomb does not.
        table_elements: 20_000,
        // A second of pure computing is a long time, yet a busy machine needs slack.
        cpu_ms: 1000,
        // What people wait for at most.
        deadline: Duration::from_secs(30),
        // With 64 MiB each, at most 1 GiB.
        max_concurrent: 16,
        // A sample of the calls is enough to compare versions, and two cost little.
        shadow_calls: 2,
        // A burst is queued, an overload is not.
        queue_length: 256,
        // Longer than a hiccup, shorter than a client's patience.
        queue_wait: Duration::from_millis(500),
        // Ample for JSON; held in memory.
        response_bytes: 1 << 20,
        // Dozens of lines a second; floods are counted and dropped.
        log_bytes_per_second: 64 << 10,
        // HTTP clients of the same models are never crowded out by one slot's backlog.
        inference_calls: 8,
        // More than a large machine embeds: the quota matters only where a machine is shared.
        inference_tokens_per_second: 1_000_000,
    };

    /// Returns how many calls run at once by default where a host may use so many bytes of memory: no more than fit if each
    /// uses all that it may.
    pub fn concurrent_within(&self, memory: Option<u64>) -> usize {
        let Some(memory) = memory else { return self.max_concurrent };
        let fit = memory.checked_div(self.memory_bytes as u64).unwrap_or(u64::MAX);
        self.max_concurrent.min(usize::try_from(fit).unwrap_or(usize::MAX).max(LEAST_CONCURRENT))
    }

    pub(super) fn read(r: &mut Reader, default: &Self) -> Self {
        let memory_bytes = r
            .key(
                "memory_bytes",
                "All linear memories, tables and host resources (tensors, errors) of a call together",
            )
            .unit("bytes")
            .integer(MEMORY_PAGE..=4 << 30, default.memory_bytes);
        let max_concurrent = Self { memory_bytes, ..default.clone() }.concurrent_within(r.memory);
        Self {
            memory_bytes,
            table_elements: r
                .key("table_elements", "Elements of all tables of a call together")
                .integer(0..=10_000_000, default.table_elements),
            cpu_ms: r
                .key("cpu_ms", "Time on the processor; an upper bound that contention can loosen")
                .unit("milliseconds")
                .integer(1..=600_000, default.cpu_ms),
            deadline: r
                .key("deadline_ms", "Wall time of a call, without the wait for a permit")
                .millis(1..=600_000, default.deadline),
            max_concurrent: r
                .key("max_concurrent", "Calls that run at once; fewer if memory has no room for so many")
                .integer(1..=10_000, max_concurrent),
            shadow_calls: r
                .key("shadow_calls", "Copies of calls that run at once on a candidate in shadow")
                .integer(1..=10_000, default.shadow_calls),
            queue_length: r
                .key("queue_length", "Calls that wait for a permit")
                .integer(0..=1_000_000, default.queue_length),
            queue_wait: r
                .key("queue_wait_ms", "How long a call waits for a permit")
                .millis(0..=600_000, default.queue_wait),
            response_bytes: r
                .key("response_bytes", "Largest answer of a call")
                .unit("bytes")
                .integer(1 << 10..=1 << 30, default.response_bytes),
            log_bytes_per_second: r
                .key("log_bytes_per_second", "Log text; the rest is counted and dropped")
                .unit("bytes a second")
                .integer(0..=1 << 30, default.log_bytes_per_second),
            inference_calls: r
                .key("inference_calls", "Embedding calls of the slot's guests that run at once; more wait")
                .integer(1..=10_000, default.inference_calls),
            inference_tokens_per_second: r
                .key("inference_tokens_per_second", "Tokens that the slot's guests may have embedded")
                .unit("tokens a second")
                .integer(1..=1 << 30, default.inference_tokens_per_second),
        }
    }
}
