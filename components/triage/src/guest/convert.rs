//! Conversions from plain types to WIT records.

use super::wit;
use crate::decision::Candidate;
use crate::extraction::Value;
use crate::triage::{Strategy, Triage, TriageError};
use bulkhead_ticket_text::guarding::Guarding;
use bulkhead_triage_configuration::{Action, ActionType};

impl From<Action> for wit::Action {
    fn from(action: Action) -> Self {
        let Action { name, description, kind, answer } = action;
        let kind = match kind {
            ActionType::AIAnswer => wit::ActionKind::AiAnswer,
            ActionType::StaticAnswer => wit::ActionKind::StaticAnswer,
            ActionType::NoAction => wit::ActionKind::NoAction,
        };
        Self { name, description, kind, answer }
    }
}

impl From<Candidate> for wit::Candidate {
    fn from(candidate: Candidate) -> Self {
        Self { name: candidate.name, confidence: candidate.confidence }
    }
}

impl From<Value> for wit::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Boolean(value) => Self::Boolean(value),
            Value::Integer(value) => Self::Integer(value),
            Value::Number(value) => Self::Number(value),
            Value::Text(value) => Self::Text(value),
        }
    }
}

impl From<wit::Strategy> for Strategy {
    fn from(strategy: wit::Strategy) -> Self {
        match strategy {
            wit::Strategy::Classifier => Self::Classifier,
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

impl From<TriageError> for wit::Error {
    fn from(error: TriageError) -> Self {
        match error {
            TriageError::Unsafe(_) => Self::Refused(error.to_string()),
            TriageError::Incomplete(_) => Self::Internal(error.to_string()),
        }
    }
}

impl From<Triage> for wit::Decision {
    fn from(triage: Triage) -> Self {
        let values = triage.extracted_values.into_iter();
        Self {
            user_text: triage.user_text,
            category: triage.category,
            auto_publish: triage.auto_publish,
            action: triage.action.into(),
            reasoning: triage.reasoning,
            confidence: triage.confidence,
            extracted_values: values.map(|(name, value)| (name, value.into())).collect(),
            alternatives: triage.alternatives.into_iter().map(Into::into).collect(),
            language: triage.language,
            internal_note: triage.internal_note,
        }
    }
}
