//! The ticket service as a host starts it, from its configuration.

use std::sync::Arc;

use bulkhead_config::{
    Config, ServiceSpec,
    slots::{Slot as SlotSettings, SlotId},
    tables::{MissingTable, TableSpec},
};
use bulkhead_models::{Additions, Inference};
use bulkhead_rollout::LiveKeys;
use bulkhead_runtime::capabilities::{CapabilitySet, SlotResources};
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::keys::{ApiKeys, token_hash};
use bulkhead_service::{Context, MetricRegistrar, PageEntry, Service, Started, Step, not_owned, try_out};
use bulkhead_telemetry::Metrics;

use super::{heads, knowledge};
use crate::{
    answer::AnswerService,
    capabilities::{guard::GuardCapability, llm::LlmCapability, search::SearchCapability},
    config::Tickets,
    guard::{Guard, metrics::GuardMetrics},
    http::{self, TicketState},
    knowledge::Knowledge,
    llm::{Llm, metrics::LlmMetrics},
    metrics::TicketMetrics,
    spec::{ANSWER, NAME, SPEC, TRIAGE},
    triage::{Rules, TriageService},
};

/// What `--demo` sorts tickets by.
const DEMO: &str = include_str!("demo/tickets.toml");

const METRICS: &[MetricRegistrar] = &[
    MetricRegistrar::of::<LlmMetrics>(),
    MetricRegistrar::of::<GuardMetrics>(),
    MetricRegistrar::of::<TicketMetrics>(),
];

/// The ticket service in the list of services.
#[derive(Clone, Copy, Debug)]
pub struct TicketsPlugin;

impl Service for TicketsPlugin {
    fn spec(&self) -> ServiceSpec {
        SPEC
    }

    fn metrics(&self) -> &'static [MetricRegistrar] {
        METRICS
    }

    fn tables(&self) -> &'static [TableSpec] {
        const { &[TableSpec::of::<Tickets>()] }
    }

    fn add_capabilities(&self, capabilities: CapabilitySet) -> CapabilitySet {
        capabilities.with(SearchCapability).with(LlmCapability).with(GuardCapability)
    }

    fn add_demo(&self, config: &mut Config) -> Result<(), MissingTable> {
        add_demo_contacts(config)
    }

    fn page_entry(&self, _config: &Config) -> PageEntry {
        PageEntry { docs: Some("api/docs"), ..PageEntry::default() }
    }

    fn prepare(&self, context: &Context) -> anyhow::Result<()> {
        let config = &context.config;
        if let Some(rules) = rules(config)?.map(Arc::new) {
            context.extensions.insert(Arc::clone(&rules));
            let (additions, config) = (context.extensions.get_or_default::<Additions>(), config.clone());
            additions.push(move |inference| heads::teach(&config, &rules, inference).map_err(Into::into));
        }
        context.extensions.insert(Arc::new(Advisers::new(config.table()?, &context.metrics)?));
        Ok(())
    }

    fn start<'a>(&'a self, context: &'a Context) -> Step<'a, Started> {
        Box::pin(build(context))
    }

    fn check<'a>(&'a self, context: &'a Context, slot: SlotId, wasm: Arc<[u8]>) -> Step<'a, ComponentDigest> {
        Box::pin(async move {
            match slot {
                TRIAGE => check_triage(context, wasm).await,
                ANSWER => check_answer(context, wasm).await,
                other => Err(not_owned(other)),
            }
        })
    }
}

/// The language model and the guard, where they are configured. All slots share one of each, and its limits.
#[derive(Debug)]
struct Advisers {
    llm: Option<Arc<Llm>>,
    guard: Option<Arc<Guard>>,
    llm_metrics: Arc<LlmMetrics>,
    guard_metrics: Arc<GuardMetrics>,
}

impl Advisers {
    fn new(settings: &Tickets, metrics: &Metrics) -> anyhow::Result<Self> {
        let llm = settings.llm.as_ref().map(Llm::new).transpose();
        let guard = settings.guard.as_ref().map(Guard::new).transpose();
        let mend = |table: &str, reason: String| anyhow::anyhow!("{reason}; mend {table}");
        Ok(Self {
            llm: llm.map_err(|reason| mend("tickets.llm", reason))?.map(Arc::new),
            guard: guard.map_err(|reason| mend("tickets.guard", reason))?.map(Arc::new),
            llm_metrics: metrics.set()?,
            guard_metrics: metrics.set()?,
        })
    }

    /// Lets a slot's guests ask them. Their figures are there, at zero, before the first question.
    fn lend(&self, resources: &mut SlotResources) {
        if let Some(llm) = &self.llm {
            resources.insert(Arc::clone(llm));
            resources.insert(Arc::new(self.llm_metrics.slot(resources.slot)));
        }
        if let Some(guard) = &self.guard {
            resources.insert(Arc::clone(guard));
            resources.insert(Arc::new(self.guard_metrics.slot(resources.slot)));
        }
    }
}

/// The demonstration's office, whose contacts are nobody's personal data.
const DEMO_CONTACTS: [&str; 3] = ["@beispielstadt.example", "01999 115", "01999 700"];

/// Lets answers name the demonstration's office.
fn add_demo_contacts(config: &mut Config) -> Result<(), MissingTable> {
    config.edit_table::<Tickets>(|tickets| {
        tickets.answer.office_contacts.extend(DEMO_CONTACTS.map(str::to_owned));
    })
}

/// What tickets are decided by: the configured file, or the demonstration's.
fn rules(config: &Config) -> anyhow::Result<Option<Rules>> {
    Ok(match &config.table::<Tickets>()?.triage {
        _ if !config.services.get(NAME).enabled => None,
        Some(file) => Some(Rules::read(file)?),
        None if config.demo => Some(Rules::parse(DEMO)?),
        None => None,
    })
}

/// The service's routes, with the components in their slots.
async fn build(context: &Context) -> anyhow::Result<Started> {
    let settings: &Tickets = context.config.table()?;
    let rules = context.extensions.get::<Rules>();
    let rules = rules.as_deref();
    let triage = triage(context, rules)?;
    let answer = answer(context, rules, Some(knowledge::open::open(context).await?))?;
    context.fill(triage.slot()).await;
    context.fill(answer.slot()).await;
    if let Err(reason) = triage.classifies() {
        tracing::warn!(reason, "tickets are not classified");
    }
    for category in rules.into_iter().flat_map(|rules| triage.unlearnt(rules)) {
        tracing::warn!(
            category,
            "the classifier has not learnt this category and never chooses it: give it examples or a description, or \
             train with tickets of it"
        );
    }
    let state = TicketState::new(
        triage,
        answer,
        settings,
        &context.config.server,
        &context.config.services.get(NAME).path_prefix,
        context.metrics.set()?,
    );
    if state.keys.is_empty() {
        warn_of_open();
    }
    let access = if state.keys.is_empty() { "open to everybody" } else { "guarded by a key" };
    tracing::info!(service = http::SERVICE, access, "service on");
    state.metrics.ready();
    let keys = state.keys.clone();
    let follow = move |config: &Config| {
        if let Ok(tickets) = config.table() {
            replace_key(&keys, tickets);
        }
    };
    context.reloader.subscribe(LiveKeys::always(&["tickets.api_key"]), Box::new(follow)).await;
    Ok(Started::with_router(http::router(Arc::new(state))))
}

fn warn_of_open() {
    tracing::warn!(
        "no key guards the ticket service, so whoever reaches it may call it; set tickets.api_key"
    );
}

/// Accepts the configured key in place of the one before.
fn replace_key(keys: &ApiKeys, settings: &Tickets) {
    let was_guarded = !keys.is_empty();
    keys.replace(settings.api_key.iter().map(|key| token_hash(key.expose())));
    if was_guarded && keys.is_empty() {
        warn_of_open();
    }
}

/// The settings of a slot, and its resources with the language model and the guard.
fn slot(context: &Context, id: SlotId) -> anyhow::Result<(&SlotSettings, SlotResources)> {
    let slot = context.slot(id)?;
    let mut resources = context.resources(slot)?;
    if let Some(advisers) = context.extensions.get::<Advisers>() {
        advisers.lend(&mut resources);
    }
    Ok((slot, resources))
}

fn triage(context: &Context, rules: Option<&Rules>) -> anyhow::Result<TriageService> {
    let (slot, resources) = slot(context, TRIAGE)?;
    let (inference, tickets) = (context.extensions.get::<Inference>(), context.config.table()?);
    let inference = inference.as_deref();
    Ok(TriageService::new(slot, context.slot_context.clone(), resources, rules, inference, tickets))
}

fn answer(
    context: &Context,
    rules: Option<&Rules>,
    knowledge: Option<Arc<Knowledge>>,
) -> anyhow::Result<AnswerService> {
    let (slot, mut resources) = slot(context, ANSWER)?;
    if let Some(knowledge) = knowledge {
        resources.insert(knowledge);
    }
    Ok(AnswerService::new(slot, context.slot_context.clone(), resources, rules, context.config.table()?)?)
}

/// Checks a component without serving or writing anything.
async fn check_triage(context: &Context, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    Ok(try_out(triage(context, None)?.slot(), wasm, "check").await?.digest)
}

/// Checks a component without serving or writing anything.
async fn check_answer(context: &Context, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    Ok(try_out(answer(context, None, None)?.slot(), wasm, "check").await?.digest)
}
