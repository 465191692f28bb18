//! Formats log lines for people: time, level, the spans with their fields, target, message and fields.

use std::fmt::{self, Display};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields,
        format::Writer,
        time::{FormatTime as _, SystemTime},
    },
    registry::LookupSpan,
};

use super::target::Target;

/// Escape codes of a terminal.
const BOLD: u8 = 1;
const DIM: u8 = 2;

/// Formats events as lines of text.
pub(super) struct HumanLines;

impl<S, N> FormatEvent<S, N> for HumanLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let style = Style { is_terminal: writer.has_ansi_escapes() };
        let metadata = event.metadata();
        style.begin(&mut writer, DIM)?;
        SystemTime.format_time(&mut writer)?;
        style.end(&mut writer)?;
        writer.write_char(' ')?;
        style.begin(&mut writer, colour(*metadata.level()))?;
        write!(writer, "{:>5}", metadata.level().as_str())?;
        style.end(&mut writer)?;
        writer.write_char(' ')?;
        let mut has_spans = false;
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            write!(writer, "{}", style.of(BOLD, span.name()))?;
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>()
                && !fields.is_empty()
            {
                write!(writer, "{}{fields}{}", style.of(BOLD, "{"), style.of(BOLD, "}"))?;
            }
            write!(writer, "{}", style.of(DIM, ":"))?;
            has_spans = true;
        }
        if has_spans {
            writer.write_char(' ')?;
        }
        write!(writer, "{}{} ", style.of(DIM, Target(metadata.target())), style.of(DIM, ":"))?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Returns the escape code of a level's colour.
const fn colour(level: Level) -> u8 {
    match level {
        Level::ERROR => 31,
        Level::WARN => 33,
        Level::INFO => 32,
        Level::DEBUG => 34,
        Level::TRACE => 35,
    }
}

/// Whether texts are written to a terminal.
#[derive(Clone, Copy)]
struct Style {
    is_terminal: bool,
}

impl Style {
    /// Writes an escape code before a text.
    fn begin(self, writer: &mut Writer<'_>, code: u8) -> fmt::Result {
        if self.is_terminal { write!(writer, "\u{1b}[{code}m") } else { Ok(()) }
    }

    /// Writes the end of what was begun.
    fn end(self, writer: &mut Writer<'_>) -> fmt::Result {
        if self.is_terminal { writer.write_str("\u{1b}[0m") } else { Ok(()) }
    }

    fn of<T: Display>(self, code: u8, text: T) -> Styled<T> {
        Styled { code: self.is_terminal.then_some(code), text }
    }
}

/// A text with an escape code, if it is written to a terminal.
struct Styled<T> {
    code: Option<u8>,
    text: T,
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "\u{1b}[{code}m{}\u{1b}[0m", self.text),
            None => self.text.fmt(f),
        }
    }
}
