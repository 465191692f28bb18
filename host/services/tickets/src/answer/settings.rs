//! What the answer component is told to work by: the configuration of answers, and what triage knows of categories and
//! actions.

use bulkhead_answer_configuration::{Action, ActionType, Category, Configuration};
use bulkhead_triage_configuration as triage;

use crate::{config::answer::Answer, knowledge::config::Knowledge, triage::Rules};

/// The component's configuration.
pub(super) fn configuration(rules: &Rules, answer: &Answer, knowledge: &Knowledge) -> Configuration {
    let rules = rules.configuration();
    Configuration {
        categories: rules.categories.iter().map(category).collect(),
        actions: rules.actions.iter().map(action).collect(),
        floor: share(knowledge.floor_percent),
        limit: knowledge.limit,
        by_category: answer.by_category,
        publish_score: share(answer.publish_percent),
        max_sentences: answer.max_sentences,
        max_answer_length: answer.max_answer_length,
        max_user_text_length: u32::try_from(rules.max_user_text_length).unwrap_or(u32::MAX),
        office_contacts: answer.office_contacts.clone(),
        disclaimer: answer.disclaimer.clone(),
    }
}

fn share(percent: u8) -> f32 {
    f32::from(percent) / 100.0
}

fn category(category: &triage::Category) -> Category {
    let triage::Category { name, auto_publish, threshold, .. } = category;
    Category { name: name.clone(), auto_publish: *auto_publish, threshold: *threshold }
}

fn action(action: &triage::Action) -> Action {
    let kind = match action.kind {
        triage::ActionType::AIAnswer => ActionType::AIAnswer,
        triage::ActionType::NoAction => ActionType::NoAction,
        triage::ActionType::StaticAnswer => ActionType::StaticAnswer,
    };
    Action { name: action.name.clone(), kind, answer: action.answer.clone() }
}
