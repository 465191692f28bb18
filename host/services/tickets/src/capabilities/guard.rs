//! `bulkhead:host/guard`: the guardrail service that the host's configuration names.

use std::sync::Arc;

use bulkhead_runtime::capabilities::{
    Access::Read,
    Capabilities, Capability, Interface,
    bindings::bulkhead::host::guard::{self, Error, Verdict},
};

use super::call::{Call, CallData};
use crate::guard::{Guard, metrics::SlotGuard};

/// `bulkhead:host/guard`, over the slot's [`Guard`] and [`SlotGuard`].
#[derive(Clone, Copy, Debug)]
pub struct GuardCapability;

impl Capability for GuardCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[GUARD]
    }
}

/// Judging tickets and answers.
const GUARD: Interface = Interface {
    name: "bulkhead:host/guard",
    version: "0.1.0",
    is_general: false,
    functions: &[("check-prompt", Read), ("check-response", Read)],
    add_to_linker: |instance| {
        guard::add_to_linker_instance::<_, CallData>(instance, |guest| Call(&mut guest.capabilities))
    },
};

/// Borrows nothing of the guest's state while it waits.
fn judged(
    capabilities: &Capabilities,
    text: String,
    response: Option<String>,
) -> impl Future<Output = Result<Verdict, Error>> + Send + use<> {
    let (shadow, deadline) = (capabilities.shadow.clone(), capabilities.deadline);
    let resources = Arc::clone(&capabilities.resources);
    let key = shadow.key(format_args!("check {text:?} {response:?}"));
    let ask = async move {
        let (Some(guard), Some(metrics)) = (resources.get::<Guard>(), resources.get::<SlotGuard>()) else {
            return Err(Error::NotConfigured);
        };
        let judged = guard.check(&text, response.as_deref(), deadline, metrics).await;
        judged
            .map(|judgement| Verdict { safe: judgement.safe, labels: judgement.labels })
            .map_err(Error::Unavailable)
    };
    async move { shadow.replay_or_read(key, ask).await }
}

impl guard::Host for Call<'_> {
    async fn check_prompt(&mut self, text: String) -> wasmtime::Result<Result<Verdict, Error>> {
        Ok(judged(self.0, text, None).await)
    }

    async fn check_response(
        &mut self,
        text: String,
        response: String,
    ) -> wasmtime::Result<Result<Verdict, Error>> {
        Ok(judged(self.0, text, Some(response)).await)
    }
}
