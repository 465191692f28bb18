//! The configuration of the answer component, from the settings of answers and the triage configuration.

use bulkhead_answer_configuration::{Action, ActionType, Category, Configuration};
use bulkhead_triage_configuration as triage;

use crate::{config::answer::AnswerSettings, knowledge::config::KnowledgeSettings, triage::Rules};

/// Returns the component's configuration.
pub(super) fn configuration(
    rules: &Rules,
    answer: &AnswerSettings,
    knowledge: &KnowledgeSettings,
) -> Configuration {
    let rules = rules.configuration();
    Configuration {
        categories: rules.categories.iter().map(category).collect(),
        actions: rules.actions.iter().map(action).collect(),
        floor: fraction(knowledge.floor_percent),
        limit: knowledge.limit,
        by_category: answer.by_category,
        publish_score: fraction(answer.publish_percent),
        publish_yes_no: answer.publish_yes_no,
        max_sentences: answer.max_sentences,
        max_answer_length: answer.max_answer_length,
        max_user_text_length: u32::try_from(rules.max_user_text_length).unwrap_or(u32::MAX),
        office_contacts: answer.office_contacts.clone(),
        office_places: answer.office_places.clone(),
        office: rules.office.clone(),
        disclaimer: answer.disclaimer.clone(),
    }
}

/// Converts per cent to a fraction.
fn fraction(percent: u8) -> f32 {
    f32::from(percent) / 100.0
}

/// Converts a category.
fn category(category: &triage::Category) -> Category {
    let triage::Category { name, auto_publish, threshold, .. } = category;
    Category { name: name.clone(), auto_publish: *auto_publish, threshold: *threshold }
}

/// Converts an action.
fn action(action: &triage::Action) -> Action {
    let kind = match action.kind {
        triage::ActionType::AIAnswer => ActionType::AIAnswer,
        triage::ActionType::NoAction => ActionType::NoAction,
        triage::ActionType::StaticAnswer => ActionType::StaticAnswer,
    };
    Action { name: action.name.clone(), kind, answer: action.answer.clone() }
}
