//! A `bulkhead` process of a test's own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

pub use crate::host::{program, program_called};
use crate::samples::Samples;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    sync::{Notify, watch},
    time::timeout,
};

/// Longer than any start or stop on a busy machine; only a failing test waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How a process is started; nothing of the test's own environment reaches it.
pub struct Launch(Command);

impl Launch {
    /// `program` with these arguments.
    pub fn new(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command)
    }

    /// `bulkhead` with these arguments.
    pub fn bulkhead(arguments: &[&str]) -> Self {
        Self::new(&program(), arguments)
    }

    /// Another binary of the workspace with these arguments.
    pub fn binary(name: &str, arguments: &[&str]) -> Self {
        Self::new(&program_called(name), arguments)
    }

    /// `bulkhead serve` on ephemeral ports with JSON lines and its data in `folder`.
    pub fn serve(folder: &Path) -> Self {
        Self::bulkhead(&["serve"]).ephemeral().arg("--data-dir").arg(folder.join("data").to_str().unwrap())
    }

    /// The same with a configuration.
    pub fn serve_with(folder: &Path, config: &str) -> Self {
        let file = folder.join("bulkhead.toml");
        fs::write(&file, config).unwrap();
        Self::serve(folder).arg("--config").arg(file.to_str().unwrap())
    }

    /// The same, but no file may take more than `blocks` blocks: writes beyond them fail.
    pub fn serve_with_small_files(folder: &Path, config: &str, blocks: u32) -> Self {
        let file = folder.join("bulkhead.toml");
        fs::write(&file, config).unwrap();
        // Without the signal, so that the write itself says that it failed.
        let script = "trap '' XFSZ; ulimit -f $0; exec \"$@\"";
        let (blocks, program) = (blocks.to_string(), program());
        Self::new(Path::new("/bin/sh"), &["-c", script, &blocks, program.to_str().unwrap(), "serve"])
            .ephemeral()
            .args(&["--data-dir", folder.join("data").to_str().unwrap()])
            .args(&["--config", file.to_str().unwrap()])
    }

    /// The same on a disk of its own of so many bytes: a file system in memory, in a mount namespace of the process. Its
    /// files are below [`Bulkhead::root`].
    pub fn serve_with_small_disk(folder: &Path, config: &str, bytes: u32) -> Self {
        let (file, data) = (folder.join("bulkhead.toml"), folder.join("data"));
        fs::write(&file, config).unwrap();
        fs::create_dir(&data).unwrap();
        let script = "mount -t tmpfs -o size=$0 tmpfs \"$1\" && shift && exec \"$@\"";
        let (bytes, program) = (bytes.to_string(), program());
        let (program, data) = (program.to_str().unwrap(), data.to_str().unwrap());
        let namespace = ["--user", "--map-root-user", "--mount", "/bin/sh", "-c", script];
        Self::new(Path::new("/usr/bin/unshare"), &namespace)
            .args(&[&bytes, data, program, "serve", "--data-dir", data])
            .args(&["--config", file.to_str().unwrap()])
            .ephemeral()
    }

    /// The same on a data folder that has become read-only, in a mount namespace of the process.
    pub fn serve_with_read_only_data(folder: &Path, config: &str) -> Self {
        let (file, data) = (folder.join("bulkhead.toml"), folder.join("data"));
        fs::write(&file, config).unwrap();
        Self::bulkhead_with_read_only(&data, &["serve", "--data-dir", data.to_str().unwrap()])
            .args(&["--config", file.to_str().unwrap()])
            .ephemeral()
    }

    /// `bulkhead` with these arguments where `folder` is read-only, in a mount namespace of the process.
    pub fn bulkhead_with_read_only(folder: &Path, arguments: &[&str]) -> Self {
        let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"";
        let program = program();
        let namespace = ["--user", "--map-root-user", "--mount", "/bin/sh", "-c", script];
        Self::new(Path::new("/usr/bin/unshare"), &namespace)
            .args(&[folder.to_str().unwrap(), program.to_str().unwrap()])
            .args(arguments)
    }

    /// The same where the system finds names in the file `hosts`, in a mount namespace of the process.
    pub fn serve_with_hosts(folder: &Path, config: &str, hosts: &Path) -> Self {
        let file = folder.join("bulkhead.toml");
        fs::write(&file, config).unwrap();
        let script = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
        let (program, data) = (program(), folder.join("data"));
        let namespace = ["--user", "--map-root-user", "--mount", "/bin/sh", "-c", script];
        Self::new(Path::new("/usr/bin/unshare"), &namespace)
            .args(&[hosts.to_str().unwrap(), program.to_str().unwrap(), "serve"])
            .args(&["--data-dir", data.to_str().unwrap(), "--config", file.to_str().unwrap()])
            .ephemeral()
    }

    /// Any free ports, and log lines that say which.
    pub fn ephemeral(self) -> Self {
        self.args(&["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
            .args(&["--log-format", "json"])
    }

    pub fn arg(mut self, argument: &str) -> Self {
        self.0.arg(argument);
        self
    }

    pub fn args(mut self, arguments: &[&str]) -> Self {
        self.0.args(arguments);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    pub fn by_user(mut self, id: u32) -> Self {
        self.0.uid(id).gid(id);
        self
    }

    /// Where standard output goes in place of a pipe that is read.
    pub fn stdout(mut self, stdout: Stdio) -> Self {
        self.0.stdout(stdout);
        self
    }

    /// Runs to the end.
    pub async fn finish(mut self) -> Finished {
        // Not `output`, which makes pipes of both streams whatever was set.
        let running = self.0.spawn().unwrap().wait_with_output();
        let output = timeout(PATIENCE, running).await.expect("the process ends").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Finished { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Starts serving and waits until it says that it is ready.
    pub async fn ready(self) -> Bulkhead {
        let mut host = self.listening().await;
        // Ready or not: the last line of a start names the listener that says which.
        let ready = host.first("the admin listener", |line| line["admin"].is_string()).await;
        host.admin = ready["admin"].as_str().unwrap().to_owned();
        host
    }

    /// Starts serving and waits until it says that it listens; its components may not be ready yet.
    pub async fn listening(mut self) -> Bulkhead {
        let until = Instant::now() + PATIENCE;
        let mut child = loop {
            match self.0.spawn() {
                // Another test's child, between fork and exec, still holds a fresh copy of the program open.
                Err(error)
                    if error.kind() == std::io::ErrorKind::ExecutableFileBusy && Instant::now() < until =>
                {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                spawned => break spawned.unwrap(),
            }
        };
        let deaf = Arc::new(Notify::new());
        let stdout = lines_of(child.stdout.take().unwrap(), Arc::default());
        let stderr = lines_of(child.stderr.take().unwrap(), Arc::clone(&deaf));
        let client = reqwest::Client::builder().timeout(PATIENCE).build().unwrap();
        let (url, admin) = (String::new(), String::new());
        let mut host = Bulkhead { child, stdout, stderr, deaf, client, url, admin };
        let shared = host.first("the shared listener", |line| line["setting"] == "server.listen").await;
        host.url = shared["url"].as_str().unwrap().to_owned();
        host
    }
}

/// A process that has ended.
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    pub fn succeeded(&self) -> bool {
        self.status.success()
    }
}

type Lines = watch::Receiver<Vec<String>>;

/// The lines of a pipe, until the test stops reading it.
fn lines_of(source: impl AsyncRead + Send + Unpin + 'static, deaf: Arc<Notify>) -> Lines {
    let (sender, lines) = watch::channel(Vec::new());
    tokio::spawn(async move {
        let mut source = BufReader::new(source).lines();
        loop {
            tokio::select! {
                line = source.next_line() => match line.unwrap() {
                    Some(line) => sender.send_modify(|lines| lines.push(line)),
                    None => return,
                },
                () = deaf.notified() => break,
            }
        }
        drop(sender);
        // The pipe stays open and fills.
        std::future::pending::<()>().await;
    });
    lines
}

/// A serving process. Killed when dropped.
pub struct Bulkhead {
    child: Child,
    stdout: Lines,
    stderr: Lines,
    deaf: Arc<Notify>,
    client: reqwest::Client,
    url: String,
    admin: String,
}

impl Bulkhead {
    /// The root of the file systems that it sees.
    pub fn root(&self) -> PathBuf {
        Path::new("/proc").join(self.child.id().unwrap().to_string()).join("root")
    }

    /// Everything it has written so far.
    pub fn text(&self) -> String {
        [self.stdout.borrow().join("\n"), self.stderr.borrow().join("\n")].join("\n")
    }

    /// Its log lines so far, each of which is a JSON object.
    pub fn log(&self) -> Vec<Value> {
        assert!(self.stdout.borrow().is_empty(), "log lines go to standard error");
        let parse = |line: &String| {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(line.is_object(), "{line}");
            line
        };
        self.stderr.borrow().iter().map(parse).collect()
    }

    /// The log lines so far with this message.
    pub fn said(&self, message: &str) -> Vec<Value> {
        self.log().into_iter().filter(|line| line["message"] == message).collect()
    }

    /// Reads no log line from now on, and leaves the pipe open.
    pub fn stop_reading(&self) {
        self.deaf.notify_one();
    }

    /// Waits for a log line with this message.
    pub async fn line(&self, message: &str) -> Value {
        self.first(message, |line| line["message"] == message).await
    }

    /// Waits for the first such log line.
    async fn first(&self, what: &str, such: impl Fn(&Value) -> bool) -> Value {
        let says = |line: &str| serde_json::from_str::<Value>(line).ok().filter(&such);
        let mut lines = self.stderr.clone();
        let waited = timeout(PATIENCE, lines.wait_for(|lines| lines.iter().any(|line| says(line).is_some())));
        match waited.await {
            Ok(Ok(lines)) => lines.iter().find_map(|line| says(line)).unwrap(),
            Ok(Err(_)) => panic!("ended before it said {what:?}:\n{}", self.text()),
            Err(_) => panic!("did not say {what:?} in time:\n{}", self.text()),
        }
    }

    /// The URL of the listener that a key names.
    pub fn listener(&self, setting: &str) -> String {
        let log = self.said("listening");
        let line = log.iter().find(|line| line["setting"] == setting);
        line.unwrap_or_else(|| panic!("no listener {setting}: {log:?}"))["url"].as_str().unwrap().to_owned()
    }

    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub fn admin_url(&self, path: &str) -> String {
        format!("{}{path}", self.admin)
    }

    /// Address of the shared listener.
    pub fn address(&self) -> &str {
        self.url.split("//").nth(1).unwrap()
    }

    /// Status of a GET.
    pub async fn status(&self, url: &str) -> u16 {
        self.client.get(url).send().await.unwrap().status().as_u16()
    }

    /// Body of a GET that answers 200 with JSON.
    pub async fn json(&self, url: &str) -> Value {
        let answer = self.client.get(url).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{url}");
        answer.json().await.unwrap()
    }

    /// Posts JSON to the shared listener; status and body.
    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let answer = self.client.post(self.url(path)).json(body).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// The value of a series of the metrics endpoint, which must exist.
    pub async fn metric(&self, series: &str) -> f64 {
        let text = self.client.get(self.admin_url("/metrics")).send().await.unwrap().text().await.unwrap();
        Samples::parse(&text).value(series)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id().expect("the process has not ended")
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.id().cast_signed()).unwrap(), signal).unwrap();
    }

    /// The most memory that it has had resident, bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Waits for its end and for its last words.
    pub async fn ended(&mut self) -> ExitStatus {
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the process ends").unwrap();
        for lines in [&mut self.stdout, &mut self.stderr] {
            // Fails once the pipe is closed and everything has been read.
            let closed = async { while lines.changed().await.is_ok() {} };
            timeout(PATIENCE, closed).await.expect("no other process holds the pipe");
        }
        status
    }

    /// Ends it as an orchestrator does; it must end well.
    pub async fn stop(mut self) -> Vec<Value> {
        self.signal(Signal::TERM);
        let status = self.ended().await;
        assert!(status.success(), "{status}:\n{}", self.text());
        self.log()
    }
}
