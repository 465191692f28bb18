//! `[slots.*]`, a compartment each, and `[services.*]`, where each is served.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use super::{
    forms, grants, reader::Reader, registries::Reference, rollout::Rollout, signatures::Signatures,
    watch::Watch,
};

/// The slots there are; each service owns one, the answer service two halves of one API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SlotName {
    /// Classifies tickets.
    Triage,
    /// Answers tickets.
    Answer,
    /// Reports on the appointment system.
    Status,
    /// Issues and judges captcha challenges.
    Captcha,
}

impl SlotName {
    /// Every slot.
    pub const ALL: [Self; 4] = [Self::Triage, Self::Answer, Self::Status, Self::Captcha];

    /// The name in the configuration, in metrics and in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Triage => "triage",
            Self::Answer => "answer",
            Self::Status => "status",
            Self::Captcha => "captcha",
        }
    }
}

/// Where a slot's component comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// The one built into this binary.
    Embedded,
    /// A file.
    File(PathBuf),
    /// An OCI registry.
    Registry(Reference),
}

impl ComponentSource {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("must not be empty".to_owned()),
            name if Reference::is_one(name) => Reference::parse(name).map(Self::Registry),
            path => Ok(Self::File(path.into())),
        }
    }
}

/// What one call, and all calls of a slot together, may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All linear memories and tables of a call together, bytes.
    pub memory_bytes: usize,
    /// Elements of all tables of a call together.
    pub table_elements: usize,
    /// Time on the processor, milliseconds; an upper bound that contention can loosen.
    pub cpu_ms: u64,
    /// Wall time of a call, waiting for a place excluded.
    pub deadline: Duration,
    /// Calls that run at once.
    pub max_concurrent: usize,
    /// Copies of calls that run at once on a candidate in shadow; more are not made.
    pub shadow_calls: usize,
    /// Calls that wait for a place.
    pub queue_length: usize,
    /// How long a call waits for a place.
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
    /// For answers that come from data at hand.
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
        // Some of the calls tell as much as all of them, and two cost little.
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
        // More than a large machine embeds: a quota is for who shares one.
        inference_tokens_per_second: 1_000_000,
    };

    /// For the captcha component, whose calls are short and many.
    pub const CAPTCHA: Self = Self {
        // Parsing 16 KiB takes under a millisecond.
        cpu_ms: 200,
        // The proof-of-work queue is waited for within it.
        deadline: Duration::from_secs(5),
        // With 64 MiB each, at most 2 GiB.
        max_concurrent: 32,
        // Challenges are a few hundred bytes.
        response_bytes: 256 << 10,
        ..Self::DEFAULT
    };

    fn read(r: &mut Reader, default: &Self) -> Self {
        Self {
            memory_bytes: r
                .key(
                    "memory_bytes",
                    "All linear memories, tables and host resources (tensors, errors) of a call together",
                )
                .unit("bytes")
                .integer(MEMORY_PAGE..=4 << 30, default.memory_bytes),
            table_elements: r
                .key("table_elements", "Elements of all tables of a call together")
                .integer(0..=10_000_000, default.table_elements),
            cpu_ms: r
                .key("cpu_ms", "Time on the processor; an upper bound that contention can loosen")
                .unit("milliseconds")
                .integer(1..=600_000, default.cpu_ms),
            deadline: r
                .key("deadline_ms", "Wall time of a call, waiting for a place excluded")
                .millis(1..=600_000, default.deadline),
            max_concurrent: r
                .key("max_concurrent", "Calls that run at once")
                .integer(1..=10_000, default.max_concurrent),
            shadow_calls: r
                .key("shadow_calls", "Copies of calls that run at once on a candidate in shadow")
                .integer(1..=10_000, default.shadow_calls),
            queue_length: r
                .key("queue_length", "Calls that wait for a place")
                .integer(0..=1_000_000, default.queue_length),
            queue_wait: r
                .key("queue_wait_ms", "How long a call waits for a place")
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

/// WebAssembly's page, the least memory that a call can use.
const MEMORY_PAGE: i64 = 64 << 10;

/// `[slots.NAME]`.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Where the component comes from.
    pub component: ComponentSource,
    /// What a call may use.
    pub limits: Limits,
    /// Interfaces beyond the slot's defaults that its component may import, such as `wasi:io/poll`.
    pub grants: Vec<String>,
    /// Models and heads that its component may use, a model with `@` and the first characters of its weights' SHA-256
    /// where only these will do; absent: the default model and heads over it.
    pub models: Option<Vec<String>>,
    /// Keep an instance for further calls instead of a fresh one each: faster, but what a call leaves
    /// in memory is there for the next.
    pub reuse: bool,
    /// How new versions come to answer.
    pub rollout: Rollout,
    /// Whose components it takes.
    pub signatures: Signatures,
    /// Where new components are looked for.
    pub watch: Watch,
    /// What the component reads through `wasi:config/store`.
    pub config: BTreeMap<String, String>,
}

impl Slot {
    fn read(reader: &mut Reader, name: SlotName) -> Self {
        let (label, default) = match name {
            SlotName::Captcha => ("captcha", &Limits::CAPTCHA),
            _ => ("NAME", &Limits::DEFAULT),
        };
        reader.table_as(name.as_str(), label, |r| Self {
            component: r
                .key("component", "Component that answers: a file, or one of an allowed registry")
                .default_text("the one built in")
                .optional("path or oci:// reference", ComponentSource::parse)
                .unwrap_or(ComponentSource::Embedded),
            limits: Limits::read(r, default),
            grants: r
                .key("grants", "Interfaces beyond the slot's own that its component may import")
                .list("interfaces such as wasi:io/poll", grants::parse)
                .unwrap_or_default(),
            models: r
                .key("models", "Models and heads that its component may use; MODEL@SHA256 pins the weights")
                .default_text("the default model, and heads over it")
                .list("model ids or aliases", |text| Ok(text.to_owned())),
            reuse: r
                .key("reuse", "Keep instances: faster, but what a call leaves behind the next sees")
                .flag(false),
            rollout: Rollout::read(r),
            signatures: Signatures::read(r),
            watch: Watch::read(r),
            config: r.strings("config", "What the component reads through `wasi:config/store`"),
        })
    }
}

/// `[slots]`.
#[derive(Clone, Debug)]
pub struct Slots {
    /// `[slots.triage]`.
    pub triage: Slot,
    /// `[slots.answer]`.
    pub answer: Slot,
    /// `[slots.status]`.
    pub status: Slot,
    /// `[slots.captcha]`.
    pub captcha: Slot,
}

impl Slots {
    pub(super) fn read(reader: &mut Reader) -> Self {
        reader.table("slots", |r| Self {
            triage: Slot::read(r, SlotName::Triage),
            answer: Slot::read(r, SlotName::Answer),
            status: Slot::read(r, SlotName::Status),
            captcha: Slot::read(r, SlotName::Captcha),
        })
    }

    /// The settings of one slot.
    pub const fn get(&self, name: SlotName) -> &Slot {
        match name {
            SlotName::Triage => &self.triage,
            SlotName::Answer => &self.answer,
            SlotName::Status => &self.status,
            SlotName::Captcha => &self.captcha,
        }
    }
}

/// `[services.NAME]`: whether and where a service is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Off costs nothing at start.
    pub enabled: bool,
    /// A listener of its own instead of the shared one.
    pub listen: Option<SocketAddr>,
    /// Put before every path of the service; empty or `/something` without a slash at the end.
    pub path_prefix: String,
}

/// `[services]`. The ticket service is triage and answer together.
#[derive(Clone, Debug)]
pub struct Services {
    /// Embedding.
    pub embedding: Service,
    /// Ticket triage and answers.
    pub tickets: Service,
    /// Appointment status.
    pub status: Service,
    /// Captcha.
    pub captcha: Service,
}

impl Service {
    fn read(reader: &mut Reader, name: &str, label: &str, enabled: bool) -> Self {
        reader.table_as(name, label, |r| Self {
            enabled: r.key("enabled", "Off costs nothing at start").flag(enabled),
            listen: r
                .key("listen", "A listener of its own instead of the shared one")
                .optional("address", forms::address),
            path_prefix: r.key("path_prefix", "Put before every path of the service").parsed(
                "path",
                String::new(),
                forms::path_prefix,
            ),
        })
    }
}

impl Services {
    /// Services that have no component yet are off, so that they are not unready.
    pub(super) fn read(reader: &mut Reader) -> Self {
        reader.table("services", |r| Self {
            embedding: Service::read(r, "embedding", "embedding", true),
            tickets: Service::read(r, "tickets", "tickets", true),
            status: Service::read(r, "status", "status", true),
            captcha: Service::read(r, "captcha", "captcha", true),
        })
    }

    /// Whether the service that owns `slot` is on.
    pub fn uses(&self, slot: SlotName) -> bool {
        match slot {
            SlotName::Triage | SlotName::Answer => self.tickets.enabled,
            SlotName::Status => self.status.enabled,
            SlotName::Captcha => self.captcha.enabled,
        }
    }

    /// Each service with its name in the configuration.
    pub fn each(&self) -> [(&'static str, &Service); 4] {
        [
            ("embedding", &self.embedding),
            ("tickets", &self.tickets),
            ("status", &self.status),
            ("captcha", &self.captcha),
        ]
    }
}
