//! Builds the ticket service from its configuration.

use std::sync::Arc;

use axum::Router;

use super::{Parts, component, knowledge};
use crate::{
    capabilities::SlotResources,
    compile::ComponentDigest,
    config::{
        Config,
        slots::{Slot as SlotSettings, SlotId},
        tables::MissingTable,
    },
    deploy::{LiveKeys, Reloader},
    guard::{Guard, metrics::GuardMetrics},
    keys::{ApiKeys, token_hash},
    knowledge::Knowledge,
    llm::{Llm, metrics::LlmMetrics},
    services::{
        answer::AnswerService,
        list::{ANSWER, TRIAGE, name},
        tickets::{
            config::Tickets,
            http::{self, TicketState},
        },
        triage::{Rules, TriageService},
    },
    telemetry::Metrics,
};

/// What `--demo` sorts tickets by.
const DEMO: &str = include_str!("demo/tickets.toml");

/// The language model and the guard, where they are configured. All slots share one of each, and its limits.
#[derive(Debug)]
pub(super) struct Advisers {
    llm: Option<Arc<Llm>>,
    guard: Option<Arc<Guard>>,
    llm_metrics: Arc<LlmMetrics>,
    guard_metrics: Arc<GuardMetrics>,
}

impl Advisers {
    pub(super) fn new(settings: &Tickets, metrics: &Metrics) -> anyhow::Result<Self> {
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
pub(super) fn add_demo_contacts(config: &mut Config) -> Result<(), MissingTable> {
    config.edit_table::<Tickets>(|tickets| {
        tickets.answer.office_contacts.extend(DEMO_CONTACTS.map(str::to_owned));
    })
}

/// What tickets are decided by: the configured file, or the demonstration's.
pub(super) fn rules(config: &Config) -> anyhow::Result<Option<Rules>> {
    Ok(match &config.table::<Tickets>()?.triage {
        _ if !config.services.get(name::TICKETS).enabled => None,
        Some(file) => Some(Rules::read(file)?),
        None if config.demo => Some(Rules::parse(DEMO)?),
        None => None,
    })
}

/// The service's routes, with the components in their slots.
pub(super) async fn build(parts: &Parts<'_>, reloader: &Reloader) -> anyhow::Result<Router> {
    let settings: &Tickets = parts.config.table()?;
    let rules = parts.rules.as_ref();
    let triage = triage(parts, rules)?;
    let answer = answer(parts, rules, Some(knowledge::open(parts).await?))?;
    component::fill(parts, triage.slot()).await;
    component::fill(parts, answer.slot()).await;
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
        &parts.config.server,
        &parts.config.services.get(name::TICKETS).path_prefix,
        parts.metrics.set()?,
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
    reloader.subscribe(LiveKeys::always(&["tickets.api_key"]), Box::new(follow)).await;
    Ok(http::router(Arc::new(state)))
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
fn slot<'a>(parts: &Parts<'a>, id: SlotId) -> anyhow::Result<(&'a SlotSettings, SlotResources)> {
    let slot = parts.slot(id)?;
    let mut resources = parts.resources(slot);
    parts.advisers.lend(&mut resources);
    Ok((slot, resources))
}

fn triage(parts: &Parts<'_>, rules: Option<&Rules>) -> anyhow::Result<TriageService> {
    let (slot, resources) = slot(parts, TRIAGE)?;
    let (inference, tickets) = (parts.inference.as_deref(), parts.config.table()?);
    Ok(TriageService::new(slot, parts.context.clone(), resources, rules, inference, tickets))
}

fn answer(
    parts: &Parts<'_>,
    rules: Option<&Rules>,
    knowledge: Option<Arc<Knowledge>>,
) -> anyhow::Result<AnswerService> {
    let (slot, mut resources) = slot(parts, ANSWER)?;
    if let Some(knowledge) = knowledge {
        resources.insert(knowledge);
    }
    Ok(AnswerService::new(slot, parts.context.clone(), resources, rules, parts.config.table()?)?)
}

/// Checks a component without serving or writing anything.
pub(super) async fn check_triage(parts: &Parts<'_>, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    Ok(component::try_out(triage(parts, None)?.slot(), wasm, "check").await?.digest)
}

/// Checks a component without serving or writing anything.
pub(super) async fn check_answer(parts: &Parts<'_>, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    Ok(component::try_out(answer(parts, None, None)?.slot(), wasm, "check").await?.digest)
}
