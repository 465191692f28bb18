//! Conversions from plain types to WIT records.

use super::wit;
use crate::answer::{Error, Outcome, Reply, Strategy};
use crate::references::Document;
use bulkhead_ticket_text::guarding::Guarding;

impl From<wit::Strategy> for Strategy {
    fn from(strategy: wit::Strategy) -> Self {
        match strategy {
            wit::Strategy::Extractive => Self::Extractive,
            wit::Strategy::Llm => Self::Llm,
        }
    }
}

impl From<wit::Guarding> for Guarding {
    fn from(guarding: wit::Guarding) -> Self {
        match guarding {
            wit::Guarding::Off => Self::Off,
            wit::Guarding::Withhold => Self::Withhold,
            wit::Guarding::Refuse => Self::Refuse,
        }
    }
}

impl From<Error> for wit::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::UnknownAction(name) => Self::UnknownAction(name),
            Error::Unsafe(..) => Self::Refused(error.to_string()),
            Error::Search(why) => Self::Unavailable(why),
        }
    }
}

impl From<Document> for wit::Document {
    fn from(document: Document) -> Self {
        let Document { title, url, score, quote } = document;
        Self { title, url, score, quote }
    }
}

impl From<Reply> for wit::Reply {
    fn from(reply: Reply) -> Self {
        Self {
            response: reply.response,
            documents: reply.documents.into_iter().map(Into::into).collect(),
            auto_publish: reply.auto_publish,
            outcome: match reply.outcome {
                Outcome::Answered => wit::Outcome::Answered,
                Outcome::Configured => wit::Outcome::Configured,
                Outcome::None => wit::Outcome::None,
            },
            reason: reply.reason,
            score: reply.score,
            language: reply.language,
        }
    }
}
