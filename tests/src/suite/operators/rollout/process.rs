//! A host in a process of its own, which does what operators ask and is killed, and what can be seen of it.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use bulkhead_tests::{
    artifact,
    child::{Bulkhead, Launch},
    guests::Guest,
    host::eventually,
    operator::{self, Operator},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    super::SITE,
    model::{Action, GARBAGE, ModelState, Standing, TRAPPING, Trial, Version},
    steps::MODES,
};

/// Clients that ask for a challenge after each step.
const CLIENTS: u8 = 3;

/// Answers every challenge with its letter and the mode in its settings.
fn answering(letter: char) -> Vec<u8> {
    // `get` gives at 2048: 0 for ok, then at 2052 1 for a value, its address, its length.
    let get = r#"(import "wasi:config/store@0.2.0-rc.1" "get" (func $get (param i32 i32 i32)))"#;
    let body = "(call $get (i32.const 1056) (i32.const 4) (i32.const 2048))
        (if (i32.load8_u (i32.const 2052))
            (then (i32.store8 (i32.const 1046) (i32.load8_u (i32.load (i32.const 2056))))))
        (i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const 25)) i32.const 0";
    let text = format!(r#"{{\"letter\":\"{letter}\",\"mode\":\"-\"}}"#);
    let data = format!(r#"(data (i32.const 1024) "{text}") (data (i32.const 1056) "mode")"#);
    Guest::call(body).with_imports(get).with_fields(&data).component()
}

fn component(letter: char) -> Vec<u8> {
    match letter {
        TRAPPING => super::super::trapping().component(),
        GARBAGE => b"garbage".to_vec(),
        letter => answering(letter),
    }
}

/// What an operator and the clients see.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    pub state: ModelState,
    pub is_kept: bool,
}

/// A process and its folder.
pub struct Process {
    folder: TempDir,
    host: Option<Bulkhead>,
    /// By the digest of the component.
    letters: BTreeMap<String, char>,
    /// By what the history says.
    ids: BTreeMap<Version, String>,
}

impl Process {
    /// Starts with component A.
    pub async fn start(mode: u8) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("a.wasm"), component('A')).unwrap();
        let all = ['A', 'B', 'C', 'D', 'S', TRAPPING, GARBAGE];
        let letters = all.map(|letter| (artifact::digest(&component(letter)), letter)).into();
        let mut process = Self { folder, host: None, letters, ids: BTreeMap::new() };
        process.launch(mode).await;
        process
    }

    fn config(&self, mode: u8) -> String {
        let file = self.folder.path().join("a.wasm");
        let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\n";
        let slot = format!(
            "[slots.captcha]\ncomponent = {file:?}\ncpu_ms = 60000\nconfig = {{ mode = \"{mode}\" }}\n\
             [slots.captcha.rollout]\nhistory = 100\nmin_calls = 5\ncircuit_failures = 5\n"
        );
        format!("{}{services}{SITE}{slot}", operator::tokens())
    }

    async fn launch(&mut self, mode: u8) {
        let config = self.config(mode);
        self.host = Some(Launch::serve_with(self.folder.path(), &config).ready().await);
    }

    fn host(&self) -> &Bulkhead {
        self.host.as_ref().unwrap()
    }

    fn operator(&self) -> Operator {
        Operator::new(&self.host().admin_url(""), operator::ADMIN)
    }

    /// Kills it and starts it again.
    pub async fn kill(&mut self, mode: u8) {
        self.host().signal(Signal::KILL);
        self.revive(mode).await;
    }

    /// Asks for an action and kills the host so many microseconds later.
    pub async fn interrupt(&mut self, action: Action, generation: u64, micros: u64, mode: u8) {
        let mode = self.written(action).unwrap_or(mode);
        let asked = self.ask(action, generation);
        // Any instant will do: what is asserted holds for all of them.
        let killed = async {
            tokio::time::sleep(Duration::from_micros(micros)).await;
            self.host().signal(Signal::KILL);
        };
        let _ = futures_util::future::join(asked, killed).await;
        self.revive(mode).await;
    }

    /// Starts it again once it is dead.
    async fn revive(&mut self, mode: u8) {
        let mut host = self.host.take().unwrap();
        host.ended().await;
        self.unblock();
        self.launch(mode).await;
    }

    /// Stops it as an orchestrator does, and starts it again.
    pub async fn restart(&mut self, mode: u8) {
        self.host.take().unwrap().stop().await;
        self.unblock();
        self.launch(mode).await;
    }

    pub async fn stop(mut self) {
        self.unblock();
        self.host.take().unwrap().stop().await;
    }

    fn lock(&self) -> (PathBuf, PathBuf) {
        (self.folder.path().join("data/slots/lock"), self.folder.path().join("away"))
    }

    /// Has the data folder take nothing: a writer locks it first, and nothing opens a folder to write. Waits for the
    /// retirement of versions that have just been replaced, which the host writes a moment after the change.
    pub async fn block(&self) {
        eventually("replaced versions have retired", async || {
            let (_, history) = self.operator().get("/v1/slots/captcha/history").await;
            history["versions"].as_array().unwrap().iter().all(|record| last_stage(record) != "draining")
        })
        .await;
        let (lock, away) = self.lock();
        fs::rename(&lock, away).unwrap();
        fs::create_dir(lock).unwrap();
    }

    pub fn unblock(&self) {
        let (lock, away) = self.lock();
        if away.exists() {
            fs::remove_dir(&lock).unwrap();
            fs::rename(away, lock).unwrap();
        }
    }

    /// Writes the configuration that an action reads; its mode.
    fn written(&self, action: Action) -> Option<u8> {
        let Action::Reload(mode) = action else { return None };
        fs::write(self.folder.path().join("bulkhead.toml"), self.config(mode)).unwrap();
        Some(mode)
    }

    /// Does an action in this generation; the code of the refusal. `mode` is what the configuration has if it is refused.
    pub async fn act(&self, action: Action, generation: u64, mode: u8) -> Result<(), String> {
        self.written(action);
        let (status, answer) = self.ask(action, generation).await.unwrap();
        if [200, 201].contains(&status) {
            return Ok(());
        }
        self.written(Action::Reload(mode));
        match (action, status) {
            (Action::Reload(_), 507) => Err("storage".to_owned()),
            _ => Err(answer["error"].as_str().unwrap_or_else(|| panic!("{status} {answer}")).to_owned()),
        }
    }

    async fn ask(&self, action: Action, generation: u64) -> reqwest::Result<(u16, Value)> {
        let id = |version: Version| self.ids.get(&version).map_or("ffffffffffffffff", String::as_str);
        let mut body = json!({ "generation": generation, "reason": "property" });
        let (path, version) = match action {
            Action::Push(letter) => return self.push(letter).await,
            Action::Reload(_) => return self.reload().await,
            Action::Swap(version) => ("/swap", Some(version)),
            Action::Canary(version, weight) => {
                body["weight"] = weight.into();
                ("/canary", version)
            }
            Action::Shadow(version) => ("/shadow", version),
            Action::Promote => ("/promote", None),
            Action::Rollback => ("/rollback", None),
        };
        if let Some(version) = version {
            body["version"] = id(version).into();
        }
        self.operator().try_post(path, &body).await
    }

    async fn send(&self, path: &str, media: &str, body: Vec<u8>) -> reqwest::Result<(u16, Value)> {
        let request = self.host().client().post(self.host().admin_url(path)).bearer_auth(operator::ADMIN);
        let answer = request.header("content-type", media).body(body).send().await?;
        Ok((answer.status().as_u16(), answer.json().await?))
    }

    async fn push(&self, letter: char) -> reqwest::Result<(u16, Value)> {
        self.send("/v1/slots/captcha/versions", "application/wasm", component(letter)).await
    }

    async fn reload(&self) -> reqwest::Result<(u16, Value)> {
        self.send("/v1/config/reload", "application/json", b"{}".to_vec()).await
    }

    /// A version of a component that no step pushes answers every call.
    pub async fn sabotage(&self) {
        let operator = self.operator();
        let version = operator.push(component('S')).await;
        operator.swap(&version).await;
    }

    /// What the operators' listener says.
    pub async fn see(&mut self) -> Seen {
        let operator = self.operator();
        let slot = operator.slot().await;
        let (_, history) = operator.get("/v1/slots/captcha/history").await;
        let mut known = BTreeMap::new();
        for record in history["versions"].as_array().unwrap() {
            let (version, standing) = (self.version(record), standing(record));
            assert!(known.insert(version, standing).is_none(), "{version:?} twice: {history}");
            let id = record["id"].as_str().unwrap();
            let last = self.ids.insert(version, id.to_owned());
            assert!(last.is_none_or(|last| last == id), "{version:?} has another id: {history}");
            let role = match last_stage(record) {
                "active" => Some("active"),
                "candidate" => Some("candidate"),
                _ => None,
            };
            for name in ["active", "candidate"] {
                assert_eq!(role == Some(name), slot[name]["id"] == id, "{version:?} is {role:?} in {slot}");
            }
        }
        assert!(slot["empty"].is_null(), "{slot}");
        let candidate = Some(&slot["candidate"]).filter(|candidate| !candidate.is_null());
        let candidate = candidate.map(|candidate| {
            let weight = candidate["weight"].as_u64().unwrap() as u8;
            let is_shadow = candidate["shadow"] == true;
            (self.version(candidate), if is_shadow { Trial::Shadow } else { Trial::Canary(weight) })
        });
        let before = Some(&slot["predecessor"]).filter(|before| !before.is_null());
        let state = ModelState {
            generation: slot["generation"].as_u64().unwrap(),
            active: self.version(&slot["active"]),
            candidate,
            // Only the next one is shown.
            before: before.map(|before| self.version(before)).into_iter().collect(),
            known,
        };
        Seen { state, is_kept: slot["kept"] == true }
    }

    /// A version by its component and its settings, as the host's own record has them.
    fn version(&self, record: &Value) -> Version {
        let digest = record["component"].as_str().unwrap_or_else(|| panic!("{record}"));
        let mode = record["settings"]["config.mode"].as_str().unwrap_or_else(|| panic!("{record}"));
        let mode = mode.parse().unwrap();
        assert!(mode < MODES, "{record}");
        Version { letter: self.letters[digest], mode }
    }

    /// The letters and modes that clients are answered with.
    pub async fn answers(&self) -> Vec<(char, u8)> {
        let mut answers = Vec::new();
        for client in 1..=CLIENTS {
            let (status, body) = self.call(client).await;
            let text = |name: &str| body["challenge"][name].as_str().unwrap_or_default().to_owned();
            let (letter, mode) = (text("letter"), text("mode"));
            assert_eq!(status, 200, "{body}");
            answers.push((letter.chars().next().unwrap(), mode.parse().unwrap()));
        }
        answers
    }

    async fn call(&self, client: u8) -> (u16, Value) {
        let address = format!("192.0.2.{client}");
        let body = json!({ "siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": address });
        self.host().post("/api/v1/captcha/challenge", &body).await
    }

    /// Calls until the host takes a version back that fails.
    pub async fn fail(&self, generation: u64) {
        let operator = self.operator();
        let mut client = 0_u8;
        eventually("the failing version is taken back", async || {
            for _ in 0..20 {
                client = client.wrapping_add(1);
                self.call(client).await;
            }
            operator.generation().await > generation
        })
        .await;
    }
}

fn last_stage(record: &Value) -> &str {
    let last = record["moves"].as_array().unwrap().last().unwrap_or_else(|| panic!("{record}"));
    last["stage"].as_str().unwrap()
}

fn standing(record: &Value) -> Standing {
    match last_stage(record) {
        "received" | "checked" | "compiled" => Standing::Received,
        "refused" => Standing::Refused,
        _ => Standing::Tried,
    }
}
