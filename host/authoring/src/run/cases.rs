//! Cases of a component: calls of its exports, and what each has to end with.

#[cfg(test)]
mod tests;

use std::{fs, path::Path, sync::Arc};

use anyhow::Context as _;
use serde::Deserialize;
use wasmtime::component::{Type, Val};

use crate::{
    component::{
        exports::{self, ExportedFunction},
        fit,
    },
    platform::AuthorPlatform,
    report::{AuthoringFailure, CommandReport},
    run::{
        call,
        program::{CallEnd, Overrides, Program},
        values,
    },
};

/// A line of a file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseLine {
    /// What the case shows, for people.
    #[serde(default)]
    name: Option<String>,
    /// The export, by any name that a call takes.
    export: String,
    /// Arguments in WAVE.
    #[serde(default)]
    arguments: Vec<String>,
    /// The expected answer in WAVE; of a result also the payload of `ok` alone. Empty for an export that returns nothing.
    #[serde(default)]
    answer: Option<String>,
    /// The payload in WAVE of the error with which the export has to answer; empty for an error without payload.
    #[serde(default)]
    error: Option<String>,
    /// A part of the text of the trap or limit with which the call has to end.
    #[serde(default)]
    trap: Option<String>,
}

/// How a call has to end.
#[derive(Debug, PartialEq)]
enum ExpectedEnd {
    /// With this answer, if the export returns something.
    Answer(Option<Val>),
    /// With a trap or limit whose text contains this.
    Trap(String),
}

/// A case that can be run.
struct TestCase<'a> {
    line: usize,
    name: Option<String>,
    function: &'a ExportedFunction,
    arguments: Vec<Val>,
    expected: ExpectedEnd,
}

/// Runs every case of a file in a fresh instance.
///
/// # Errors
/// When the component cannot be loaded, or a line cannot be read; then no case is run.
pub(crate) async fn test(
    platform: &AuthorPlatform,
    file: &Path,
    cases: &Path,
    overrides: Overrides,
) -> anyhow::Result<CommandReport> {
    let (wasm, outline) = fit::read(file)?;
    let text = fs::read_to_string(cases).with_context(|| format!("cannot read {}", cases.display()))?;
    let slot = call::slot(platform, &wasm, &outline);
    let program = Program::load(Arc::clone(&wasm), slot, overrides).await?;
    let functions = program.functions();
    let read = read(&wasm, &functions, &text);
    let read = read.map_err(|why| AuthoringFailure::Usage(format!("{} {why}", cases.display())))?;
    let (mut text, mut failed) = (String::new(), 0_usize);
    for case in &read {
        let found = program.call(case.function, &case.arguments).await;
        let differences = case.expected.differences(&found);
        if !differences.is_empty() {
            failed += 1;
            text += &case.describe(&differences);
        }
    }
    let count = read.len();
    text += &format!("{count} cases, {} passed, {failed} failed\n", count.saturating_sub(failed));
    Ok(match failed {
        0 => CommandReport::done(text),
        _ => CommandReport::failed(text, AuthoringFailure::Cases { failed, cases: count }),
    })
}

/// Reads the cases of a file.
///
/// # Errors
/// When a line is wrong; the text begins with its number.
fn read<'a>(wasm: &[u8], functions: &'a [ExportedFunction], text: &str) -> Result<Vec<TestCase<'a>>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let cases: Result<Vec<_>, _> = lines
        .map(|(at, line)| {
            let number = at + 1;
            read_line(wasm, functions, number, line).map_err(|why| format!("line {number}: {why}"))
        })
        .collect();
    cases.and_then(|cases| if cases.is_empty() { Err("has no cases".to_owned()) } else { Ok(cases) })
}

fn read_line<'a>(
    wasm: &[u8],
    functions: &'a [ExportedFunction],
    line: usize,
    text: &str,
) -> Result<TestCase<'a>, String> {
    let parsed: CaseLine = serde_json::from_str(text).map_err(|error| json_fault(&error))?;
    let function = exports::find(functions, &parsed.export).map_err(|error| error.to_string())?;
    let arguments =
        values::arguments(wasm, function, &parsed.arguments).map_err(|error| error.to_string())?;
    let expected = expected(function.ty.results().next(), parsed.answer, parsed.error, parsed.trap)?;
    Ok(TestCase { line, name: parsed.name, function, arguments, expected })
}

/// Returns what is wrong with the JSON of one line. Its place is the column: the text counts that line as the first.
fn json_fault(error: &serde_json::Error) -> String {
    let (text, column) = (error.to_string(), error.column());
    let what = text.strip_suffix(&format!(" at line {} column {column}", error.line())).unwrap_or(&text);
    format!("{what} (column {column})")
}

/// Reads how a call of an export with this result has to end.
fn expected(
    result: Option<Type>,
    answer: Option<String>,
    error: Option<String>,
    trap: Option<String>,
) -> Result<ExpectedEnd, String> {
    match (answer, error, trap) {
        (Some(answer), None, None) => Ok(ExpectedEnd::Answer(read_answer(result, &answer)?)),
        (None, Some(error), None) => {
            let Some(result @ Type::Result(_)) = result else {
                return Err("the export returns no result, so it cannot answer with an error".to_owned());
            };
            let text = if error.is_empty() { "err".to_owned() } else { format!("err({error})") };
            Ok(ExpectedEnd::Answer(Some(wave(&result, &text)?)))
        }
        (None, None, Some(trap)) => Ok(ExpectedEnd::Trap(trap)),
        _ => Err("a case has one of answer, error and trap".to_owned()),
    }
}

fn read_answer(result: Option<Type>, text: &str) -> Result<Option<Val>, String> {
    match result {
        None if text.is_empty() => Ok(None),
        None => Err("the export returns nothing; write an empty answer".to_owned()),
        Some(ty @ Type::Result(_)) => {
            let whole = wave(&ty, text);
            // The payload alone may be ambiguous to the reader of WAVE.
            let payload = || wave(&ty, &format!("ok({text})"));
            whole.or_else(|error| payload().map_err(|_| error)).map(Some)
        }
        Some(ty) => wave(&ty, text).map(Some),
    }
}

fn wave(ty: &Type, text: &str) -> Result<Val, String> {
    Val::from_wave(ty, text).map_err(|error| format!("{text} is not WAVE text of the result: {error:#}"))
}

impl ExpectedEnd {
    /// Returns how a call ended differently, a line each.
    fn differences(&self, found: &Result<Option<Val>, CallEnd>) -> Vec<String> {
        match (self, found) {
            (Self::Answer(Some(expected)), Ok(Some(found))) => values::differences(expected, found),
            (Self::Answer(_), Ok(_)) => Vec::new(),
            (Self::Answer(_), Err(ended)) => {
                vec![format!(
                    "expected an answer, the call ended with {}: {}",
                    ended.outcome.as_str(),
                    ended.text
                )]
            }
            (Self::Trap(_), Ok(found)) => {
                let answer = found.as_ref().map(values::text).unwrap_or_default();
                vec![format!("expected a trap, found the answer {answer}")]
            }
            (Self::Trap(part), Err(ended)) => {
                let has_part = ended.text.contains(part) || ended.outcome.as_str() == part;
                let line = || format!("expected a trap with {part:?}, the call ended with: {}", ended.text);
                Vec::from_iter((!has_part).then(line))
            }
        }
    }
}

impl TestCase<'_> {
    /// Returns the lines about a case that failed.
    fn describe(&self, differences: &[String]) -> String {
        let name = self.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let head = format!("line {}: {}{name} differs\n", self.line, self.function.full_name());
        differences.iter().fold(head, |text, line| text + "    " + &line.replace('\n', "\n    ") + "\n")
    }
}
