//! The compiler process itself: the host's own binary, started with a special argument.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, Read as _, Write as _},
    process::ExitCode,
};

use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};

use crate::{
    background,
    engine::{CodeSettings, CodeTarget},
};

/// The first argument of a compiler process; no command has this name.
pub(super) const ARGUMENT: &str = "--compile-component";
/// Exit code when the compiler refuses the component; standard error has the reason.
pub(super) const REFUSED: u8 = 1;
/// Exit code when nothing was compiled for another reason.
const UNUSABLE: u8 = 2;
/// The argument for code for this very processor instead of a target triple.
const THIS_PROCESSOR: &str = "this";
/// Most threads of one process: each keeps functions in memory.
const THREADS: usize = 16;
/// Address space for each thread. A thread takes a stack and an allocator arena before it compiles anything, and arenas
/// never shrink: 16 threads failed at 2 GiB with less than half of that in memory.
const THREAD_BYTES: u64 = 512 << 20;

/// The compilation that a process does, with its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CompileJob {
    /// The settings of the engine that the code is for.
    pub(super) code: CodeSettings,
    /// The machine that the code is for; `None` for this very processor.
    pub(super) target: Option<CodeTarget>,
    /// Processor time of all threads together, seconds.
    pub(super) cpu_seconds: u64,
    /// Address space, bytes.
    pub(super) memory_bytes: u64,
    /// The number of threads that compile.
    pub(super) threads: usize,
    /// Size of the component, bytes.
    pub(super) wasm_bytes: usize,
}

impl CompileJob {
    /// Returns the arguments that [`CompileJob::parse`] reads.
    pub(super) fn arguments(&self) -> [String; 7] {
        let Self { code: CodeSettings { stack_bytes, reservation }, .. } = *self;
        [
            stack_bytes.to_string(),
            reservation.map_or_else(|| "none".to_owned(), |bytes| bytes.to_string()),
            self.target.map_or(THIS_PROCESSOR, CodeTarget::triple).to_owned(),
            self.cpu_seconds.to_string(),
            self.memory_bytes.to_string(),
            self.threads.to_string(),
            self.wasm_bytes.to_string(),
        ]
    }

    /// Returns the number of threads, which its memory limits.
    pub(super) fn threads_within_memory(&self) -> usize {
        let enough = usize::try_from(self.memory_bytes / THREAD_BYTES).unwrap_or(THREADS);
        self.threads.min(enough).clamp(1, THREADS)
    }

    fn parse(arguments: &[String]) -> Option<Self> {
        let [stack, reservation, target, cpu_seconds, memory_bytes, threads, wasm_bytes] = arguments else {
            return None;
        };
        let reservation = match reservation.as_str() {
            "none" => None,
            bytes => Some(bytes.parse().ok()?),
        };
        let target = match target.as_str() {
            THIS_PROCESSOR => None,
            triple => Some(CodeTarget::parse(triple).ok()?),
        };
        Some(Self {
            code: CodeSettings { stack_bytes: stack.parse().ok()?, reservation },
            target,
            cpu_seconds: cpu_seconds.parse().ok()?,
            memory_bytes: memory_bytes.parse().ok()?,
            threads: threads.parse().ok()?,
            wasm_bytes: wasm_bytes.parse().ok()?,
        })
    }
}

/// Compiles one component from standard input to standard output, if the process was started for that. Call it before the
/// process reads configuration, writes a log or starts a thread.
pub fn compile_if_asked() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let arguments: Result<Vec<String>, OsString> = arguments.map(OsString::into_string).collect();
    let job = arguments.ok().and_then(|arguments| CompileJob::parse(&arguments));
    let Some(job) = job else {
        return Some(fail(UNUSABLE, "the arguments of the compilation are invalid"));
    };
    if let Err(error) = confine(&job) {
        return Some(fail(UNUSABLE, &format!("cannot set the resource limits: {error}")));
    }
    Some(match compile(&job) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Refused(error)) => fail(REFUSED, &format!("{error:#}")),
        Err(Failure::Pipe(error)) => fail(UNUSABLE, &format!("the host is gone: {error}")),
    })
}

fn fail(code: u8, reason: &str) -> ExitCode {
    // An error means that no reader is left.
    let _ = io::stderr().write_all(reason.as_bytes());
    code.into()
}

enum Failure {
    Refused(wasmtime::Error),
    Pipe(io::Error),
}

/// Bounds this process and ties it to the host, before it reads a byte of the component.
fn confine(job: &CompileJob) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Makes the kernel kill this process before the host when memory is short. Some kernels and containers forbid it.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    // The soft limit sends a signal that names the reason; the hard limit kills one second later.
    limit(Resource::Cpu, job.cpu_seconds, 1)?;
    limit(Resource::As, job.memory_bytes, 0)?;
    limit(Resource::Core, 0, 0)?;
    limit(Resource::Fsize, 0, 0)?;
    background::yield_to_calls();
    Ok(())
}

/// Sets a limit, or keeps the existing one where it is lower.
fn limit(resource: Resource, value: u64, grace: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let (current, maximum) = (value.min(most), value.saturating_add(grace).min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(current), maximum: Some(maximum) })?)
}

fn compile(job: &CompileJob) -> Result<(), Failure> {
    let mut wasm = Vec::new();
    let most = u64::try_from(job.wasm_bytes).unwrap_or(u64::MAX);
    io::stdin().lock().take(most).read_to_end(&mut wasm).map_err(Failure::Pipe)?;
    if wasm.len() != job.wasm_bytes {
        return Err(Failure::Pipe(io::ErrorKind::UnexpectedEof.into()));
    }
    // Where no threads can be started, this one compiles.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.threads_within_memory()).build_global();
    let engine = job.code.compiling(pool.is_ok(), job.target).map_err(Failure::Refused)?;
    let code = engine.precompile_component(&wasm).map_err(Failure::Refused)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(&code).and_then(|()| stdout.flush()).map_err(Failure::Pipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_survives_its_arguments() {
        for (reservation, target) in [(None, Some(CodeTarget::Aarch64)), (Some(1 << 26), None)] {
            let code = CodeSettings { stack_bytes: 1 << 19, reservation };
            let job = CompileJob { code, target, cpu_seconds: 1, memory_bytes: 2, threads: 3, wasm_bytes: 4 };
            assert_eq!(CompileJob::parse(&job.arguments()), Some(job));
            assert_eq!(CompileJob::parse(&job.arguments()[1..]), None);
        }
    }

    #[test]
    fn threads_are_limited_by_memory() {
        let code = CodeSettings { stack_bytes: 1 << 19, reservation: None };
        let within = |threads, memory_bytes| {
            CompileJob { code, target: None, cpu_seconds: 1, memory_bytes, threads, wasm_bytes: 4 }
                .threads_within_memory()
        };
        for (threads, mebibytes, expected) in [
            (16, 512, 1),
            (16, 1023, 1),
            (16, 1024, 2),
            (16, 2048, 4),
            (2, 2048, 2),
            (64, 1 << 20, 16),
            (0, 1, 1),
        ] {
            assert_eq!(within(threads, mebibytes << 20), expected, "{threads} threads, {mebibytes} MiB");
        }
    }
}
