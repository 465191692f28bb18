//! The host's side of the compiler process.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::Arc,
    thread::available_parallelism,
};

use bulkhead_config::sandbox::Sandbox;
use rustix::process::Signal;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
};

use super::{
    CompileError,
    child::{ARGUMENT, CompileJob, REFUSED},
    code::MachineCode,
};
use crate::engine::{CodeSettings, CodeTarget};

/// Bytes that are kept of the process' standard error.
const STDERR_BYTES: u64 = 4 << 10;
/// Most bytes of code for each byte of a component: an instruction of one byte becomes several, each with an entry of 8
/// bytes in the address map.
const CODE_PER_BYTE: u64 = 16;
/// Most bytes of code that are independent of the component's size.
const CODE_BYTES: u64 = 16 << 20;
/// Error texts of failed allocations: Rust's standard library, wasmtime and the operating system.
const OUT_OF_MEMORY: [&str; 3] = ["memory allocation of", "out of memory", "Cannot allocate memory"];

/// Starts a process for each compilation, which can be limited and killed, and whose failure affects no call.
#[derive(Debug)]
pub(super) struct CompileProcess {
    program: PathBuf,
    code: CodeSettings,
    target: Option<CodeTarget>,
    cpu_seconds: u64,
    memory_bytes: u64,
}

impl CompileProcess {
    /// Returns a process for an engine with these settings.
    pub(super) fn new(code: CodeSettings, sandbox: &Sandbox) -> Self {
        Self {
            program: sandbox.compile_program.clone(),
            code,
            target: None,
            cpu_seconds: sandbox.compile_cpu_seconds,
            memory_bytes: sandbox.compile_memory_bytes,
        }
    }

    /// Returns the process for code for a machine instead of for this very processor.
    pub(super) fn with_target(self, target: CodeTarget) -> Self {
        Self { target: Some(target), ..self }
    }

    /// Compiles `wasm`. Where the process fails for another reason than the component, retries with one thread.
    /// Dropping the future kills the process.
    pub(super) async fn compile(&self, wasm: Arc<[u8]>) -> Result<MachineCode, CompileError> {
        let Self { code, target, cpu_seconds, memory_bytes, .. } = *self;
        let job = CompileJob {
            code,
            target,
            cpu_seconds,
            memory_bytes,
            // Also beside another process: with a part of the cores, the last one would leave the others idle.
            threads: available_parallelism().map_or(1, usize::from),
            wasm_bytes: wasm.len(),
        };
        match self.run(&job, Arc::clone(&wasm)).await {
            Err(error) if is_retryable(&error, &job) => {
                tracing::warn!(%error, "compiling again with one thread");
                self.run(&CompileJob { threads: 1, ..job }, wasm).await
            }
            result => result,
        }
    }

    async fn run(&self, job: &CompileJob, wasm: Arc<[u8]>) -> Result<MachineCode, CompileError> {
        let mut command = Command::new(&self.program);
        command.arg0("bulkhead").arg(ARGUMENT).args(job.arguments()).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // A terminal's interrupt must not reach the process: the host drains, and running pushes complete.
        command.process_group(0);
        let failed = |error: std::io::Error| {
            let program = self.program.display();
            CompileError::Process(
                format!("cannot run {program}: {error}; check that it is executable").into(),
            )
        };
        let mut child = command.spawn().map_err(failed)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let send = async move {
            if let Some(mut stdin) = stdin {
                // A process that stops reading has ended, and its status says why.
                let _ = stdin.write_all(&wasm).await;
            }
            Ok::<_, CompileError>(())
        };
        let (receive, read_stderr) = (read_all(stdout, code_bytes(job)), read_prefix(stderr, STDERR_BYTES));
        let read_stderr = async { Ok::<_, CompileError>(read_stderr.await) };
        let wait = async { child.wait().await.map_err(failed) };
        // Too much code cancels the other futures and kills the process.
        let ((), code, stderr, status) = tokio::try_join!(send, receive, read_stderr, wait)?;
        match failure(status, job, &stderr) {
            Some(error) => Err(error),
            None => Ok(MachineCode::new(code)),
        }
    }
}

/// Returns the most bytes of code that a process may return, at most the memory that it may use.
fn code_bytes(job: &CompileJob) -> u64 {
    let wasm = u64::try_from(job.wasm_bytes).unwrap_or(u64::MAX);
    wasm.saturating_mul(CODE_PER_BYTE).saturating_add(CODE_BYTES).min(job.memory_bytes)
}

/// Reads a pipe of at most `most` bytes to its end.
async fn read_all(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> Result<Vec<u8>, CompileError> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // Bytes before an error are kept; the process' status says whether they are complete.
        let _ = pipe.take(most.saturating_add(1)).read_to_end(&mut bytes).await;
    }
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        Ok(bytes)
    } else {
        Err(CompileError::CodeBytes(most))
    }
}

/// Reads a pipe to its end and returns its first `bytes` bytes.
async fn read_prefix(pipe: Option<impl AsyncRead + Unpin>, bytes: u64) -> Vec<u8> {
    let mut kept = Vec::new();
    if let Some(mut pipe) = pipe {
        // Bytes before an error are kept; the process' status says whether they are complete.
        let _ = (&mut pipe).take(bytes).read_to_end(&mut kept).await;
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    kept
}

/// Returns whether a retry with one thread may succeed. Several threads take more memory than one.
fn is_retryable(error: &CompileError, job: &CompileJob) -> bool {
    match error {
        CompileError::Process(_) => true,
        CompileError::MemoryBytes(_) => job.threads_within_memory() > 1,
        CompileError::Refused(_)
        | CompileError::CpuSeconds(_)
        | CompileError::CodeBytes(_)
        | CompileError::Pack(_)
        | CompileError::NoCompiler
        | CompileError::Stopped => false,
    }
}

/// Returns the error of a process that returned no code.
fn failure(status: ExitStatus, job: &CompileJob, stderr: &[u8]) -> Option<CompileError> {
    if status.success() {
        return None;
    }
    let stderr = String::from_utf8_lossy(stderr);
    let stderr: String =
        stderr.trim().chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    let signal = status.signal().and_then(Signal::from_named_raw);
    Some(if signal == Some(Signal::XCPU) {
        CompileError::CpuSeconds(job.cpu_seconds)
    } else if OUT_OF_MEMORY.iter().any(|text| stderr.contains(text)) {
        CompileError::MemoryBytes(job.memory_bytes)
    } else if status.code() == Some(i32::from(REFUSED)) {
        CompileError::Refused(stderr.into())
    } else if signal == Some(Signal::KILL) {
        let text =
            "the system killed it, probably because memory is short; lower sandbox.compile_memory_bytes";
        CompileError::Process(text.into())
    } else if signal.is_some_and(|signal| {
        [Signal::SEGV, Signal::BUS].contains(&signal) || (signal == Signal::ABORT && stderr.is_empty())
    }) {
        // A thread that cannot be started, or an allocator without memory for its own lists, writes nothing.
        let text = format!(
            "{status}, probably because memory is short; raise sandbox.compile_memory_bytes: {stderr}"
        );
        CompileError::Process(text.trim_end_matches(": ").into())
    } else {
        CompileError::Process(format!("{status}: {stderr}").into())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const JOB: CompileJob = CompileJob {
        code: CodeSettings { stack_bytes: 1 << 19, reservation: None },
        target: None,
        cpu_seconds: 3,
        memory_bytes: 1 << 28,
        threads: 2,
        wasm_bytes: 8,
    };

    /// Returns the error text of a process that ended with this raw status.
    fn text_of(status: i32, stderr: &str) -> Option<String> {
        failure(ExitStatus::from_raw(status), &JOB, stderr.as_bytes()).map(|error| error.to_string())
    }

    #[test]
    fn failed_process_reports_its_reason() {
        assert_eq!(text_of(0, "a warning"), None);
        for (status, stderr, part) in [
            (1 << 8, "bad \u{1b}[2J section", "does not compile: bad \u{fffd}[2J section"),
            (Signal::XCPU.as_raw(), "", "more than 3 s of processor time"),
            (Signal::ABORT.as_raw(), "memory allocation of 64 bytes failed", "more than 268435456 bytes"),
            (1 << 8, "Cannot allocate memory (os error 12)", "sandbox.compile_memory_bytes"),
            (Signal::KILL.as_raw(), "", "memory is short"),
            (
                Signal::SEGV.as_raw(),
                "",
                "signal: 11 (SIGSEGV), probably because memory is short; raise sandbox.compile_memory",
            ),
            (Signal::ABORT.as_raw(), "", "raise sandbox.compile_memory_bytes"),
            (Signal::ABORT.as_raw(), "panicked at", "(SIGABRT): panicked at"),
            (101 << 8, "panicked at", "exit status: 101: panicked at"),
        ] {
            let text = text_of(status, stderr).unwrap();
            assert!(text.contains(part), "{status}: {text}");
        }
    }

    #[tokio::test]
    async fn code_over_limit_is_refused() {
        let one = CompileJob { memory_bytes: 1 << 40, ..JOB };
        assert_eq!(code_bytes(&one), (16 << 20) + 8 * 16);
        assert_eq!(code_bytes(&CompileJob { wasm_bytes: usize::MAX, ..one }), 1 << 40);
        assert_eq!(read_all(Some(&b"code"[..]), 4).await.unwrap(), b"code");
        let refused = read_all(Some(&b"code"[..]), 3).await;
        assert!(matches!(refused, Err(CompileError::CodeBytes(3))), "{refused:?}");
    }

    #[test]
    fn only_passing_failures_are_retried() {
        let one = CompileJob { threads: 1, ..JOB };
        let two = CompileJob { memory_bytes: 1 << 30, ..JOB };
        for (error, retried) in [
            (CompileError::Process("killed".into()), [true, true]),
            (CompileError::MemoryBytes(1), [false, true]),
            (CompileError::CpuSeconds(1), [false, false]),
            (CompileError::CodeBytes(1), [false, false]),
            (CompileError::Refused("bad".into()), [false, false]),
        ] {
            assert_eq!([one, two].map(|job| is_retryable(&error, &job)), retried, "{error}");
        }
    }
}
