//! `bulkhead:host/guard`: the configured guardrail service.

use std::sync::Arc;

use bulkhead_runtime::capabilities::{
    Access::Read,
    Capabilities, Capability, Interface,
    bindings::bulkhead::host::guard::{self, Error, Verdict},
};

use super::call::{TicketCall, TicketCallData};
use crate::guard::{GuardrailClient, metrics::GuardMetrics};

/// `bulkhead:host/guard`, over the slot's [`GuardrailClient`] and [`GuardMetrics`].
#[derive(Clone, Copy, Debug)]
pub struct GuardCapability;

impl Capability for GuardCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[GUARD]
    }
}

/// The functions that judge tickets and answers.
pub(crate) const GUARD: Interface = Interface {
    name: "bulkhead:host/guard",
    version: "0.1.1",
    is_general: false,
    functions: &[("check-prompt", Read), ("check-response", Read)],
    add_to_linker: |instance| {
        guard::add_to_linker_instance::<_, TicketCallData>(instance, |guest| {
            TicketCall(&mut guest.capabilities)
        })
    },
};

/// Judges a text, or replays the recorded verdict. The future borrows nothing of the guest's state.
fn judge(
    capabilities: &Capabilities,
    text: String,
    response: Option<String>,
) -> impl Future<Output = Result<Verdict, Error>> + Send + use<> {
    let (shadow, deadline) = (capabilities.shadow.clone(), capabilities.deadline);
    let resources = Arc::clone(&capabilities.resources);
    let key = shadow.key(format_args!("check {text:?} {response:?}"));
    let ask = async move {
        let (Some(guard), Some(metrics)) =
            (resources.get::<GuardrailClient>(), resources.get::<GuardMetrics>())
        else {
            return Err(Error::NotConfigured);
        };
        let metrics = metrics.slot(resources.slot);
        let judged = guard.check(&text, response.as_deref(), deadline, &metrics).await;
        judged
            .map(|verdict| Verdict { safe: verdict.safe, labels: verdict.labels })
            .map_err(Error::Unavailable)
    };
    async move { shadow.replay_or_read(key, ask).await }
}

impl guard::Host for TicketCall<'_> {
    async fn check_prompt(&mut self, text: String) -> wasmtime::Result<Result<Verdict, Error>> {
        Ok(judge(self.0, text, None).await)
    }

    async fn check_response(
        &mut self,
        text: String,
        response: String,
    ) -> wasmtime::Result<Result<Verdict, Error>> {
        Ok(judge(self.0, text, Some(response)).await)
    }
}
