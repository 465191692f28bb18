//! `bulkhead:host/guard`: the guardrail service that the host's configuration names.

use std::sync::Arc;

use wasmtime::component::HasSelf;

use super::{
    Access::Read,
    Capabilities, Interface,
    bindings::bulkhead::host::guard::{self, Error, Verdict},
};

/// Judging tickets and answers.
pub const GUARD: Interface = Interface {
    name: "bulkhead:host/guard",
    version: "0.1.0",
    is_general: false,
    functions: &[("check-prompt", Read), ("check-response", Read)],
    add_to_linker: |linker| {
        guard::add_to_linker::<_, HasSelf<Capabilities>>(linker, |guest| &mut guest.capabilities)
    },
};

impl Capabilities {
    /// Borrows nothing of the guest's state while it waits.
    fn judged(
        &self,
        text: String,
        response: Option<String>,
    ) -> impl Future<Output = Result<Verdict, Error>> + Send + use<> {
        let (backing, mirror, deadline) = (Arc::clone(&self.backing), self.mirror.clone(), self.deadline);
        let question = mirror.question(format_args!("check {text:?} {response:?}"));
        let ask = async move {
            let Some(guard) = &backing.guard else { return Err(Error::NotConfigured) };
            let metrics = backing.metrics.slot_guard(backing.slot);
            let judged = guard.check(&text, response.as_deref(), deadline, &metrics).await;
            judged
                .map(|judgement| Verdict { safe: judgement.safe, labels: judgement.labels })
                .map_err(Error::Unavailable)
        };
        async move { mirror.read(question, ask).await }
    }
}

impl guard::Host for Capabilities {
    async fn check_prompt(&mut self, text: String) -> wasmtime::Result<Result<Verdict, Error>> {
        Ok(self.judged(text, None).await)
    }

    async fn check_response(
        &mut self,
        text: String,
        response: String,
    ) -> wasmtime::Result<Result<Verdict, Error>> {
        Ok(self.judged(text, Some(response)).await)
    }
}
