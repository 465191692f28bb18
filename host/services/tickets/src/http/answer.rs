//! `POST /api/v1/answer`.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde_json::{Value, json};

use super::{TicketState, error::ApiError, request::Members, session, triage::number};
use crate::answer::{Document, Outcome, Reply, Request};
use crate::metrics::Run;

/// `POST /api/v1/answer`: a text for the ticket whatever the action is; an answer that there is none is an answer.
pub async fn answer(State(state): State<Arc<TicketState>>, mut body: Members) -> Result<Response, ApiError> {
    let request =
        Request { text: body.text("text"), category: body.text("category"), action: body.text("action") };
    let (session, ticket) = (body.session(), body.whole_number("ticket_id"));
    body.check()?;
    let named = session.to_string();
    let run = state.metrics.begin(Run::Answer);
    let reply = state.answer.answer(&named, request).await;
    run.end(match &reply {
        Ok(reply) if reply.outcome == Outcome::None => "no_answer",
        Ok(_) => "success",
        Err(_) => "error",
    });
    let reply = reply.map_err(|error| ApiError::from(error).in_session(session))?;
    let outcome = match reply.outcome {
        Outcome::Answered => "answered",
        Outcome::Configured => "configured",
        Outcome::None => "none",
    };
    tracing::info!(ticket, session = named, outcome, auto_publish = reply.auto_publish, "ticket answered");
    Ok(session::answered(session, result(reply, &named)))
}

/// The members of the replaced service, then our own.
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

fn document(document: Document) -> Value {
    let Document { title, url, score, quote } = document;
    json!({ "title": title, "url": url, "score": number(score), "quote": quote })
}
