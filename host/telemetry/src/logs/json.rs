//! Formats log lines as JSON objects, one per line: `timestamp`, `level`, `target`, `message`, and the fields of the
//! event and of its spans.

use std::{fmt, time::SystemTime};

use serde_json::{Map, Value};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormattedFields,
        format::{JsonFields, Writer},
    },
    registry::LookupSpan,
};

use super::target::Target;
use crate::timestamp::rfc3339_millis;

/// Formats events as JSON. An inner span's field hides an outer one's, an event's hides both.
pub struct Lines;

impl<S> FormatEvent<S, JsonFields> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Fields::default();
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(fields) = span.extensions().get::<FormattedFields<JsonFields>>() {
                line.0.extend(serde_json::from_str::<Map<String, Value>>(fields).unwrap_or_default());
            }
        }
        event.record(&mut line);
        let metadata = event.metadata();
        line.put("timestamp", rfc3339_millis(SystemTime::now()));
        line.put("level", metadata.level().as_str());
        line.put("target", Target(metadata.target()).to_string());
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}"));
    }
}
