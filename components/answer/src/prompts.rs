//! Versions of everything that determines answers, under the prompt names of the replaced service, so that operators
//! can compare two hosts.

use bulkhead_answer_configuration::Configuration;
use bulkhead_text::language::Language;
use bulkhead_ticket_text::llm::Prompt;
use serde_json::json;

use crate::answer::Strategy;
use crate::{guard, llm};

/// Returns all prompts, with the language model's prompt if it writes answers.
pub fn prompts(configuration: &Configuration, strategy: Strategy) -> Vec<Prompt> {
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
    let published = configuration.categories.iter().map(|one| json!([one.name, one.auto_publish]));
    let judge = json!({
        "categories": published.collect::<Vec<_>>(),
        "publish_score": configuration.publish_score,
        "publish_yes_no": configuration.publish_yes_no,
        "office_contacts": configuration.office_contacts,
        "office_places": configuration.office_places,
        "injection": guard::injection_patterns(),
    });
    let prompt = |name, text| Prompt { name, version: None, text };
    let mut prompts = vec![
        prompt("agent", agent.to_string()),
        prompt("format", format.to_string()),
        prompt("judge", judge.to_string()),
    ];
    if strategy == Strategy::Llm {
        let passages = configuration.limit as usize;
        let text = [llm::system(configuration, Language::German), llm::schema(passages)].join("\n");
        prompts.push(Prompt { name: "answer", version: Some(llm::VERSION), text });
    }
    prompts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample::configuration;

    #[test]
    fn version_changes_with_its_input() {
        let before = prompts(&configuration(), Strategy::Llm);
        let changed = |change: fn(&mut Configuration)| {
            let mut configuration = configuration();
            change(&mut configuration);
            let after = prompts(&configuration, Strategy::Llm);
            let pairs = before.iter().zip(&after).filter(|(one, other)| one != other);
            pairs.map(|(prompt, _)| prompt.name).collect::<Vec<_>>()
        };
        assert_eq!(changed(|_| {}), Vec::<&str>::new());
        assert_eq!(changed(|one| one.floor = 0.1), ["agent"]);
        assert_eq!(changed(|one| one.actions.clear()), ["agent"]);
        assert_eq!(changed(|one| one.disclaimer = Some("x".to_owned())), ["format"]);
        assert_eq!(changed(|one| one.max_sentences = 2), ["format", "answer"]);
        assert_eq!(changed(|one| one.office = Some("a landlord".to_owned())), ["answer"]);
        assert_eq!(changed(|one| one.publish_score = 0.1), ["judge"]);
        assert_eq!(changed(|one| one.publish_yes_no = true), ["judge"]);
        assert_eq!(changed(|one| one.office_places.push("Ulm".to_owned())), ["judge"]);
        assert_eq!(
            changed(|one| one.categories.iter_mut().for_each(|one| one.auto_publish = true)),
            ["judge"]
        );
    }

    #[test]
    fn llm_prompt_is_listed_if_used() {
        let versions = |strategy| {
            let prompts = prompts(&configuration(), strategy);
            prompts.into_iter().map(|prompt| (prompt.name, prompt.version)).collect::<Vec<_>>()
        };
        let kept = [("agent", None), ("format", None), ("judge", None)];
        assert_eq!(versions(Strategy::Extractive), kept);
        assert_eq!(versions(Strategy::Llm), [kept.as_slice(), &[("answer", Some(llm::VERSION))]].concat());
    }
}
