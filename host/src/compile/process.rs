//! The process that compiles a component, as the host sees it.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::available_parallelism,
};

use rustix::process::Signal;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
};

use super::{
    CompileError,
    child::{ARGUMENT, Job, REFUSED},
    code::MachineCode,
};
use crate::{config::sandbox::Sandbox, engine::CodeSettings};

/// Bytes kept of what the process writes to its standard error.
const WORDS_BYTES: u64 = 4 << 10;
/// Bytes of code for each byte of a component, at most: instructions of one byte become several, each with an entry of
/// 8 bytes in the map of addresses.
const CODE_FOR_BYTE: u64 = 16;
/// Bytes of code that a component of no size may have.
const CODE_BYTES: u64 = 16 << 20;
/// How allocations fail: in Rust's standard library, in wasmtime and in the operating system.
const OUT_OF_MEMORY: [&str; 3] = ["memory allocation of", "out of memory", "Cannot allocate memory"];

/// Starts a process for each compilation, so that one can be bounded and ended, and takes no call along when it fails.
#[derive(Debug)]
pub(super) struct CompileProcess {
    program: PathBuf,
    code: CodeSettings,
    cpu_seconds: u64,
    memory_bytes: u64,
    running: AtomicUsize,
}

impl CompileProcess {
    /// Compiles for an engine with these settings.
    pub(super) fn new(code: CodeSettings, sandbox: &Sandbox) -> Self {
        Self {
            program: sandbox.compile_program.clone(),
            code,
            cpu_seconds: sandbox.compile_cpu_seconds,
            memory_bytes: sandbox.compile_memory_bytes,
            running: AtomicUsize::new(0),
        }
    }

    /// Compiles `wasm`; where the process fails for another reason than the component, once more with one thread. Dropping
    /// the future ends the process.
    pub(super) async fn translate(&self, wasm: Arc<[u8]>) -> Result<MachineCode, CompileError> {
        let share = Share::of(&self.running);
        let Self { code, cpu_seconds, memory_bytes, .. } = *self;
        let job = Job { code, cpu_seconds, memory_bytes, threads: share.threads(), wasm_bytes: wasm.len() };
        match self.run(&job, Arc::clone(&wasm)).await {
            Err(error) if may_pass(&error, &job) => {
                tracing::warn!(%error, "compiling again with one thread");
                self.run(&Job { threads: 1, ..job }, wasm).await
            }
            result => result,
        }
    }

    async fn run(&self, job: &Job, wasm: Arc<[u8]>) -> Result<MachineCode, CompileError> {
        let mut command = Command::new(&self.program);
        command.arg0("bulkhead").arg(ARGUMENT).args(job.arguments()).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // The host drains when a terminal interrupts it, and pushes that run end well.
        command.process_group(0);
        let failed = |error: std::io::Error| {
            let program = self.program.display();
            CompileError::Process(format!("cannot run {program}: {error}; see that it can be started").into())
        };
        let mut child = command.spawn().map_err(failed)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let send = async move {
            if let Some(mut stdin) = stdin {
                // A process that does not read it has ended, and its status says why.
                let _ = stdin.write_all(&wasm).await;
            }
            Ok::<_, CompileError>(())
        };
        let (receive, hear) = (all(stdout, code_bytes(job)), first(stderr, WORDS_BYTES));
        let hear = async { Ok::<_, CompileError>(hear.await) };
        let wait = async { child.wait().await.map_err(failed) };
        // Too much code ends all of it, and with it the process.
        let ((), code, words, status) = tokio::try_join!(send, receive, hear, wait)?;
        match failure(status, job, &words) {
            Some(error) => Err(error),
            None => Ok(MachineCode::new(code)),
        }
    }
}

/// A process that runs, among those that do.
struct Share<'a> {
    running: &'a AtomicUsize,
    among: usize,
}

impl<'a> Share<'a> {
    fn of(running: &'a AtomicUsize) -> Self {
        Self { running, among: running.fetch_add(1, Ordering::Relaxed).saturating_add(1) }
    }

    /// An equal part of the cores: a process alone uses all that are idle.
    fn threads(&self) -> usize {
        available_parallelism().map_or(1, usize::from).div_ceil(self.among)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The most code that a process may give. It is also no larger than the memory that it was made in.
fn code_bytes(job: &Job) -> u64 {
    let wasm = u64::try_from(job.wasm_bytes).unwrap_or(u64::MAX);
    wasm.saturating_mul(CODE_FOR_BYTE).saturating_add(CODE_BYTES).min(job.memory_bytes)
}

/// Reads a pipe to its end, of no more than `most` bytes.
async fn all(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> Result<Vec<u8>, CompileError> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // What was read before an error stays; the process' status says whether it is all.
        let _ = pipe.take(most.saturating_add(1)).read_to_end(&mut bytes).await;
    }
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        Ok(bytes)
    } else {
        Err(CompileError::CodeBytes(most))
    }
}

/// Reads a pipe to its end and returns its first bytes.
async fn first(pipe: Option<impl AsyncRead + Unpin>, bytes: u64) -> Vec<u8> {
    let mut kept = Vec::new();
    if let Some(mut pipe) = pipe {
        // What was read before an error stays; the process' status says whether it is all.
        let _ = (&mut pipe).take(bytes).read_to_end(&mut kept).await;
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    kept
}

/// Whether one thread may do what this process did not. Several take more memory than one.
fn may_pass(error: &CompileError, job: &Job) -> bool {
    match error {
        CompileError::Process(_) => true,
        CompileError::MemoryBytes(_) => job.threads_within_memory() > 1,
        CompileError::Refused(_)
        | CompileError::CpuSeconds(_)
        | CompileError::CodeBytes(_)
        | CompileError::Stopped => false,
    }
}

/// Why the process returned no code, where it did not.
fn failure(status: ExitStatus, job: &Job, words: &[u8]) -> Option<CompileError> {
    if status.success() {
        return None;
    }
    let words = String::from_utf8_lossy(words);
    let words: String =
        words.trim().chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    let signal = status.signal().and_then(Signal::from_named_raw);
    Some(if signal == Some(Signal::XCPU) {
        CompileError::CpuSeconds(job.cpu_seconds)
    } else if OUT_OF_MEMORY.iter().any(|text| words.contains(text)) {
        CompileError::MemoryBytes(job.memory_bytes)
    } else if status.code() == Some(i32::from(REFUSED)) {
        CompileError::Refused(words.into())
    } else if signal == Some(Signal::KILL) {
        let text =
            "the system has killed it, as it does when memory is short; lower sandbox.compile_memory_bytes";
        CompileError::Process(text.into())
    } else if signal.is_some_and(|signal| {
        [Signal::SEGV, Signal::BUS].contains(&signal) || (signal == Signal::ABORT && words.is_empty())
    }) {
        // A thread that cannot be started, or an allocator without memory for its own lists, has no words.
        let text = format!("{status}, as when memory is short; raise sandbox.compile_memory_bytes: {words}");
        CompileError::Process(text.trim_end_matches(": ").into())
    } else {
        CompileError::Process(format!("{status}: {words}").into())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const JOB: Job = Job {
        code: CodeSettings { stack_bytes: 1 << 19, reservation: None },
        cpu_seconds: 3,
        memory_bytes: 1 << 28,
        threads: 2,
        wasm_bytes: 8,
    };

    /// What is said of a process that ended with this raw status.
    fn said(status: i32, words: &str) -> Option<String> {
        failure(ExitStatus::from_raw(status), &JOB, words.as_bytes()).map(|error| error.to_string())
    }

    #[test]
    fn a_failed_process_is_reported_with_its_reason() {
        assert_eq!(said(0, "a warning"), None);
        for (status, words, part) in [
            (1 << 8, "bad \u{1b}[2J section", "does not compile: bad \u{fffd}[2J section"),
            (Signal::XCPU.as_raw(), "", "more than 3 s of processor time"),
            (Signal::ABORT.as_raw(), "memory allocation of 64 bytes failed", "more than 268435456 bytes"),
            (1 << 8, "Cannot allocate memory (os error 12)", "sandbox.compile_memory_bytes"),
            (Signal::KILL.as_raw(), "", "memory is short"),
            (
                Signal::SEGV.as_raw(),
                "",
                "signal: 11 (SIGSEGV), as when memory is short; raise sandbox.compile_memory",
            ),
            (Signal::ABORT.as_raw(), "", "raise sandbox.compile_memory_bytes"),
            (Signal::ABORT.as_raw(), "panicked at", "(SIGABRT): panicked at"),
            (101 << 8, "panicked at", "exit status: 101: panicked at"),
        ] {
            let said = said(status, words).unwrap();
            assert!(said.contains(part), "{status}: {said}");
        }
    }

    #[tokio::test]
    async fn code_is_read_whole_or_not_at_all() {
        let one = Job { memory_bytes: 1 << 40, ..JOB };
        assert_eq!(code_bytes(&one), (16 << 20) + 8 * 16);
        assert_eq!(code_bytes(&Job { wasm_bytes: usize::MAX, ..one }), 1 << 40);
        assert_eq!(all(Some(&b"code"[..]), 4).await.unwrap(), b"code");
        let refused = all(Some(&b"code"[..]), 3).await;
        assert!(matches!(refused, Err(CompileError::CodeBytes(3))), "{refused:?}");
    }

    #[test]
    fn only_failures_that_may_pass_are_retried() {
        let one = Job { threads: 1, ..JOB };
        let two = Job { memory_bytes: 1 << 30, ..JOB };
        for (error, retried) in [
            (CompileError::Process("killed".into()), [true, true]),
            (CompileError::MemoryBytes(1), [false, true]),
            (CompileError::CpuSeconds(1), [false, false]),
            (CompileError::CodeBytes(1), [false, false]),
            (CompileError::Refused("bad".into()), [false, false]),
        ] {
            assert_eq!([one, two].map(|job| may_pass(&error, &job)), retried, "{error}");
        }
    }

    #[test]
    fn processes_at_once_share_the_cores() {
        let (running, cores) = (AtomicUsize::new(0), available_parallelism().unwrap().get());
        let first = Share::of(&running);
        assert_eq!(first.threads(), cores);
        let second = Share::of(&running);
        assert_eq!(second.threads(), cores.div_ceil(2));
        drop((first, second));
        assert_eq!(Share::of(&running).threads(), cores);
    }
}
