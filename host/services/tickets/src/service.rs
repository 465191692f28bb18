//! The ticket service as a host starts it, from its configuration.

mod classifiers;
mod knowledge_base;

use std::sync::Arc;

use bulkhead_config::{
    Config, ServiceSpec,
    slots::{SlotId, SlotSettings},
    tables::{MissingTable, TableSpec},
};
use bulkhead_models::{Inference, LoadHooks};
use bulkhead_rollout::LiveKeys;
use bulkhead_runtime::api_keys::{ApiKeys, token_hash};
use bulkhead_runtime::capabilities::{CapabilitySet, SlotResources};
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::{AuthorFiles, SlotWorld};
use bulkhead_service::{
    CommandSpec, MetricRegistrar, PageEntry, PageForm, PageGuide, Service, ServiceContext, ServiceFuture,
    Started, check_component, not_owned,
};
use bulkhead_telemetry::Metrics;

use crate::{
    answer::{AnswerService, AnswerWorld},
    author_files::AUTHOR_FILES,
    capabilities::{
        guard::{GUARD, GuardCapability},
        llm::{LLM, LlmCapability},
        search::SearchCapability,
    },
    command::COMMANDS,
    config::TicketSettings,
    guard::{GuardrailClient, metrics::GuardMetrics},
    http::{self, TicketState},
    knowledge::Knowledge,
    llm::{LlmClient, metrics::LlmMetrics},
    metrics::TicketMetrics,
    spec::{ANSWER, NAME, SPEC, TRIAGE},
    triage::{Rules, TriageService, TriageWorld},
};

/// The triage configuration of `--demo`.
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
        const { &[TableSpec::of::<TicketSettings>()] }
    }

    fn commands(&self) -> &'static [CommandSpec] {
        COMMANDS
    }

    fn worlds(&self) -> &'static [SlotWorld] {
        const { &[SlotWorld::of::<TriageWorld>(TRIAGE), SlotWorld::of::<AnswerWorld>(ANSWER)] }
    }

    fn author_files(&self) -> AuthorFiles {
        AUTHOR_FILES
    }

    fn add_capabilities(&self, capabilities: CapabilitySet) -> CapabilitySet {
        capabilities.with(SearchCapability).with(LlmCapability).with(GuardCapability)
    }

    fn add_demo(&self, config: &mut Config) -> Result<(), MissingTable> {
        add_demo_contacts(config)
    }

    fn page_entry(&self, _config: &Config) -> PageEntry {
        PageEntry {
            docs: Some("api/docs"),
            about: "Tickets sorted and answered",
            form: Some(PageForm {
                html: include_str!("page/form.html"),
                script: include_str!("page/form.js"),
            }),
            guide: Some(PageGuide { title: "Tickets", text: include_str!("../README.md") }),
            ..PageEntry::default()
        }
    }

    fn prepare(&self, context: &ServiceContext) -> anyhow::Result<()> {
        let config = &context.config;
        if let Some(rules) = rules(config)?.map(Arc::new) {
            context.extensions.insert(Arc::clone(&rules));
            let (load_hooks, config) = (context.extensions.get_or_default::<LoadHooks>(), config.clone());
            load_hooks.push(move |inference| {
                classifiers::add_classifier(&config, &rules, inference).map_err(Into::into)
            });
        }
        context.extensions.insert(Arc::new(TicketClients::new(config.table()?, &context.metrics)?));
        Ok(())
    }

    fn provide(
        &self,
        context: &ServiceContext,
        settings: &SlotSettings,
        resources: &mut SlotResources,
    ) -> anyhow::Result<()> {
        if let Some(clients) = context.extensions.get::<TicketClients>() {
            clients.attach(&context.slot_context.capabilities, settings, resources);
        }
        Ok(())
    }

    fn start<'a>(&'a self, context: &'a ServiceContext) -> ServiceFuture<'a, Started> {
        Box::pin(build(context))
    }

    fn check<'a>(
        &'a self,
        context: &'a ServiceContext,
        slot: SlotId,
        wasm: Arc<[u8]>,
    ) -> ServiceFuture<'a, ComponentDigest> {
        Box::pin(async move {
            match slot {
                TRIAGE => check_triage(context, wasm).await,
                ANSWER => check_answer(context, wasm).await,
                other => Err(not_owned(other)),
            }
        })
    }
}

/// The clients of the language model and the guard, where they are configured. The slots of all services share one of each and
/// its limits.
#[derive(Debug)]
struct TicketClients {
    llm: Option<Arc<LlmClient>>,
    guard: Option<Arc<GuardrailClient>>,
    llm_metrics: Arc<LlmMetrics>,
    guard_metrics: Arc<GuardMetrics>,
}

impl TicketClients {
    /// Creates the configured clients.
    fn new(settings: &TicketSettings, metrics: &Metrics) -> anyhow::Result<Self> {
        let llm = settings.llm.as_ref().map(LlmClient::new).transpose();
        let guard = settings.guard.as_ref().map(GuardrailClient::new).transpose();
        let with_table = |table: &str, reason: String| anyhow::anyhow!("{reason}; fix {table}");
        Ok(Self {
            llm: llm.map_err(|reason| with_table("tickets.llm", reason))?.map(Arc::new),
            guard: guard.map_err(|reason| with_table("tickets.guard", reason))?.map(Arc::new),
            llm_metrics: metrics.set()?,
            guard_metrics: metrics.set()?,
        })
    }

    /// Attaches the clients and their metrics to the resources of a slot of any service, which a reload may grant them later.
    /// The metrics of a slot that is granted them already begin at zero.
    fn attach(&self, set: &CapabilitySet, settings: &SlotSettings, resources: &mut SlotResources) {
        let is_granted = |interface| set.is_granted(interface, &settings.spec, &settings.grants);
        if let Some(llm) = &self.llm {
            resources.insert(Arc::clone(llm));
            resources.insert(Arc::clone(&self.llm_metrics));
            if is_granted(&LLM) {
                self.llm_metrics.slot(settings.id());
            }
        }
        if let Some(guard) = &self.guard {
            resources.insert(Arc::clone(guard));
            resources.insert(Arc::clone(&self.guard_metrics));
            if is_granted(&GUARD) {
                self.guard_metrics.slot(settings.id());
            }
        }
    }
}

/// Contacts of the office of `--demo`, which are not personal data.
const DEMO_CONTACTS: [&str; 3] = ["@beispielstadt.example", "01999 115", "01999 700"];

/// Allows answers to name the office of `--demo`.
fn add_demo_contacts(config: &mut Config) -> Result<(), MissingTable> {
    config.edit_table::<TicketSettings>(|tickets| {
        tickets.answer.office_contacts.extend(DEMO_CONTACTS.map(str::to_owned));
    })
}

/// Returns the triage configuration: the configured file, or that of `--demo`.
fn rules(config: &Config) -> anyhow::Result<Option<Rules>> {
    Ok(match &config.table::<TicketSettings>()?.triage {
        _ if !config.services.get(NAME).enabled => None,
        Some(file) => Some(Rules::read(file)?),
        None if config.demo => Some(Rules::parse(DEMO)?),
        None => None,
    })
}

/// Starts the service with its components and returns its routes.
async fn build(context: &ServiceContext) -> anyhow::Result<Started> {
    let settings: &TicketSettings = context.config.table()?;
    let rules = context.extensions.get::<Rules>();
    let rules = rules.as_deref();
    let triage = triage(context, rules)?;
    let answer = answer(context, rules, Some(knowledge_base::open(context).await?))?;
    context.deploy(triage.slot()).await;
    context.deploy(answer.slot()).await;
    if let Err(reason) = triage.check_classifier() {
        tracing::warn!(reason, "tickets are not classified");
    }
    for category in rules.into_iter().flat_map(|rules| triage.unlearnt_categories(rules)) {
        tracing::warn!(
            category,
            "the classifier has not learnt this category and never chooses it: give it examples or a description, or \
             train with tickets of it"
        );
    }
    note_thresholds(rules, settings.answer.publish_percent);
    let state = TicketState::new(
        triage,
        answer,
        settings,
        &context.config.server,
        &context.config.services.get(NAME).path_prefix,
        context.metrics.set()?,
    );
    if state.keys.is_empty() {
        warn_of_open_access();
    }
    let access = if state.keys.is_empty() { "open to everybody" } else { "guarded by a key" };
    tracing::info!(service = http::SERVICE, access, "the service runs");
    state.metrics.ready();
    let keys = state.keys.clone();
    let reload = move |config: &Config| {
        if let Ok(tickets) = config.table() {
            replace_key(&keys, tickets);
        }
    };
    context.reloader.subscribe(LiveKeys::always(&["tickets.api_key"]), Box::new(reload)).await;
    Ok(Started::with_router(http::router(Arc::new(state))))
}

/// Logs the categories whose threshold is above what publishing needs: it raised that in older versions.
fn note_thresholds(rules: Option<&Rules>, publish_percent: u8) {
    let categories = rules.into_iter().flat_map(|rules| &rules.configuration().categories);
    let needed = f32::from(publish_percent) / 100.0;
    for category in categories.filter(|one| one.auto_publish && one.threshold > needed) {
        tracing::info!(
            category = category.name.as_str(),
            "the threshold of this category is the classifier's alone; tickets.answer.publish_percent is what a published \
             answer needs"
        );
    }
}

/// Warns that every client may call the service.
fn warn_of_open_access() {
    tracing::warn!("no key guards the ticket service, so every client may call it; set tickets.api_key");
}

/// Accepts the configured key in place of the previous one.
fn replace_key(keys: &ApiKeys, settings: &TicketSettings) {
    let was_guarded = !keys.is_empty();
    keys.replace(settings.api_key.iter().map(|key| token_hash(key.expose())));
    if was_guarded && keys.is_empty() {
        warn_of_open_access();
    }
}

/// Returns the settings and the resources of a slot.
fn slot(context: &ServiceContext, id: SlotId) -> anyhow::Result<(&SlotSettings, SlotResources)> {
    let slot = context.slot(id)?;
    Ok((slot, context.resources(slot)?))
}

/// Creates the triage service with an empty slot.
fn triage(context: &ServiceContext, rules: Option<&Rules>) -> anyhow::Result<TriageService> {
    let (slot, resources) = slot(context, TRIAGE)?;
    let (inference, tickets) = (context.extensions.get::<Inference>(), context.config.table()?);
    let inference = inference.as_deref();
    Ok(TriageService::new(slot, context.slot_context.clone(), resources, rules, inference, tickets))
}

/// Creates the answer service with an empty slot.
fn answer(
    context: &ServiceContext,
    rules: Option<&Rules>,
    knowledge: Option<Arc<Knowledge>>,
) -> anyhow::Result<AnswerService> {
    let (slot, mut resources) = slot(context, ANSWER)?;
    if let Some(knowledge) = knowledge {
        resources.insert(knowledge);
    }
    Ok(AnswerService::new(slot, context.slot_context.clone(), resources, rules, context.config.table()?)?)
}

/// Checks a triage component without serving or writing anything.
async fn check_triage(context: &ServiceContext, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    Ok(check_component(triage(context, None)?.slot(), wasm, "check").await?.digest)
}

/// Checks an answer component without serving or writing anything.
async fn check_answer(context: &ServiceContext, wasm: Arc<[u8]>) -> anyhow::Result<ComponentDigest> {
    Ok(check_component(answer(context, None, None)?.slot(), wasm, "check").await?.digest)
}
