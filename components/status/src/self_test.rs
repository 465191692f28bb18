//! The component's self-test: a payload and a verdict with known answers.

use bulkhead_status_figures::{Collection, Figures, Mail, Moment, Section, Sources};

use crate::{
    health::{Level, health},
    payload::{Wire, payload},
};

const EXPECTED: &str = concat!(
    r#"{"$schema":"https://schema.berlin.de/queuemanagement/status.json","#,
    r#""processes":{"lastCalculate":"1970-01-01 01:00:00"},"mail":{"queueCount":2,"oldestSeconds":301},"#,
    r#""version":{"major":"2","minor":"25","patch":"00"}}"#
);

/// Runs the self-test.
///
/// # Errors
///
/// Fails with a text that names what does not work.
pub fn self_test() -> Result<(), String> {
    let figures = known();
    let (data, _) = payload(&figures, Wire::Legacy, "2.25.00").map_err(|error| error.to_string())?;
    if data != EXPECTED {
        return Err("the payload differs from the known answer".to_owned());
    }
    let found = health(&figures);
    if found.level != Level::Fatal || !found.text.contains("301s") {
        return Err("health differs from the known answer".to_owned());
    }
    Ok(())
}

fn known() -> Figures {
    let epoch = Moment { text: "1970-01-01 01:00:00".to_owned(), unix_seconds: Some(0) };
    let collection = |section| Collection {
        section,
        succeeded_at: Some(0.0),
        duration_seconds: Some(0.0),
        error: None,
        successes: 1,
        failures: 0,
    };
    Figures {
        now: epoch.clone(),
        database: None,
        processes: None,
        slots: None,
        mail: Some(Mail { queued: 2, oldest_seconds: Some(301), newest_seconds: None }),
        sources: Some(Sources { last_import: None, last_calculation: Some(epoch) }),
        sessions: None,
        lacking: Vec::new(),
        collections: [Section::Mail, Section::Sources].map(collection).into(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_passes() {
        assert_eq!(super::self_test(), Ok(()));
    }
}
