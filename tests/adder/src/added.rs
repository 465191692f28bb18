//! Slots that come and go while the host runs. Each adds like the first one, with routes below `/adders/NAME`.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use axum::{
    Router,
    extract::{Path, Query, State},
    http::StatusCode,
    routing::put,
};
use bulkhead_config::slots::{SlotId, SlotSettings, SlotSpec};
use bulkhead_runtime::slots::Slot;
use bulkhead_service::{ServedAt, ServiceContext};

use crate::{
    capability::Counter,
    http::{self, AdderState},
    metrics::AdderMetrics,
    world::Adder,
};

/// What slots are added with.
pub struct Adders {
    pub context: ServiceContext,
    /// The slot that the host starts with, whose component the others get.
    pub first: SlotSpec,
    pub metrics: Arc<AdderMetrics>,
    pub largest: u32,
}

/// Why a slot was neither added nor removed.
type Refusal = (StatusCode, String);

/// Returns the routes that add and remove slots. `?listen=ADDRESS` gives a slot's routes a listener of their own, `?top` puts
/// them where those of the first slot are.
pub fn router(adders: Adders) -> Router {
    Router::new().route("/adders/{name}", put(add).delete(remove)).with_state(Arc::new(adders))
}

async fn add(
    State(adders): State<Arc<Adders>>,
    Path(name): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Result<StatusCode, Refusal> {
    let listen = query.get("listen").map(String::as_str);
    let added = adders.add(&name, listen, query.contains_key("top")).await;
    added.map(|()| StatusCode::CREATED).map_err(refusal)
}

async fn remove(State(adders): State<Arc<Adders>>, Path(name): Path<String>) -> Result<StatusCode, Refusal> {
    adders.remove(&name).await.map(|()| StatusCode::NO_CONTENT).map_err(refusal)
}

fn refusal(error: anyhow::Error) -> Refusal {
    (StatusCode::CONFLICT, format!("{error:#}"))
}

impl Adders {
    async fn add(&self, name: &str, listen: Option<&str>, is_at_top: bool) -> anyhow::Result<()> {
        let (id, listen) = (SlotId::parse(name)?, listen.map(str::parse::<SocketAddr>).transpose()?);
        let component = self.context.slot(self.first.id)?.component.clone();
        let settings = SlotSettings::new(SlotSpec { id, ..self.first }, component);
        let counter = Arc::new(Counter::default());
        let own = Arc::clone(&counter);
        let slot: Arc<Slot<Adder>> =
            self.context.add_slot(settings, move |resources| resources.insert(own)).await?;
        let (metrics, largest) = (Arc::clone(&self.metrics), self.largest);
        let router = http::router(AdderState { slot, counter, metrics, largest });
        let router = match is_at_top {
            true => router,
            false => Router::new().nest(&format!("/adders/{name}"), router),
        };
        let at = listen.map_or(ServedAt::Service, |address| ServedAt::Address {
            address,
            setting: format!("adders.{name}.listen").into(),
        });
        let served = self.context.routes.set(self.first.service, name, vec![(at, router)]).await;
        if served.is_err() {
            self.context.remove_slot(id).await;
        }
        Ok(served?)
    }

    async fn remove(&self, name: &str) -> anyhow::Result<()> {
        // The name is a path's, which is not an id before a slot has it.
        let slot = self.context.deployments.get(name).map(|slot| slot.slot());
        let id = slot.with_context(|| format!("there is no slot {name}"))?;
        // Requests in flight are answered still: the slot is freed with the last of them.
        self.context.routes.remove(self.first.service, name).await?;
        anyhow::ensure!(self.context.remove_slot(id).await, "the slot {id} was not added");
        Ok(())
    }
}
