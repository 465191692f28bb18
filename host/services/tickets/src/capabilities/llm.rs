//! `bulkhead:host/llm`: the configured language model.

use std::sync::Arc;

use bulkhead_runtime::capabilities::{
    Access::Write,
    Capability, Interface,
    bindings::bulkhead::host::llm::{self, Completion, Error, Request},
};

use super::call::{TicketCall, TicketCallData};
use crate::llm::{self as client, LlmClient, LlmError, metrics::LlmMetrics};

/// `bulkhead:host/llm`, over the slot's [`LlmClient`] and [`LlmMetrics`].
#[derive(Clone, Copy, Debug)]
pub struct LlmCapability;

impl Capability for LlmCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[LLM]
    }
}

/// The function that completes. It is marked as a write: it spends the token budget, and sends a text to another service.
pub(crate) const LLM: Interface = Interface {
    name: "bulkhead:host/llm",
    version: "0.1.1",
    is_general: false,
    functions: &[("complete", Write)],
    add_to_linker: |instance| {
        llm::add_to_linker_instance::<_, TicketCallData>(instance, |guest| {
            TicketCall(&mut guest.capabilities)
        })
    },
};

impl From<Request> for client::CompletionRequest {
    fn from(request: Request) -> Self {
        let role = |role| match role {
            llm::Role::System => client::Role::System,
            llm::Role::User => client::Role::User,
            llm::Role::Assistant => client::Role::Assistant,
        };
        let messages = request.messages.into_iter();
        Self {
            messages: messages
                .map(|message| client::ChatMessage { role: role(message.role), content: message.content })
                .collect(),
            schema: request.schema.map(|schema| client::Schema { name: schema.name, json: schema.json }),
            max_tokens: request.max_tokens,
        }
    }
}

impl From<client::Completion> for Completion {
    fn from(completion: client::Completion) -> Self {
        let client::Completion { text, model, input_tokens, output_tokens } = completion;
        Self { text, model, input_tokens, output_tokens }
    }
}

impl From<LlmError> for Error {
    fn from(error: LlmError) -> Self {
        match error {
            LlmError::Denied(reason) => Self::Denied(reason),
            LlmError::OverBudget(reason) => Self::OverBudget(reason),
            LlmError::Unavailable(reason) => Self::Unavailable(reason),
            LlmError::InvalidAnswer(reason) => Self::InvalidAnswer(reason),
        }
    }
}

/// Returns the error for a shadow call whose request the live call has not made.
fn suppressed<T>() -> Result<T, Error> {
    let reason = "a version in shadow spends no tokens, and the live one did not ask this";
    Err(Error::Unavailable(reason.to_owned()))
}

impl llm::Host for TicketCall<'_> {
    async fn complete(&mut self, request: Request) -> wasmtime::Result<Result<Completion, Error>> {
        let (resources, deadline) = (Arc::clone(&self.0.resources), self.0.deadline);
        let key = self.0.shadow.key(format_args!("complete {request:?}"));
        let ask = async move {
            let (Some(llm), Some(metrics)) = (resources.get::<LlmClient>(), resources.get::<LlmMetrics>())
            else {
                return Err(Error::NotConfigured);
            };
            let metrics = metrics.slot(resources.slot);
            let completed = llm.complete(&request.into(), deadline, &metrics).await;
            completed.map(Into::into).map_err(Into::into)
        };
        Ok(self.0.shadow.replay_or_write(key, suppressed, ask).await)
    }
}
