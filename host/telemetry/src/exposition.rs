//! Encodes metrics in the text formats of scrapers, and negotiates the format.

use prometheus::{Result, TextEncoder, proto::MetricFamily};

use crate::{accept, openmetrics};

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The formats, the default first.
    pub const ALL: [Self; 2] = [Self::Text, Self::OpenMetrics];

    /// Returns the media type with its parameters.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => openmetrics::CONTENT_TYPE,
        }
    }

    /// Returns the format that an `Accept` header asks for; `None` when it accepts neither.
    pub fn negotiate(accept: Option<&str>) -> Option<Self> {
        let picked = accept::negotiate(accept, &Self::ALL.map(Self::content_type))?;
        Self::ALL.into_iter().find(|format| format.content_type() == picked)
    }

    /// Writes metric families. Fails on a family without series, which a registry never hands out.
    pub fn encode(self, families: &[MetricFamily]) -> Result<String> {
        match self {
            Self::Text => TextEncoder::new().encode_to_string(families),
            Self::OpenMetrics => Ok(openmetrics::encode(families)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_unless_openmetrics_is_asked_for() {
        assert_eq!(Format::negotiate(None), Some(Format::Text));
        assert_eq!(Format::negotiate(Some("*/*")), Some(Format::Text));
        assert_eq!(Format::negotiate(Some("application/openmetrics-text")), Some(Format::OpenMetrics));
        assert_eq!(Format::negotiate(Some("application/json")), None);
    }
}
