//! Drafts of answers: by the language model or from sentences of the passages, each sentence grounded.

use bulkhead_ticket_text::llm::Failure;

use super::{Host, Strategy, call::Call};
use crate::answer_types::AnswerTypes;
use crate::guard::{self, GuardFinding};
use crate::llm::{self, LlmFallback};
use crate::passage::Passage;
use crate::statement::{Bounds, Grounded};
use crate::{extractive, grounding};

/// An answer reduced to the sentences that passages support.
#[derive(Debug)]
pub(super) struct Draft {
    /// Its sentences.
    pub(super) sentences: Vec<Grounded>,
    /// Number of sentences before grounding.
    pub(super) written: usize,
    /// Findings that block publication, made while drafting.
    pub(super) findings: Vec<GuardFinding>,
    /// Why the language model did not write it, if it was to do so.
    pub(super) failed: Option<LlmFallback>,
}

impl Draft {
    /// Returns whether grounding removed more sentences than it kept: the rest is not what the writer meant.
    pub(super) fn lost_most_sentences(&self) -> bool {
        self.sentences.len() * 2 < self.written
    }

    /// Returns whether passages support all that was written, by the language model too, if it was asked.
    pub(super) fn is_grounded(&self) -> bool {
        self.sentences.len() == self.written && self.failed != Some(LlmFallback::Unsupported)
    }

    /// Returns whether all sentences are questions or headings.
    pub(super) fn states_nothing(&self) -> bool {
        self.sentences.iter().all(|one| one.bare)
    }
}

impl<H: Host> Call<'_, H> {
    /// Drafts the answer from `passages`. `own_language` says whether these are in the ticket's language.
    pub(super) fn draft(&self, passages: &[Passage], own_language: bool) -> Draft {
        let failed = match self.policy.strategy {
            Strategy::Extractive => None,
            Strategy::Llm => match self.llm_draft(passages, own_language) {
                Ok(draft) => return draft,
                Err(reason) => Some(reason),
            },
        };
        let statements = extractive::write(&self.text, passages, self.language, self.bounds());
        let quoted = grounding::quoted(&statements, passages, self.language);
        Draft { failed, ..self.assembled(quoted, statements.len()) }
    }

    /// Drafts the answer with the language model.
    ///
    /// # Errors
    ///
    /// Fails with the reason to fall back to extraction.
    fn llm_draft(&self, passages: &[Passage], own_language: bool) -> Result<Draft, LlmFallback> {
        if !own_language {
            return Err(LlmFallback::Translation);
        }
        if !self.verdict.may_be_shown() {
            return Err(Failure::Guarded.into());
        }
        if self.findings.contains(&GuardFinding::TicketInjection) {
            return Err(Failure::Injected.into());
        }
        let redacted = self.redacted();
        let question = llm::question(self.configuration, redacted, passages, self.language);
        let answer = self.host.ask(&question)?;
        let statements = llm::statements(&answer, redacted, passages)?;
        let written = statements.len();
        let statements = self.bounds().cut(statements);
        let grounded = grounding::grounded(&statements, passages, self.language);
        let mut draft = self.assembled(grounded, statements.len());
        draft.written = draft.written.max(written.min(1));
        if draft.lost_most_sentences() || (draft.written > 0 && draft.states_nothing()) {
            return Err(match llm::is_foreign(&statements, self.language) {
                true => LlmFallback::Foreign,
                false => LlmFallback::Unsupported,
            });
        }
        draft.findings.extend((statements.len() < written).then_some(GuardFinding::AnswerLength));
        let close = draft.sentences.iter().all(|one| one.close);
        draft.findings.extend((!close).then_some(GuardFinding::OtherWords));
        draft.findings.extend(guard::passages(passages));
        Ok(draft)
    }

    fn assembled(&self, sentences: Vec<Grounded>, written: usize) -> Draft {
        let limited = sentences.iter().any(|one| one.limited).then_some(GuardFinding::Heading);
        let qualified = sentences.iter().any(|one| one.qualified).then_some(GuardFinding::Qualified);
        let shown = sentences.iter().map(Grounded::shown).collect::<Vec<_>>().join("\n");
        let unanswered =
            (!AnswerTypes::of(&self.text).is_answered_by(&shown)).then_some(GuardFinding::Unanswered);
        let findings = limited.into_iter().chain(qualified).chain(unanswered).collect();
        Draft { sentences, written, findings, failed: None }
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            sentences: self.configuration.max_sentences as usize,
            characters: self.configuration.max_answer_length as usize,
        }
    }
}
