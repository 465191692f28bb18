//! Prints the host's answers about slots and versions for people.

use bulkhead_cli::output::{self, OutputError, cell};
use serde_json::{Value, json};

/// Digits of a version's id that are printed.
const DIGITS: usize = 16;

/// Prints a table of slots.
pub(super) fn slots(answer: &Value) -> Result<(), OutputError> {
    let slots = answer.get("slots").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let row = |slot: &Value| {
        json!({
            "slot": slot.get("slot"),
            "generation": generation(slot),
            "active": slot.pointer("/active/id").map_or_else(|| json!("none"), |id| json!(cut(&cell(Some(id))))),
            "source": slot.pointer("/active/source"),
            "since": slot.get("active").and_then(last).and_then(|step| step.get("at")),
            "candidate": slot.pointer("/candidate/id"),
            "weight": slot.pointer("/candidate/weight"),
            "empty": slot.get("empty").and_then(Value::as_str).and_then(|why| why.lines().next()),
        })
    };
    let rows = Value::Array(slots.iter().map(row).collect());
    let columns = ["slot", "generation", "active", "source", "since", "candidate", "weight", "empty"];
    output::table(&columns, Some(&rows))
}

/// Returns a slot's generation, marked if it is not on disk.
fn generation(slot: &Value) -> String {
    let mark = if slot.get("kept") == Some(&json!(false)) { " (not written)" } else { "" };
    format!("{}{mark}", cell(slot.get("generation")))
}

/// Prints a slot with its versions.
pub(super) fn slot(slot: &Value) -> Result<(), OutputError> {
    let text = |name: &str| cell(slot.get(name));
    output::line(format_args!("slot         {} ({})", text("slot"), text("world")))?;
    output::line(format_args!("generation   {}", text("generation")))?;
    if slot.get("kept") == Some(&json!(false)) {
        output::line(format_args!(
            "             in memory only: it is not written yet; /health/ready has the reason"
        ))?;
    }
    if let Some(shared) = slot.get("shared").filter(|shared| !shared.is_null()) {
        let text = |name: &str| cell(shared.get(name));
        output::line(format_args!("shared       desired {}, applied {}", text("desired"), text("applied")))?;
        for why in ["behind", "away"] {
            if let Some(reason) = shared.get(why).and_then(Value::as_str) {
                output::line(format_args!(
                    "             {why}: {}",
                    reason.replace('\n', "\n             ")
                ))?;
            }
        }
    }
    for (role, label) in [("active", "active"), ("candidate", "candidate"), ("predecessor", "previous")] {
        if let Some(version) = slot.get(role).filter(|version| !version.is_null()) {
            output::line(format_args!("{label:12} {}", summary(version)))?;
            output::line(format_args!("             {}", step(last(version))))?;
        }
        if let Some(version) = slot.get(role).filter(|version| version.get("calls").is_some()) {
            let figure = |name: &str| cell(version.get(name));
            output::line(format_args!(
                "             {}; {} calls, {} failures, {} errors, {} running{}",
                if version.get("shadow") == Some(&json!(true)) {
                    "in shadow".to_owned()
                } else {
                    format!("{} % of the calls", figure("weight"))
                },
                figure("calls"),
                figure("failures"),
                figure("errors"),
                figure("in_flight"),
                if version.get("circuit_open") == Some(&json!(true)) { "; circuit open" } else { "" },
            ))?;
        }
    }
    match slot.get("empty").and_then(Value::as_str) {
        Some(why) => output::line(format_args!("empty        {}", why.replace('\n', "\n             "))),
        None => Ok(()),
    }
}

/// Prints a version with its stages.
pub(super) fn version(version: &Value) -> Result<(), OutputError> {
    output::line(summary(version))?;
    let steps = version.get("moves").and_then(Value::as_array);
    steps.into_iter().flatten().try_for_each(|one| output::line(format_args!("  {}", step(Some(one)))))
}

/// Prints a slot's versions.
pub(super) fn versions(answer: &Value) -> Result<(), OutputError> {
    let versions = answer.get("versions").and_then(Value::as_array);
    versions.into_iter().flatten().try_for_each(version)
}

/// Prints how a version in shadow answers.
pub(super) fn shadow(answer: &Value) -> Result<(), OutputError> {
    let text = |name: &str| cell(answer.get(name));
    output::line(format_args!("slot {}, version {} in shadow", text("slot"), text("version")))?;
    output::line(format_args!(
        "{} answered alike, {} in another way, {} failed, {} skipped",
        text("same"),
        text("different"),
        text("failed"),
        text("skipped")
    ))?;
    let differences = answer.get("differences").and_then(Value::as_array);
    differences.into_iter().flatten().try_for_each(|difference| {
        output::line(format_args!("{} {}", cell(difference.get("at")), cell(difference.get("call"))))?;
        let members = difference.get("members").and_then(Value::as_array);
        members.into_iter().flatten().try_for_each(|member| {
            let side = |name: &str| member.get(name).and_then(Value::as_str).unwrap_or("(not there)");
            output::line(format_args!(
                "  {}: {} -> {}",
                cell(member.get("name")),
                side("live"),
                side("shadow")
            ))
        })
    })
}

/// Prints how two versions differ.
pub(super) fn diff(answer: &Value) -> Result<(), OutputError> {
    for side in ["a", "b"] {
        let text = |name: &str| cell(answer.get(side).and_then(|side| side.get(name)));
        output::line(format_args!(
            "{side}  {} {}, {} bytes from {}",
            cut(&text("id")),
            text("component"),
            text("bytes"),
            text("source")
        ))?;
        output::line(format_args!(
            "   built for {}",
            list(answer.get(side).and_then(|side| side.get("packages")))
        ))?;
    }
    for what in ["imports", "exports"] {
        for (side, name) in [("a", "only_a"), ("b", "only_b")] {
            let names = list(answer.get(what).and_then(|names| names.get(name)));
            if !names.is_empty() {
                output::line(format_args!("{what} of {side} only: {names}"))?;
            }
        }
    }
    let settings = answer.get("settings").and_then(Value::as_array);
    settings.into_iter().flatten().try_for_each(|setting| {
        let side = |name: &str| setting.get(name).and_then(Value::as_str).unwrap_or("(not set)");
        output::line(format_args!("{}: {} -> {}", cell(setting.get("key")), side("a"), side("b")))
    })
}

fn list(names: Option<&Value>) -> String {
    let names = names.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

/// Prints lines of a slot's log.
pub(super) fn lines(answer: &Value) -> Result<(), OutputError> {
    let lines = answer.get("lines").and_then(Value::as_array);
    lines.into_iter().flatten().try_for_each(|line| {
        let text = |name: &str| cell(line.get(name));
        output::line(format_args!(
            "{} {:8} {} {} {}",
            text("at"),
            text("level"),
            text("version"),
            text("context"),
            text("message")
        ))
    })
}

fn summary(version: &Value) -> String {
    let text = |name: &str| cell(version.get(name));
    format!(
        "{} {}, {} bytes from {}, settings {}",
        cut(&text("id")),
        text("component"),
        text("bytes"),
        text("source"),
        text("revision")
    )
}

fn step(step: Option<&Value>) -> String {
    let text = |name: &str| cell(step.and_then(|step| step.get(name)));
    let reason = output::one_line(&text("reason"));
    let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
    format!("{} {} by {}{reason}", text("at"), text("stage"), text("actor"))
}

fn last(version: &Value) -> Option<&Value> {
    version.get("moves").and_then(Value::as_array).and_then(|moves| moves.last())
}

fn cut(id: &str) -> String {
    id.chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_in_memory_only_is_marked() {
        for (kept, text) in [(Some(true), "7"), (Some(false), "7 (not written)"), (None, "7")] {
            assert_eq!(generation(&json!({ "generation": 7, "kept": kept })), text);
        }
    }
}
