//! Values of exports: from text and to text, and where two differ.

#[cfg(test)]
mod tests;

use wasmtime::component::{Type, Val, wasm_wave::wasm::DisplayType};

use crate::{
    component::exports::{self, ExportedFunction},
    report::AuthoringFailure,
};

/// Reads the arguments of a function from WAVE text.
///
/// # Errors
/// When their number or a value is wrong; the text has the signature.
pub(crate) fn arguments(
    wasm: &[u8],
    function: &ExportedFunction,
    texts: &[String],
) -> Result<Vec<Val>, AuthoringFailure> {
    let parameters: Vec<(&str, Type)> = function.ty.params().collect();
    if parameters.iter().any(|(_, ty)| matches!(ty, Type::Own(_) | Type::Borrow(_))) {
        return Err(AuthoringFailure::Usage(format!(
            "{} takes handles, which no text can give; `component check` says how such a component is served, and \
             `run` serves one of wasi:http",
            function.full_name()
        )));
    }
    if parameters.len() != texts.len() {
        let (takes, given) = (parameters.len(), texts.len());
        let arguments = if takes == 1 { "argument" } else { "arguments" };
        return Err(AuthoringFailure::Usage(format!(
            "{} takes {takes} {arguments}, {given} given\n  {}",
            function.full_name(),
            exports::signature(wasm, function)
        )));
    }
    let read = |((at, (name, ty)), text): ((usize, (&str, Type)), &String)| {
        Val::from_wave(&ty, text).map_err(|error| {
            AuthoringFailure::Usage(format!(
                "argument {} ({name}) is not WAVE text of its type: {error:#}\n  the type: {}\n  {}",
                at + 1,
                DisplayType(&ty),
                exports::signature(wasm, function)
            ))
        })
    };
    parameters.into_iter().enumerate().zip(texts).map(read).collect()
}

/// Returns a value as WAVE text.
pub(crate) fn text(value: &Val) -> String {
    // Only handles have no text.
    value.to_wave().unwrap_or_else(|_| "(a handle)".to_owned())
}

/// Returns the payload of `err` where the value is a result that is an error.
pub(crate) fn error(value: &Val) -> Option<Option<&Val>> {
    match value {
        Val::Result(Err(payload)) => Some(payload.as_deref()),
        _ => None,
    }
}

/// Returns where two values differ, a line each: the path, what was expected and what was found.
pub(crate) fn differences(expected: &Val, found: &Val) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", expected, found, &mut lines);
    lines
}

fn compare(path: &str, expected: &Val, found: &Val, lines: &mut Vec<String>) {
    let boxed = |one: &Option<Box<Val>>, two: &Option<Box<Val>>, name: &str, lines: &mut Vec<String>| match (
        one, two,
    ) {
        (Some(one), Some(two)) => compare(&member(path, name), one, two, lines),
        (None, None) => {}
        _ => add(path, expected, found, lines),
    };
    match (expected, found) {
        (Val::Record(one), Val::Record(two)) => {
            for (name, value) in one {
                if let Some((_, other)) = two.iter().find(|(other, _)| other == name) {
                    compare(&member(path, name), value, other, lines);
                }
            }
        }
        (Val::List(one), Val::List(two)) | (Val::Tuple(one), Val::Tuple(two)) if one.len() == two.len() => {
            for (at, (one, two)) in one.iter().zip(two).enumerate() {
                compare(&format!("{path}[{at}]"), one, two, lines);
            }
        }
        (Val::Option(one), Val::Option(two)) => boxed(one, two, "some", lines),
        (Val::Result(Ok(one)), Val::Result(Ok(two))) => boxed(one, two, "ok", lines),
        (Val::Result(Err(one)), Val::Result(Err(two))) => boxed(one, two, "err", lines),
        (Val::Variant(case, one), Val::Variant(other, two)) if case == other => boxed(one, two, case, lines),
        _ if expected == found => {}
        _ => add(path, expected, found, lines),
    }
}

fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn add(path: &str, expected: &Val, found: &Val, lines: &mut Vec<String>) {
    let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
    lines.push(format!("{path}expected {}, found {}", text(expected), text(found)));
}
