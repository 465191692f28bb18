//! The fields by which the decisions of two versions on a ticket are compared. Written text is redacted.

use bulkhead_runtime::invoke::{ShadowDiff, redacted};

use super::world::{Candidate, Decision};

impl ShadowDiff for Decision {
    fn fields(&self) -> Vec<(String, String)> {
        // Vectors that are computed in another batch differ in their last digits, and so do confidences.
        let rounded = |confidence: f32| format!("{confidence:.3}");
        let alternative =
            |candidate: &Candidate| format!("{} {}", candidate.name, rounded(candidate.confidence));
        let alternatives: Vec<String> = self.alternatives.iter().map(alternative).collect();
        let mut fields = vec![
            ("user-text".to_owned(), redacted(&self.user_text)),
            ("category".into(), self.category.clone()),
            ("auto-publish".into(), self.auto_publish.to_string()),
            ("action".into(), format!("{:?}", self.action)),
            ("reasoning".into(), redacted(&self.reasoning)),
            ("confidence".into(), rounded(self.confidence)),
            ("alternatives".into(), alternatives.join(", ")),
            ("language".into(), format!("{:?}", self.language)),
            ("internal-note".into(), self.internal_note.as_deref().map_or_else(String::new, redacted)),
        ];
        let values = self.extracted_values.iter();
        fields.extend(values.map(|(name, value)| (format!("value {name}"), redacted(&format!("{value:?}")))));
        fields
    }
}
