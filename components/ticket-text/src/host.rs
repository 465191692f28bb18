//! The host's language model and guard, for all components that read tickets.

use bindings::bulkhead::host::{guard, llm};
use bulkhead_guest::Log;

use crate::guarding::Verdict;
use crate::llm::{Failure, Question};

/// Bindings generated from the WIT, with the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        inline: "
            package bulkhead:ticket-text;

            world machines {
                import bulkhead:host/llm@0.1.1;
                import bulkhead:host/guard@0.1.1;
            }
        ",
        path: "../../wit/host",
        world: "bulkhead:ticket-text/machines",
        generate_all,
    });
}

/// Returns the language model's reply to a question, whose schema is called `name`.
///
/// # Errors
///
/// Fails with the failure for clerks, and the host's error text for the log.
pub fn ask(question: &Question, name: &str, max_tokens: Option<u32>) -> Result<String, (Failure, String)> {
    let message = |role, content: &str| llm::Message { role, content: content.to_owned() };
    let request = llm::Request {
        messages: vec![
            message(llm::Role::System, &question.system),
            message(llm::Role::User, &question.user),
        ],
        schema: Some(llm::Schema { name: name.to_owned(), json: question.schema.clone() }),
        max_tokens,
    };
    llm::complete(&request).map(|completion| completion.text).map_err(|error| match error {
        llm::Error::NotConfigured => (Failure::NotConfigured, "none is configured".to_owned()),
        llm::Error::Denied(why) => (Failure::Denied, why),
        llm::Error::OverBudget(why) => (Failure::OverBudget, why),
        llm::Error::Unavailable(why) => (Failure::of_endpoint(&why), why),
        llm::Error::InvalidAnswer(why) => (Failure::Form, why),
    })
}

/// Returns the guard's verdict on a ticket's text, or on the answer to it if given. Logs the host's error text if the
/// guard is unavailable.
pub fn judge(log: Log, text: &str, answer: Option<&str>) -> Verdict {
    let judged = match answer {
        None => guard::check_prompt(text),
        Some(answer) => guard::check_response(text, answer),
    };
    match judged {
        Ok(verdict) if verdict.safe => Verdict::Safe,
        Ok(verdict) => Verdict::Unsafe(verdict.labels),
        Err(guard::Error::NotConfigured) => Verdict::Unguarded,
        Err(guard::Error::Unavailable(why)) => {
            log.warn(&format!("the guard does not answer: {why}"));
            Verdict::Unavailable(why)
        }
    }
}
