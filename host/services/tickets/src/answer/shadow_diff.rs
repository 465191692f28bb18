//! The fields by which the answers of two versions to a ticket are compared. Written text is redacted.

use bulkhead_runtime::invoke::{ShadowDiff, redacted};

use super::world::{Document, Reply};

impl ShadowDiff for Reply {
    fn fields(&self) -> Vec<(String, String)> {
        // Vectors that are computed in another batch differ in their last digits, and so do scores.
        let rounded = |score: f32| format!("{score:.3}");
        let written = |text: &Option<String>| text.as_deref().map_or_else(String::new, redacted);
        let mut fields = vec![
            ("response".to_owned(), redacted(&self.response)),
            ("auto-publish".into(), self.auto_publish.to_string()),
            ("outcome".into(), format!("{:?}", self.outcome)),
            ("reason".into(), written(&self.reason)),
            ("score".into(), self.score.map_or_else(String::new, rounded)),
            ("language".into(), format!("{:?}", self.language)),
        ];
        for (number, document) in (1..).zip(&self.documents) {
            let Document { title, url, score, quote } = document;
            fields.push((format!("document {number}"), format!("{title} {url} {}", rounded(*score))));
            fields.push((format!("quote {number}"), redacted(quote)));
        }
        fields
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
    fn written_text_differs_and_is_redacted() {
        let (one, other) = (reply("Dear Eva, 12 EUR.").fields(), reply("Dear Eva, 13 EUR.").fields());
        let differ: Vec<_> = one.iter().zip(&other).filter(|(one, other)| one != other).collect();
        assert_eq!(differ.len(), 1);
        assert!(!format!("{one:?}").contains("Eva") && !format!("{one:?}").contains("12 EUR"), "{one:?}");
        let document = "Mooring cost https://port.example/mooring 0.812";
        assert!(one.contains(&("document 1".to_owned(), document.to_owned())), "{one:?}");
    }
}
