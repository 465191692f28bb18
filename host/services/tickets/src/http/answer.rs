//! `POST /api/v1/answer`: answers a ticket.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde_json::{Value, json};

use super::{TicketState, error::TicketApiError, request::TicketBody, session, triage::number};
use crate::answer::{Document, Outcome, Reply, Request};
use crate::metrics::TicketRun;

/// Answers `POST /api/v1/answer` with a text for every action. A reply without an answer is a success too.
pub async fn answer(
    State(state): State<Arc<TicketState>>,
    mut body: TicketBody,
) -> Result<Response, TicketApiError> {
    let request =
        Request { text: body.text("text"), category: body.text("category"), action: body.text("action") };
    let (session, ticket) = (body.session(), body.integer("ticket_id"));
    body.check()?;
    let run = state.metrics.begin(TicketRun::Answer);
    let reply = state.answer.answer(&session, request).await;
    run.end(match &reply {
        Ok(reply) if reply.outcome == Outcome::None => "no_answer",
        Ok(_) => "success",
        Err(_) => "error",
    });
    let reply = reply.map_err(|error| TicketApiError::from(error).in_session(session.clone()))?;
    let outcome = match reply.outcome {
        Outcome::Answered => "answered",
        Outcome::Configured => "configured",
        Outcome::None => "none",
    };
    tracing::info!(ticket, session, outcome, auto_publish = reply.auto_publish, "ticket answered");
    Ok(session::with_session(&session, result(reply, &session)))
}

/// Returns the members of the replaced service, then new ones.
fn result(reply: Reply, session: &str) -> Value {
    json!({
        "response": reply.response,
        "documents": reply.documents.into_iter().map(document).collect::<Vec<_>>(),
        "auto_publish": reply.auto_publish,
        "reason": reply.reason,
        "score": reply.score.map(number),
        "language": reply.language,
        "session_id": session,
    })
}

/// Returns a document as JSON.
fn document(document: Document) -> Value {
    let Document { title, url, score, quote } = document;
    json!({ "title": title, "url": url, "score": number(score), "quote": quote })
}
