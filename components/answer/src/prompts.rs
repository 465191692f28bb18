//! What answers hang on, under the names of the prompts that the replaced service had: whoever compares two hosts
//! sees by them whether they answer alike.

use serde_json::json;

use crate::configuration::Configuration;
use crate::guard;

/// Each by its name, as text that changes when an answer may.
pub fn prompts(configuration: &Configuration) -> Vec<(&'static str, String)> {
    let agent = json!({
        "actions": configuration.actions,
        "by_category": configuration.by_category,
        "floor": configuration.floor,
        "limit": configuration.limit,
        "max_user_text_length": configuration.max_user_text_length,
    });
    let format = json!({
        "max_sentences": configuration.max_sentences,
        "max_answer_length": configuration.max_answer_length,
        "disclaimer": configuration.disclaimer,
    });
    let published =
        configuration.categories.iter().map(|one| json!([one.name, one.auto_publish, one.threshold]));
    let judge = json!({
        "categories": published.collect::<Vec<_>>(),
        "publish_score": configuration.publish_score,
        "office_contacts": configuration.office_contacts,
        "injection": guard::injection_patterns(),
    });
    vec![("agent", agent.to_string()), ("format", format.to_string()), ("judge", judge.to_string())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::tests::configuration;

    #[test]
    fn each_changes_with_what_it_stands_for() {
        let before = prompts(&configuration());
        let changed = |change: fn(&mut Configuration)| {
            let mut configuration = configuration();
            change(&mut configuration);
            let after = prompts(&configuration);
            let pairs = before.iter().zip(&after).filter(|(one, other)| one != other);
            pairs.map(|((name, _), _)| *name).collect::<Vec<_>>()
        };
        assert_eq!(changed(|_| {}), Vec::<&str>::new());
        assert_eq!(changed(|one| one.floor = 0.1), ["agent"]);
        assert_eq!(changed(|one| one.actions.clear()), ["agent"]);
        assert_eq!(changed(|one| one.disclaimer = Some("x".to_owned())), ["format"]);
        assert_eq!(changed(|one| one.publish_score = 0.1), ["judge"]);
        assert_eq!(
            changed(|one| one.categories.iter_mut().for_each(|one| one.auto_publish = true)),
            ["judge"]
        );
    }
}
