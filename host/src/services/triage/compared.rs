//! How two versions' decisions on one ticket are compared: what people wrote is told apart and not shown.

use super::world::{Candidate, Decision};
use crate::invoke::{Compared, hidden};

impl Compared for Decision {
    fn members(&self) -> Vec<(String, String)> {
        // Vectors that are computed in other company differ in their last digits, and so does what hangs on them.
        let sure = |confidence: f32| format!("{confidence:.3}");
        let behind = |candidate: &Candidate| format!("{} {}", candidate.name, sure(candidate.confidence));
        let alternatives: Vec<String> = self.alternatives.iter().map(behind).collect();
        let mut members = vec![
            ("user-text".to_owned(), hidden(&self.user_text)),
            ("category".into(), self.category.clone()),
            ("auto-publish".into(), self.auto_publish.to_string()),
            ("action".into(), format!("{:?}", self.action)),
            ("reasoning".into(), hidden(&self.reasoning)),
            ("confidence".into(), sure(self.confidence)),
            ("alternatives".into(), alternatives.join(", ")),
            ("language".into(), format!("{:?}", self.language)),
            ("internal-note".into(), self.internal_note.as_deref().map_or_else(String::new, hidden)),
        ];
        let values = self.extracted_values.iter();
        members.extend(values.map(|(name, value)| (format!("value {name}"), hidden(&format!("{value:?}")))));
        members
    }
}
