//! How two versions' reports on the same figures are compared: whole, for the host tells both the same.

use super::world::{Judgement, Report};
use crate::invoke::{Compared, json_members};

impl Compared for Report {
    fn members(&self) -> Vec<(String, String)> {
        let mut members = json_members("data", &self.data, &[]);
        members.push(("collected-at".into(), self.collected_at.to_string()));
        members
    }
}

impl Compared for Judgement {
    fn members(&self) -> Vec<(String, String)> {
        let mut members =
            vec![("level".into(), format!("{:?}", self.level)), ("text".into(), self.text.clone())];
        for (index, finding) in self.findings.iter().flatten().enumerate() {
            members.push((format!("findings.{index}"), format!("{} {:?}", finding.code, finding.level)));
        }
        members
    }
}
