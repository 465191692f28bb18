//! The fields by which the reports of two versions are compared: all fields, because both versions get the same figures.

use bulkhead_runtime::invoke::{ShadowDiff, json_fields};

use super::world::{HealthJudgement, Report};

impl ShadowDiff for Report {
    fn fields(&self) -> Vec<(String, String)> {
        let mut fields = json_fields("data", &self.data, &[]);
        fields.push(("collected-at".into(), self.collected_at.to_string()));
        fields
    }
}

impl ShadowDiff for HealthJudgement {
    fn fields(&self) -> Vec<(String, String)> {
        let mut fields =
            vec![("level".into(), format!("{:?}", self.level)), ("text".into(), self.text.clone())];
        for (index, finding) in self.findings.iter().flatten().enumerate() {
            fields.push((format!("findings.{index}"), format!("{} {:?}", finding.code, finding.level)));
        }
        fields
    }
}
