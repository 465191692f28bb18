//! The process that compiles: what it may use, and when it ends.

use std::{fs, path::Path, process::Stdio, sync::Arc, time::Duration};

use bulkhead::{
    compile::{CompileError, Compiler, ComponentDigest},
    config::sandbox::Sandbox,
};
use bulkhead_tests::{
    child::Launch,
    guests::{ARITHMETIC, Guest, answering, with_functions},
    host::{eventually, program},
    operator::{self, Operator},
    parts::Parts,
};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::{io::AsyncReadExt as _, process::Command, time::timeout};

use super::SITE;

/// Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);
const CPU_SECONDS: &str = "77";
const MEMORY_BYTES: &str = "1073741824";

/// A file of a process in `/proc`; empty once the process is gone.
fn proc(id: u32, file: &str) -> String {
    fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default()
}

/// A limit of a process: the soft and the hard one.
fn limit(id: u32, name: &str) -> (String, String) {
    let limits = proc(id, "limits");
    let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let mut words = line.split_whitespace().map(str::to_owned);
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// The fields of a process' state, from the third on; none once it is gone.
fn stat(id: u32) -> Vec<String> {
    let stat = proc(id, "stat");
    let fields =
        stat.rsplit_once(')').map(|(_, fields)| fields.split_whitespace().map(str::to_owned).collect());
    fields.unwrap_or_default()
}

fn is_alive(id: u32) -> bool {
    stat(id).first().is_some_and(|state| state != "Z")
}

/// The processes that a process has started.
fn children(id: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let tasks = tasks.map(|task| task.unwrap().path().join("children"));
    let lists = tasks.map(|list| fs::read_to_string(list).unwrap_or_default());
    lists
        .flat_map(|list| list.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<u32>>())
        .collect()
}

/// A component that takes many seconds to compile.
pub fn large() -> Vec<u8> {
    with_functions(Guest::default().component(), 25_000, &ARITHMETIC.repeat(100))
}

#[tokio::test]
async fn limits_hold_before_a_byte_is_read() {
    let arguments = ["--compile-component", "524288", "none", "this", CPU_SECONDS, MEMORY_BYTES, "2", "8"];
    let mut command = Command::new(program());
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.env_clear().kill_on_drop(true).spawn().unwrap();
    let id = child.id().unwrap();
    let hard = (CPU_SECONDS.parse::<u32>().unwrap() + 1).to_string();
    eventually("the limits are set", async || {
        limit(id, "Max cpu time") == (CPU_SECONDS.to_owned(), hard.clone())
            && limit(id, "Max address space").0 == MEMORY_BYTES
            && limit(id, "Max core file size").0 == "0"
            && stat(id)[16].parse::<i32>().unwrap() > 0
    })
    .await;
    // The host is gone before it has sent the component.
    drop(child.stdin.take());
    let status = timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(2));
    let mut words = String::new();
    let mut stderr = child.stderr.take().unwrap();
    timeout(PATIENCE, stderr.read_to_string(&mut words)).await.unwrap().unwrap();
    assert!(words.contains("the host is gone"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compilation_dies_with_its_host() {
    let folder = TempDir::new().unwrap();
    let limits = format!(
        "[sandbox]\ncompile_cpu_seconds = {CPU_SECONDS}\ncompile_memory_bytes = {MEMORY_BYTES}\ncache = false\n"
    );
    let config = format!("{}{limits}{SITE}", operator::tokens());
    let mut host = Launch::serve_with(folder.path(), &config).ready().await;
    let operator = Operator::new(&host.admin_url(""), operator::DEPLOY);
    // Its answer never comes.
    let push = tokio::spawn(async move { operator.try_push(large()).await });
    let mut compiling = None;
    eventually("a process compiles", async || {
        let limited = |id: &u32| limit(*id, "Max cpu time").0 == CPU_SECONDS;
        compiling = children(host.id()).into_iter().find(limited);
        compiling.is_some()
    })
    .await;
    let id = compiling.unwrap();
    assert_eq!(proc(id, "environ"), "", "its environment is empty");
    assert_eq!(limit(id, "Max address space").0, MEMORY_BYTES);
    host.signal(Signal::KILL);
    host.ended().await;
    eventually("the compilation has ended", async || !is_alive(id)).await;
    push.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_gives_up_the_compiling_reload() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("captcha.wasm");
    fs::write(&file, Guest::default().component()).unwrap();
    let sandbox = format!("[sandbox]\ncompile_cpu_seconds = {CPU_SECONDS}\n");
    let slot = format!("[slots.captcha]\ncomponent = '{}'\n", file.display());
    let host = Launch::serve_with(folder.path(), &format!("{sandbox}{SITE}{slot}")).ready().await;
    fs::write(&file, large()).unwrap();
    host.signal(Signal::HUP);
    let limited = |id: &u32| limit(*id, "Max cpu time").0 == CPU_SECONDS;
    let mut compiling = None;
    eventually("a process compiles", async || {
        compiling = children(host.id()).into_iter().find(limited);
        compiling.is_some()
    })
    .await;
    let log = host.stop().await;
    let said = |message: &str| log.iter().any(|line| line["message"] == message);
    assert!(said("the reload is given up, because the host stops"), "{log:?}");
    assert!(!said("the configuration has been reloaded"), "{log:?}");
    eventually("the compilation has ended", async || !is_alive(compiling.unwrap())).await;
}

#[tokio::test]
async fn a_cancelled_compilation_ends_its_process() {
    let parts = Parts::new("");
    let compile_program = parts.folder.path().join("endless");
    let (draft, started) = (parts.folder.path().join("draft"), parts.folder.path().join("started"));
    let script = format!("#!/bin/sh\necho $$ > {}\nexec /bin/sleep 600\n", started.display());
    executable(&draft, &compile_program, &script);
    let sandbox = Sandbox { compile_program, ..parts.config.sandbox.clone() };
    let compiler =
        Compiler::new(Arc::clone(&parts.context.engine), &sandbox, None, Arc::clone(&parts.metrics));
    let wasm = Guest::default().component();
    let digest = ComponentDigest::of(&wasm);
    let compiling = tokio::spawn(async move { compiler.compile(wasm.into(), digest).await });
    let id = || fs::read_to_string(&started).ok().and_then(|text| text.trim().parse::<u32>().ok());
    eventually("the process runs", async || id().is_some_and(is_alive)).await;
    compiling.abort();
    assert!(compiling.await.unwrap_err().is_cancelled());
    eventually("the process has ended", async || !is_alive(id().unwrap())).await;
}

#[tokio::test]
async fn endless_code_is_refused() {
    let parts = Parts::new("");
    let compile_program = parts.folder.path().join("endless");
    let (draft, started) = (parts.folder.path().join("draft"), parts.folder.path().join("started"));
    let script = format!("#!/bin/sh\necho $$ > {}\nexec /bin/cat /dev/zero\n", started.display());
    executable(&draft, &compile_program, &script);
    let sandbox = Sandbox { compile_program, ..parts.config.sandbox.clone() };
    let compiler =
        Compiler::new(Arc::clone(&parts.context.engine), &sandbox, None, Arc::clone(&parts.metrics));
    let wasm = Guest::default().component();
    let (digest, most) = (ComponentDigest::of(&wasm), (16 << 20) + 16 * wasm.len() as u64);
    let refused = timeout(PATIENCE, compiler.compile(wasm.into(), digest)).await.unwrap().map(drop);
    assert!(matches!(refused, Err(CompileError::CodeBytes(bytes)) if bytes == most), "{refused:?}");
    let id = fs::read_to_string(&started).unwrap().trim().parse().unwrap();
    eventually("the process has ended", async || !is_alive(id)).await;
}

/// Writes a script that can be run at once: no child of another test has it open.
fn executable(draft: &Path, path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(draft, script).unwrap();
    fs::set_permissions(draft, fs::Permissions::from_mode(0o755)).unwrap();
    let copied = std::process::Command::new("/bin/cp").arg("-p").args([draft, path]).status().unwrap();
    assert!(copied.success());
}

/// As after an upgrade of the engine, for which nothing in the cache is.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_start_predecessors_are_compiled() {
    let folder = TempDir::new().unwrap();
    let config = format!("{}{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let operator = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let version = operator.push(answering('B', "").component()).await;
    let slot = operator.swap(&version).await;
    host.stop().await;
    let compiled = folder.path().join("data/compiled");
    let is_code =
        |entry: std::io::Result<fs::DirEntry>| entry.unwrap().path().extension() == Some("cwasm".as_ref());
    let files = || fs::read_dir(&compiled).map_or(0, |entries| entries.map(is_code).filter(|is| *is).count());
    assert_eq!(files(), 2, "{slot}");
    fs::remove_dir_all(&compiled).unwrap();

    let host = Launch::serve_with(folder.path(), &config).ready().await;
    eventually("the predecessor is compiled, too", async || files() == 2).await;
    let lookups = async || host.metric("bulkhead_compile_cache_total{result=\"miss\"}").await;
    let before = lookups().await;
    Operator::new(&host.admin_url(""), operator::DEPLOY)
        .change("rollback", serde_json::json!({ "reason": "test" }))
        .await;
    assert_eq!(lookups().await, before);
    host.stop().await;
}
