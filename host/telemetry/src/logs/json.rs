//! Formats log lines as JSON objects, one per line: `timestamp`, `level`, `target`, and the fields of the event, its
//! message among them, and of its spans.
//!
//! Members are written as they come; only the list of their names is held in memory.

use std::{
    fmt::{self, Write as _},
    time::SystemTime,
};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::Record,
};
use tracing_subscriber::{
    field::RecordFields,
    fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, format::Writer},
    registry::LookupSpan,
};

use super::target::Target;
use crate::timestamp::Rfc3339Millis;

/// Members that most lines have at most.
const USUAL_MEMBERS: usize = 16;

/// Formats a span's fields as members, each on a line of its own; a later one of the same name replaces an earlier one.
pub struct SpanFields;

impl<'writer> FormatFields<'writer> for SpanFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut members =
            Members { out: &mut writer, before: "", after: "\n", written: None, result: Ok(()) };
        fields.record(&mut members);
        members.result
    }

    fn add_fields(&self, current: &'writer mut FormattedFields<Self>, fields: &Record<'_>) -> fmt::Result {
        self.format_fields(current.as_writer(), fields)
    }
}

/// Formats events as JSON. An inner span's field hides an outer one's, an event's hides both.
pub struct Lines;

impl<S> FormatEvent<S, SpanFields> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, SpanFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let (now, level) = (Rfc3339Millis(SystemTime::now()), metadata.level());
        write!(writer, "{{\"timestamp\":\"{now}\",\"level\":\"{level}\",\"target\":")?;
        string(&mut writer, format_args!("{}", Target(metadata.target())))?;
        let mut written = Vec::with_capacity(USUAL_MEMBERS);
        written.extend(["timestamp", "level", "target"]);
        let mut members =
            Members { out: &mut writer, before: ",", after: "", written: Some(written), result: Ok(()) };
        event.record(&mut members);
        let Members { written, result, .. } = members;
        result?;
        let mut written = written.unwrap_or_default();
        // The innermost span first.
        for span in context.event_scope().into_iter().flatten() {
            let extensions = span.extensions();
            let Some(fields) = extensions.get::<FormattedFields<SpanFields>>() else { continue };
            for member in fields.fields.lines().rev() {
                let name = member.split('"').nth(1).and_then(|name| span.metadata().fields().field(name));
                let Some(name) = name.map(|field| field.name()).filter(|name| !written.contains(name)) else {
                    continue;
                };
                written.push(name);
                write!(writer, ",{member}")?;
            }
        }
        writer.write_str("}\n")
    }
}

/// Writes fields as members of an object.
struct Members<'a, 'writer> {
    out: &'a mut Writer<'writer>,
    /// What is written before and after each member.
    before: &'static str,
    after: &'static str,
    /// Names of the members that are written; a second one of a name is left out. None: all are written.
    written: Option<Vec<&'static str>>,
    result: fmt::Result,
}

impl<'writer> Members<'_, 'writer> {
    fn put(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'writer>) -> fmt::Result) {
        let name = field.name();
        if let Some(written) = &mut self.written {
            if written.contains(&name) {
                return;
            }
            written.push(name);
        }
        if self.result.is_ok() {
            self.result = self.write(name, value);
        }
    }

    fn write(&mut self, name: &str, value: impl FnOnce(&mut Writer<'writer>) -> fmt::Result) -> fmt::Result {
        write!(self.out, "{}\"{name}\":", self.before)?;
        value(self.out)?;
        self.out.write_str(self.after)
    }
}

impl Visit for Members<'_, '_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no other numbers.
        self.put(
            field,
            |out| if value.is_finite() { write!(out, "{value:?}") } else { out.write_str("null") },
        );
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, |out| write!(out, "{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, |out| write!(out, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, |out| write!(out, "{value}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, |out| string(out, format_args!("{value}")));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, |out| string(out, format_args!("{value:?}")));
    }
}

/// Writes a text as a JSON string.
fn string(out: &mut Writer<'_>, text: fmt::Arguments<'_>) -> fmt::Result {
    out.write_char('"')?;
    Escaped(out).write_fmt(text)?;
    out.write_char('"')
}

/// Escapes what is written for a JSON string.
struct Escaped<'a, 'writer>(&'a mut Writer<'writer>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((plain, after)) =
            rest.bytes().position(is_escaped).and_then(|at| rest.split_at_checked(at))
        {
            self.0.write_str(plain)?;
            let mut after = after.chars();
            match after.next() {
                Some('"') => self.0.write_str("\\\"")?,
                Some('\\') => self.0.write_str("\\\\")?,
                Some('\n') => self.0.write_str("\\n")?,
                Some('\r') => self.0.write_str("\\r")?,
                Some('\t') => self.0.write_str("\\t")?,
                Some(control) => write!(self.0, "\\u{:04x}", u32::from(control))?,
                None => {}
            }
            rest = after.as_str();
        }
        self.0.write_str(rest)
    }
}

fn is_escaped(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b'"' | b'\\')
}
