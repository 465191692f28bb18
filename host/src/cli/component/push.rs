//! Pushing a component, with the stages that it passes on standard error.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{operate::path, reference};
use crate::{
    cli::{
        client::{Failure, PATIENCE, Remote},
        exit::Misuse,
        output,
    },
    config::{sandbox::LARGEST_COMPONENT_BYTES, slots::SlotId},
    deploy::EMBEDDED,
    files,
    slots::read_component,
};

/// First time between two looks at a push.
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// Longest time between two looks.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// Has the host take a component, a file or a reference that it pulls; the version, which has passed its trial.
pub(super) fn push(remote: &Remote, slot: SlotId, file: &Path) -> anyhow::Result<Value> {
    let (name, to) = (file.display().to_string(), path(slot, "/versions"));
    let mut progress;
    let (status, answer) = if reference(file).is_some() {
        progress = Progress::new(format!("the host pulls {name}"));
        remote.start(&to, &[], |request| request.json(&json!({ "reference": name })))?
    } else {
        // The host has a cap of its own; this one is for what has no end.
        if name == EMBEDDED && !file.exists() {
            return Err(Misuse(format!(
                "{EMBEDDED} is not a file; `bulkhead component swap {slot} {EMBEDDED}` has the built-in component answer"
            ))
            .into());
        }
        let wasm = read_component(file, LARGEST_COMPONENT_BYTES)?.to_vec();
        progress = Progress::new(format!("pushing {name}, {} bytes", wasm.len()));
        let beside = PathBuf::from(format!("{name}.minisig"));
        let signature = match files::read_text(&beside) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", beside.display())),
        };
        remote.upload(&to, &name, wasm, signature.as_deref())?
    };
    // A host that knows no jobs has answered when all was done.
    let version =
        if status == StatusCode::ACCEPTED { follow(remote, &answer, &mut progress)? } else { answer };
    let id = output::cell(version.get("id"));
    let stage =
        version.pointer("/moves").and_then(Value::as_array).and_then(|moves| moves.last()?.get("stage"));
    progress.end(&match (version.get("answering"), stage.and_then(Value::as_str)) {
        (Some(Value::Bool(true)), _) => format!("version {id} answers already"),
        (_, Some("candidate")) => format!("version {id} is the candidate already"),
        _ => format!("version {id} has passed its trial"),
    });
    Ok(version)
}

/// Waits for a job to end and shows its stages.
fn follow(remote: &Remote, started: &Value, progress: &mut Progress) -> anyhow::Result<Value> {
    let id = started.get("id").and_then(Value::as_str).context("the host's answer names no job")?;
    let (begin, mut pause) = (Instant::now(), FIRST_LOOK);
    loop {
        let mut job = remote.get(&format!("/v1/jobs/{id}"))?;
        progress.show(&job);
        match job.get("state").and_then(Value::as_str) {
            Some("succeeded") => return Ok(job.get_mut("version").map(Value::take).unwrap_or_default()),
            Some("failed") => return Err(Failure::described(job.get("error").unwrap_or(&Value::Null)).into()),
            _ if begin.elapsed() > PATIENCE => {
                anyhow::bail!("the push has not ended; the slot's history says what becomes of the component")
            }
            _ => thread::sleep(pause),
        }
        pause = (pause * 2).min(LAST_LOOK);
    }
}

/// What is shown of a push: one line that changes on a terminal, else a line a stage.
struct Progress {
    what: String,
    bar: Option<ProgressBar>,
    shown: usize,
}

impl Progress {
    fn new(what: String) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
                bar.set_style(style);
            }
            bar.set_message(what.clone());
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        if bar.is_none() {
            output::aside(&what);
        }
        Self { what, bar, shown: 0 }
    }

    /// Shows the stages that a job has passed since the last look.
    fn show(&mut self, job: &Value) {
        let stages = job.get("stages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for stage in stages.iter().skip(self.shown) {
            let stage = output::cell(stage.get("stage"));
            match &self.bar {
                Some(bar) => bar.set_message(format!("{}: {stage}", self.what)),
                None => output::aside(stage),
            }
        }
        self.shown = stages.len();
    }

    /// Shows what came of it.
    fn end(&self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        output::aside(line);
    }
}

impl Drop for Progress {
    /// Leaves the terminal to an error's text.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
