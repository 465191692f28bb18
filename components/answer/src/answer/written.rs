//! Answers from the knowledge base: search, draft, checks and wording.

use bulkhead_ticket_text::guarding::Judged;

use super::call::{Call, is_in};
use super::draft::Draft;
use super::{Error, Host, Outcome, Reply, SearchError, Strategy};
use crate::extractive::{self, Lead};
use crate::guard::{self, GuardFinding};
use crate::passage::{Passage, of_documents, worth_reading};
use crate::places;
use crate::publication::Record;
use crate::references::referenced;
use crate::signs::{self, Certainty};
use crate::statement::Grounded;
use crate::wording::{self, NoAnswer};

/// Passages that are searched for: several of a document may have its best items.
const FOUND: u32 = 20;

impl<H: Host> Call<'_, H> {
    /// Searches the knowledge base, drafts an answer and checks it.
    pub(super) fn written(&self) -> Result<Reply, Error> {
        let configuration = self.configuration;
        let category = configuration.by_category.then_some(self.request.category);
        let found = match self.host.find(&self.texts(), FOUND.max(configuration.limit), category) {
            Ok(found) => found,
            Err(SearchError::Unavailable) => return Ok(self.none(&NoAnswer::Unavailable)),
            Err(SearchError::Failed(why)) => return Err(Error::Search(why)),
        };
        let (passages, own_language) = worth_reading(found, configuration.floor, self.language.code());
        let by_model = self.policy.strategy == Strategy::Llm;
        let passages = of_documents(passages, configuration.limit as usize, by_model);
        if passages.is_empty() {
            return Ok(self.none(&NoAnswer::Nothing));
        }
        let draft = self.draft(&passages, own_language);
        let failed = draft.failed.map(|reason| wording::fallback_note(reason, self.language));
        let reply = self.checked(draft, &passages, own_language)?;
        let reasons = [failed, reply.reason].into_iter().flatten().collect::<Vec<_>>();
        Ok(Reply { reason: (!reasons.is_empty()).then(|| reasons.join(" ")), ..reply })
    }

    /// Returns the draft with references, and whether it may be published.
    fn checked(&self, draft: Draft, passages: &[Passage], own_language: bool) -> Result<Reply, Error> {
        if draft.written == 0 && self.policy.strategy == Strategy::Llm && draft.failed.is_none() {
            return Ok(self.none(&NoAnswer::Unanswered));
        }
        let (text, documents) = referenced(&draft.sentences, passages);
        let score = documents.iter().map(|one| one.score).max_by(f32::total_cmp);
        let Some(score) = score.filter(|_| !draft.lost_most_sentences() && !draft.states_nothing()) else {
            return Ok(self.none(&NoAnswer::Ungrounded));
        };
        let plain = plain(&draft.sentences);
        let longest = self.configuration.max_answer_length as usize;
        let grounded = draft.is_grounded();
        let mut findings = self.ticket_findings();
        findings.extend(draft.findings);
        let lead = extractive::lead(&self.text, passages, self.language);
        findings.extend(self.signs(&draft.sentences, passages, lead.as_ref()));
        for finding in guard::answer(&plain, longest, &self.configuration.office_contacts) {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        // A ticket that is not published anyway needs no second verdict.
        if self.verdict.publishes() {
            findings.extend(GuardFinding::of(Judged::Answer, self.judged(Some(&plain))?));
        }
        let known_language = self.is_in_known_language();
        let framed = self.framed(&text, passages, own_language);
        // The text counts, not only the language that the knowledge base claims for the passages.
        let own_language = own_language && is_in(&plain, self.language);
        let certainty = Some(Certainty::new(score, lead.as_ref()));
        let record = Record { certainty, known_language, own_language, grounded, findings };
        Ok(self.reply(framed, documents, Outcome::Answered, &record))
    }

    /// Returns the signs that an answer of `sentences` is not the one that is asked for, or not for the place that the
    /// ticket names.
    fn signs(&self, sentences: &[Grounded], passages: &[Passage], lead: Option<&Lead>) -> Vec<GuardFinding> {
        let yes_no = self.configuration.publish_yes_no;
        let doubts = signs::doubts(&self.text, sentences, passages, lead, yes_no);
        let cited = || sentences.iter().filter_map(|one| passages.get(one.passage));
        let pages = passages.iter().filter(|page| cited().any(|cited| cited.is_of_page_of(page)));
        let texts =
            pages.flat_map(|page| [&page.title, page.url.as_ref().unwrap_or(&page.title), &page.text]);
        let known = texts.chain(&self.configuration.office_places).map(String::as_str);
        let elsewhere = places::elsewhere(&self.text, known);
        let elsewhere = (!elsewhere.is_empty()).then_some(GuardFinding::OtherPlace(elsewhere));
        doubts.into_iter().map(GuardFinding::Uncertain).chain(elsewhere).collect()
    }

    fn framed(&self, text: &str, passages: &[Passage], own_language: bool) -> String {
        let foreign = || wording::foreign(self.language, passages.first().and_then(Passage::language));
        let before = (!own_language).then(foreign);
        let parts = [before, Some(text), self.configuration.disclaimer.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }
}

/// Returns the sentences of an answer without references.
fn plain(statements: &[Grounded]) -> String {
    statements.iter().map(Grounded::shown).collect::<Vec<_>>().join("\n")
}
