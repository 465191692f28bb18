//! A sample configuration for tests.

use bulkhead_answer_configuration::{Action, ActionType, Category, Configuration};

/// Returns a configuration with one category and action of each type.
pub fn configuration() -> Configuration {
    let category =
        |name: &str, auto_publish| Category { name: name.to_owned(), auto_publish, threshold: 0.6 };
    let action = |name: &str, kind, answer: Option<&str>| Action {
        name: name.to_owned(),
        kind,
        answer: answer.map(str::to_owned),
    };
    Configuration {
        categories: vec![category("passports", true), category("fines", false)],
        actions: vec![
            action("answer", ActionType::AIAnswer, None),
            action("clerk", ActionType::NoAction, None),
            action("fees", ActionType::StaticAnswer, Some("Ein Reisepass kostet 70 Euro.")),
        ],
        floor: 0.5,
        limit: 5,
        by_category: false,
        publish_score: 0.8,
        publish_yes_no: false,
        max_sentences: 5,
        max_answer_length: 1200,
        max_user_text_length: 2000,
        office_contacts: vec!["@stadt.example".to_owned(), "+49 89 233".to_owned()],
        office_places: Vec::new(),
        office: None,
        disclaimer: None,
    }
}
