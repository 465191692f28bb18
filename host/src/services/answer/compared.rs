//! How two versions' answers to one ticket are compared: what was written is told apart and not shown.

use super::world::{Document, Reply};
use crate::invoke::{Compared, hidden};

impl Compared for Reply {
    fn members(&self) -> Vec<(String, String)> {
        // Vectors that are computed in other company differ in their last digits, and so does what hangs on them.
        let sure = |score: f32| format!("{score:.3}");
        let written = |text: &Option<String>| text.as_deref().map_or_else(String::new, hidden);
        let mut members = vec![
            ("response".to_owned(), hidden(&self.response)),
            ("auto-publish".into(), self.auto_publish.to_string()),
            ("outcome".into(), format!("{:?}", self.outcome)),
            ("reason".into(), written(&self.reason)),
            ("score".into(), self.score.map_or_else(String::new, sure)),
            ("language".into(), format!("{:?}", self.language)),
        ];
        for (number, document) in (1..).zip(&self.documents) {
            let Document { title, url, score, quote } = document;
            members.push((format!("document {number}"), format!("{title} {url} {}", sure(*score))));
            members.push((format!("quote {number}"), hidden(quote)));
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::super::world::Outcome;
    use super::*;

    fn reply(response: &str) -> Reply {
        let document = Document {
            title: "Mooring cost".to_owned(),
            url: "https://port.example/mooring".to_owned(),
            score: 0.81234,
            quote: "12 EUR a night".to_owned(),
        };
        Reply {
            response: response.to_owned(),
            documents: vec![document],
            auto_publish: true,
            outcome: Outcome::Answered,
            reason: None,
            score: Some(0.81234),
            language: Some("en".to_owned()),
        }
    }

    #[test]
    fn what_was_written_is_told_apart_and_not_shown() {
        let (one, other) = (reply("Dear Eva, 12 EUR.").members(), reply("Dear Eva, 13 EUR.").members());
        let differ: Vec<_> = one.iter().zip(&other).filter(|(one, other)| one != other).collect();
        assert_eq!(differ.len(), 1);
        assert!(!format!("{one:?}").contains("Eva") && !format!("{one:?}").contains("12 EUR"), "{one:?}");
        let document = "Mooring cost https://port.example/mooring 0.812";
        assert!(one.contains(&("document 1".to_owned(), document.to_owned())), "{one:?}");
    }
}
