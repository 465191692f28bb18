//! Pushes a component and prints the stages that it passes on standard error.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use bulkhead_cli::{
    RemoteError,
    client::{Remote, TIMEOUT},
    exit::UsageError,
    output,
};
use bulkhead_config::{sandbox::LARGEST_COMPONENT_BYTES, slots::SlotId};
use bulkhead_os::files;
use bulkhead_rollout::EMBEDDED;
use bulkhead_runtime::slots::read_component;
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{reference, slot_path};

/// First delay between two polls of a push.
const FIRST_POLL_DELAY: Duration = Duration::from_millis(50);
/// Longest delay between two polls.
const LONGEST_POLL_DELAY: Duration = Duration::from_secs(1);

/// Pushes a component, which is a file or a reference that the host pulls. Returns the version, which has passed its
/// self-test.
pub(super) fn push(remote: &Remote, slot: SlotId, file: &Path) -> anyhow::Result<Value> {
    let (name, to) = (file.display().to_string(), slot_path(slot, "/versions"));
    let mut progress;
    let (status, answer) = if reference(file).is_some() {
        progress = PushProgress::new(format!("the host pulls {name}"));
        remote.start(&to, &[], |request| request.json(&json!({ "reference": name })))?
    } else {
        if name == EMBEDDED && !file.exists() {
            return Err(UsageError(format!(
                "{EMBEDDED} is not a file; `bulkhead component swap {slot} {EMBEDDED}` has the embedded component answer"
            ))
            .into());
        }
        // The host has a cap of its own; this one is for files without an end.
        let wasm = read_component(file, LARGEST_COMPONENT_BYTES)?.to_vec();
        progress = PushProgress::new(format!("pushing {name}, {} bytes", wasm.len()));
        let signature_file = PathBuf::from(format!("{name}.minisig"));
        let signature = match files::read_text(&signature_file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", signature_file.display()));
            }
        };
        remote.upload(&to, &name, wasm, signature.as_deref())?
    };
    // A host without jobs answers when the push has ended.
    let version =
        if status == StatusCode::ACCEPTED { wait_for_job(remote, &answer, &mut progress)? } else { answer };
    let id = output::cell(version.get("id"));
    let stage =
        version.pointer("/moves").and_then(Value::as_array).and_then(|moves| moves.last()?.get("stage"));
    progress.end(&match (version.get("answering"), stage.and_then(Value::as_str)) {
        (Some(Value::Bool(true)), _) => format!("version {id} answers already"),
        (_, Some("candidate")) => format!("version {id} is the candidate already"),
        _ => format!("version {id} has passed its checks and its self-test"),
    });
    Ok(version)
}

/// Waits for a job to end, and shows its stages.
fn wait_for_job(remote: &Remote, started: &Value, progress: &mut PushProgress) -> anyhow::Result<Value> {
    let id = started.get("id").and_then(Value::as_str).context("the host's answer names no job")?;
    let (begin, mut pause) = (Instant::now(), FIRST_POLL_DELAY);
    loop {
        let mut job = remote.get(&format!("/v1/jobs/{id}"))?;
        progress.show(&job);
        match job.get("state").and_then(Value::as_str) {
            Some("succeeded") => return Ok(job.get_mut("version").map(Value::take).unwrap_or_default()),
            Some("failed") => {
                return Err(RemoteError::from_json(job.get("error").unwrap_or(&Value::Null)).into());
            }
            _ if begin.elapsed() > TIMEOUT => {
                anyhow::bail!("the push has not ended; the slot's history shows how it ends")
            }
            _ => thread::sleep(pause),
        }
        pause = (pause * 2).min(LONGEST_POLL_DELAY);
    }
}

/// Shows a push: one line that changes on a terminal, else a line a stage.
struct PushProgress {
    what: String,
    bar: Option<ProgressBar>,
    shown: usize,
}

impl PushProgress {
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
            output::stderr_line(&what);
        }
        Self { what, bar, shown: 0 }
    }

    /// Shows the stages that a job has passed since the last poll.
    fn show(&mut self, job: &Value) {
        let stages = job.get("stages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for stage in stages.iter().skip(self.shown) {
            let stage = output::cell(stage.get("stage"));
            match &self.bar {
                Some(bar) => bar.set_message(format!("{}: {stage}", self.what)),
                None => output::stderr_line(stage),
            }
        }
        self.shown = stages.len();
    }

    /// Shows the result.
    fn end(&self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        output::stderr_line(line);
    }
}

impl Drop for PushProgress {
    /// Clears the line, so that an error's text can follow.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
