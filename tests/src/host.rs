//! A host on ephemeral ports with a data folder of its own.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration};

use bulkhead::{
    Host,
    clock::HostClock,
    config::{Config, ConfigFile, Flag, Loaded, Problems, Sources},
    services::{captcha::config::Captcha, list},
};
use tempfile::TempDir;

use crate::samples::Samples;

/// Master key of tests, so that challenges can be made up outside the host.
pub const HMAC_KEY: &str = "test-master-key-of-at-least-32-characters";

/// A running host. [`TestHost::stop`] asserts that everything it lent out has come back.
pub struct TestHost {
    host: Option<Host>,
    folder: TempDir,
    client: reqwest::Client,
    base: String,
    admin: String,
    /// What the metrics endpoint said before the first request.
    start: Samples,
}

/// What the host under test is started with.
#[derive(Default)]
pub struct Builder {
    config: String,
    environment: Vec<(String, String)>,
    /// By slot.
    components: BTreeMap<&'static str, Vec<u8>>,
    /// By name.
    apps: BTreeMap<&'static str, Vec<u8>>,
    folder: Option<TempDir>,
    compile_program: Option<std::path::PathBuf>,
    clock: HostClock,
}

impl Builder {
    /// Configuration text; listeners and the data folder are set for it.
    pub fn config(mut self, text: &str) -> Self {
        self.config.push_str(text);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The captcha slot's component.
    pub fn component(self, wasm: Vec<u8>) -> Self {
        self.component_of("captcha", wasm)
    }

    /// A slot's component.
    pub fn component_of(mut self, slot: &'static str, wasm: Vec<u8>) -> Self {
        self.components.insert(slot, wasm);
        self
    }

    /// An app's component; the configuration says where it is mounted.
    pub fn app(mut self, name: &'static str, wasm: Vec<u8>) -> Self {
        self.apps.insert(name, wasm);
        self
    }

    /// Goes on in the folder of a host that has stopped.
    pub fn folder(mut self, folder: TempDir) -> Self {
        self.folder = Some(folder);
        self
    }

    /// Compiles with another program than the host's binary.
    pub fn compile_program(mut self, program: &Path) -> Self {
        self.compile_program = Some(program.to_owned());
        self
    }

    /// Tells the captcha service's time by another clock than the operating system's.
    pub fn clock(mut self, clock: HostClock) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the host once it listens; its components may not be ready yet.
    async fn open(self) -> Result<TestHost, String> {
        let folder = self.folder.unwrap_or_else(|| TempDir::new().unwrap());
        share_compiled_code(&folder.path().join("data"));
        let mut flags = vec![
            ("server.listen".to_owned(), "127.0.0.1:0".to_owned()),
            ("server.admin_listen".to_owned(), "127.0.0.1:0".to_owned()),
            ("data_dir".to_owned(), folder.path().join("data").display().to_string()),
        ];
        for (slot, wasm) in self.components {
            let path = folder.path().join(format!("guest-{slot}.wasm"));
            std::fs::write(&path, wasm).unwrap();
            flags.push((format!("slots.{slot}.component"), path.display().to_string()));
        }
        for (name, wasm) in self.apps {
            let path = folder.path().join(format!("app-{name}.wasm"));
            std::fs::write(&path, wasm).unwrap();
            flags.push((format!("apps.{name}.component"), path.display().to_string()));
        }
        let file = folder.path().join(CONFIG_FILE);
        std::fs::write(&file, self.config).unwrap();
        let (environment, compile_program, clock) = (self.environment, self.compile_program, self.clock);
        let read = move || -> Result<Loaded, Problems> {
            let text = std::fs::read_to_string(&file).unwrap();
            let mut loaded = read(&text, environment.clone(), flags.clone())?;
            if let Some(program) = &compile_program {
                loaded.config.sandbox.compile_program = program.clone();
            }
            loaded.config.edit_table::<Captcha>(|captcha| captcha.clock = clock.clone()).unwrap();
            Ok(loaded)
        };
        let loaded = read().map_err(|problems| problems.to_string())?;
        let host = Host::start_reloading(&list::BULKHEAD, loaded, Some(Arc::new(read))).await;
        let host = host.map_err(|error| format!("{error:#}"))?;
        let base = format!("http://{}", host.addresses().public);
        let admin = format!("http://{}", host.addresses().admin);
        let client = reqwest::Client::builder().timeout(Duration::from_secs(30)).build().unwrap();
        Ok(TestHost { host: Some(host), folder, client, base, admin, start: Samples::parse("") })
    }

    pub async fn try_start(self) -> Result<TestHost, String> {
        Ok(self.open().await?.started().await)
    }

    /// A host that listens and is starting still.
    pub async fn listen(self) -> TestHost {
        let host = self.open().await.unwrap_or_else(|error| panic!("the host does not start: {error}"));
        host.with_start().await
    }

    pub async fn start(self) -> TestHost {
        self.try_start().await.unwrap_or_else(|error| panic!("the host does not start: {error}"))
    }
}

/// One cache of compiled code for the hosts of all tests: compiling every component again for each of them takes
/// longer than all else. The key that authenticates it is the tests' own.
fn share_compiled_code(data: &Path) {
    let (secrets, shared) = (data.join("secrets"), tools().join("compiled"));
    if data.exists() {
        return;
    }
    for folder in [&secrets, &shared] {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let key = secrets.join("host.key");
    std::fs::write(&key, "a key of the tests, which guards nothing: 0123456789").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(shared, data.join("compiled")).unwrap();
}

/// What the set-up keeps for tests.
fn tools() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-tools")
}

/// A host's configuration in its folder: what a reload reads.
pub const CONFIG_FILE: &str = "test.toml";

/// Reads configuration text as `bulkhead serve` does.
pub fn load(
    text: &str,
    environment: Vec<(String, String)>,
    flags: Vec<(String, String)>,
) -> Result<Config, String> {
    read(text, environment, flags).map(|loaded| loaded.config).map_err(|problems| problems.to_string())
}

fn read(
    text: &str,
    environment: Vec<(String, String)>,
    flags: Vec<(String, String)>,
) -> Result<Loaded, Problems> {
    let flags = flags.into_iter().map(|(path, value)| Flag { name: "--test".into(), path, value });
    let file = Some(ConfigFile { name: CONFIG_FILE.into(), text: text.into() });
    let sources = Sources { file, environment, flags: flags.collect(), root: false, memory: None };
    let mut loaded = list::load(sources)?;
    loaded.config.sandbox.compile_program = program();
    Ok(loaded)
}

/// The binary `bulkhead`, see [`program_called`].
pub fn program() -> std::path::PathBuf {
    program_called("bulkhead")
}

/// A binary of the workspace that was built beside this program, which is a test in a folder below or the bench.
pub fn program_called(name: &str) -> std::path::PathBuf {
    let this = std::env::current_exe().unwrap();
    let program =
        this.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.is_file());
    program.unwrap_or_else(|| panic!("{name} is missing beside {}; `just build` makes it", this.display()))
}

impl TestHost {
    /// Waits until the host has started.
    pub async fn started(self) -> Self {
        self.host().started().await;
        self.with_start().await
    }

    async fn with_start(self) -> Self {
        let start = self.metrics().await;
        Self { start, ..self }
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub fn admin_url(&self, path: &str) -> String {
        format!("{}{path}", self.admin)
    }

    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }

    pub fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn host(&self) -> &Host {
        self.host.as_ref().unwrap()
    }

    /// Every sample of the metrics endpoint.
    pub async fn metrics(&self) -> Samples {
        scrape(&self.client, &self.admin).await
    }

    /// The value of a series, which must exist.
    pub async fn metric(&self, series: &str) -> f64 {
        self.metrics().await.value(series)
    }

    /// Asserts, within ten seconds, that nothing is in use any more.
    pub async fn assert_at_rest(&self) {
        const BUSY: [&str; 7] = [
            "bulkhead_in_flight",
            "bulkhead_queue_depth",
            "bulkhead_pool_slots_in_use",
            "embedding_waiting_texts",
            "http_server_requests_active_seconds_count",
            "zammad_ai_triage_runs_in_progress",
            "zammad_ai_answer_runs_in_progress",
        ];
        // Without a language model, or without the captcha service, the host has no such series.
        const BUSY_IF_THERE: [&str; 2] = ["bulkhead_llm_in_flight", "hikaricp_connections_pending"];
        // What counts where instances come from no pool.
        const MEMORY: &str = "jvm_memory_used_bytes{area=\"nonheap\",id=\"wasm\"}";
        let mut lent = BTreeMap::new();
        for _ in 0..200 {
            let samples = self.metrics().await;
            let optional = BUSY_IF_THERE.into_iter().filter(|name| samples.exposes(name));
            let busy = BUSY.into_iter().chain(optional).flat_map(|name| samples.of(name));
            let busy = busy.chain([(MEMORY, samples.value(MEMORY))]);
            lent = busy
                .filter(|(_, value)| *value != 0.0)
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            if lent.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("not given back within ten seconds: {lent:?}");
    }

    /// Stops the host after asserting that nothing is in use, and that its metrics began with all series that could be
    /// known; gives its folder back.
    pub async fn stop(mut self) -> TempDir {
        self.assert_at_rest().await;
        self.metrics().await.assert_new_series_are_of_open_labels(&self.start);
        self.host.take().unwrap().stop().await;
        self.folder
    }
}

async fn scrape(client: &reqwest::Client, admin: &str) -> Samples {
    let answer = client.get(format!("{admin}/metrics")).send().await.unwrap();
    assert_eq!(answer.status(), 200, "/metrics");
    Samples::parse(&answer.text().await.unwrap())
}

/// Asks until `condition` holds, ten seconds at most.
pub async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    for _ in 0..200 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not within ten seconds: {what}");
}
