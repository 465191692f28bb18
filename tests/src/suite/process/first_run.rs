//! Every command answers on a machine where nothing has run before: it is done, or it says what to do first.

use std::{fs, path::Path};

use bulkhead_tests::{
    child::{Finished, Launch},
    guests::answering,
    models::ToyModel,
};
use tempfile::TempDir;

use crate::tickets::RULES;

/// What a command answers.
#[derive(Clone, Copy)]
enum Answer {
    /// It is done.
    Done,
    /// Its error names this command, flag or variable.
    First(&'static str),
}

use Answer::{Done, First};

const TOKEN: Answer = First("`bulkhead admin token`");
const BASE: Answer = First("`bulkhead kb import`");
const MODEL: Answer = First("`bulkhead model pull");
const FILE: Answer = First("--config");

/// Every command with arguments that it can do with; `FOLDER` is one with what arguments name.
const COMMANDS: &[(&str, &str, Answer)] = &[
    ("config check", "", Done),
    ("config reference", "", Done),
    ("config show", "", TOKEN),
    ("config reload", "", TOKEN),
    ("config undo", "", TOKEN),
    ("model list", "", Done),
    ("model pull", "potion-base-8M --index http://127.0.0.1:9/simple", First("--from")),
    ("model info", "potion-base-8M", MODEL),
    ("model convert", "potion-base-8M", MODEL),
    ("model bench", "potion-base-8M", MODEL),
    ("component check", "--slot captcha FOLDER/a.wasm", Done),
    ("component compile", "FOLDER/a.wasm --output FOLDER/a.cwasm", Done),
    ("component inspect", "FOLDER/a.wasm", Done),
    ("component call", "FOLDER/a.wasm self-test", Done),
    ("component test", "FOLDER/a.wasm --cases FOLDER/cases.jsonl", Done),
    ("component new", "mine --lang rust --world captcha", Done),
    ("wit export", "interfaces", Done),
    ("wit diff", "FOLDER/one.wit FOLDER/one.wit", Done),
    ("bundle export", "--output FOLDER/out.bundle", Done),
    ("bundle import", "FOLDER/a.wasm", First("`minisign -S")),
    ("component list", "", TOKEN),
    ("component show", "captcha", TOKEN),
    ("component push", "captcha FOLDER/a.wasm", TOKEN),
    ("component export", "captcha --output FOLDER/out.wasm", TOKEN),
    ("component swap", "captcha embedded", TOKEN),
    ("component canary", "captcha 5", TOKEN),
    ("component shadow", "captcha", TOKEN),
    ("component promote", "captcha", TOKEN),
    ("component rollback", "captcha", TOKEN),
    ("component history", "captcha", TOKEN),
    ("component diff", "captcha a b", TOKEN),
    ("component logs", "captcha", TOKEN),
    ("demo appointments", "--rows 10", Done),
    ("admin token", "ops", Done),
    ("admin audit", "", TOKEN),
    ("health", "--url http://127.0.0.1:9", First("--url")),
    ("doctor", "", First("models")),
    ("completions", "bash", Done),
    ("man", "FOLDER/man", Done),
    ("captcha site add", "shop", FILE),
    ("captcha site list", "", Done),
    ("captcha site rotate-secret", "shop", FILE),
    ("captcha site remove", "shop", FILE),
    ("captcha import", "FOLDER/application.yml", Done),
    ("kb import", "FOLDER/pages --model FOLDER/toy", Done),
    ("kb search", "anchor", BASE),
    ("kb evaluate", "FOLDER/questions.jsonl", BASE),
    ("kb remove", "pages", BASE),
    ("kb info", "", BASE),
    ("triage train", "--triage FOLDER/rules.toml --model FOLDER/toy FOLDER/tickets.jsonl", Done),
    (
        "triage evaluate",
        "--triage FOLDER/rules.toml --model FOLDER/toy --head FOLDER/none FOLDER/tickets.jsonl",
        First("`bulkhead triage train`"),
    ),
    ("triage import", "FOLDER/triage.yaml", Done),
    ("tickets redact", "--evaluate --set FOLDER/letters.jsonl", Done),
];

/// Commands that do not end by themselves.
const SERVING: [&str; 2] = ["run", "serve"];

const YAML: &str = "\
triage:
  categories: [{name: other, auto_publish: off}]
  no_category_name: other
  actions: [{name: clerk, description: reads, type: NoAction}]
  no_action_name: clerk
";

/// What arguments name, in a folder of its own.
pub fn inputs() -> TempDir {
    let folder = TempDir::new().unwrap();
    ToyModel::default().write(folder.path(), "toy");
    fs::create_dir(folder.path().join("pages")).unwrap();
    let text = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    text("pages/mooring.md", "# Mooring\n\nA fair wind brings you to the port.\n");
    text("application.yml", "captcha.hmac-key: a key\n");
    text("questions.jsonl", "{\"question\": \"Where is the port?\", \"answers\": [\"mooring\"]}\n");
    text("tickets.jsonl", "{\"text\": \"ahoy mate\", \"category\": \"harbour\"}\n");
    text(
        "letters.jsonl",
        "{\"text\": \"Ahoy, Mr Smith\", \"secrets\": [{\"value\": \"Smith\", \"kind\": \"name\"}]}\n",
    );
    text("rules.toml", RULES);
    text("cases.jsonl", "{\"export\": \"self-test\", \"answer\": \"ok\"}\n");
    text("one.wit", "package a:b@0.1.0;\nworld one { export run: func(); }\n");
    text("triage.yaml", YAML);
    fs::write(folder.path().join("a.wasm"), answering('A', "").component()).unwrap();
    folder
}

/// An empty home and an empty working folder.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["home", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    /// As a user other than root has it.
    fn launch(&self, arguments: &[&str]) -> Launch {
        let home = self.0.path().join("home");
        let data = home.join(".local/share/bulkhead");
        let launch = Launch::bulkhead(arguments).in_folder(&self.0.path().join("work"));
        launch.env("HOME", home.to_str().unwrap()).env("BULKHEAD_DATA_DIR", data.to_str().unwrap())
    }

    async fn run(&self, command: &str, arguments: &str, inputs: &Path) -> Finished {
        let arguments = arguments.replace("FOLDER", inputs.to_str().unwrap());
        let words: Vec<&str> = command.split(' ').chain(arguments.split_whitespace()).collect();
        self.launch(&words).finish().await
    }
}

/// The commands that have no further commands, by the program's own help.
async fn commands() -> Vec<String> {
    let (mut leaves, mut open) = (Vec::new(), vec![Vec::<String>::new()]);
    while let Some(command) = open.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = Launch::bulkhead(&words).finish().await;
        assert!(help.succeeded(), "{command:?}: {}", help.stderr);
        let listed = help.stdout.split_once("\nCommands:\n").map_or("", |(_, list)| list);
        let names = listed.lines().take_while(|line| !line.is_empty());
        // Descriptions go on in lines that are indented further.
        let names = names.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
        let names: Vec<&str> =
            names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").collect();
        if names.is_empty() {
            leaves.push(command.join(" "));
        }
        open.extend(names.iter().map(|name| [command.clone(), vec![(*name).to_owned()]].concat()));
    }
    leaves.sort();
    leaves
}

/// Words of the operating system, of databases and of libraries, which say nothing of what to do.
fn assert_said_in_own_words(command: &str, said: &str) {
    for raw in ["os error", "unable to open", "(code:", "sqlx", "panicked", "RUST_BACKTRACE"] {
        assert!(!said.contains(raw), "{command}: {raw}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_say_what_to_do_first() {
    let inputs = inputs();
    for command in commands().await {
        if SERVING.contains(&command.as_str()) {
            continue;
        }
        let (_, arguments, answer) = COMMANDS
            .iter()
            .find(|(known, ..)| *known == command)
            .unwrap_or_else(|| panic!("say in COMMANDS what `bulkhead {command}` answers on a new machine"));
        let finished = Machine::new().run(&command, arguments, inputs.path()).await;
        let (code, said) = (finished.status.code(), &finished.stderr);
        assert_said_in_own_words(&command, said);
        match answer {
            Done => assert_eq!(code, Some(0), "{command}: {said}"),
            First(named) => {
                assert!(matches!(code, Some(1..=7)), "{command}: {code:?}: {said}");
                assert!(said.contains(named), "{command} does not name {named}: {said}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_is_named_without_numbers() {
    let machine = Machine::new();
    for (command, arguments, _) in COMMANDS.iter().filter(|(_, arguments, _)| arguments.contains("FOLDER")) {
        let finished = machine.run(command, arguments, Path::new("/nowhere")).await;
        let said = &finished.stderr;
        assert!(!finished.succeeded(), "{command}: {}", finished.stdout);
        assert_said_in_own_words(command, said);
        assert!(said.contains("/nowhere/") || said.contains("`bulkhead "), "{command}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_serves_and_stops() {
    let machine = Machine::new();
    // `run` is tried with a component, in the tests of apps.
    machine.launch(&["serve"]).ephemeral().ready().await.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_makes_the_data_folder() {
    let (machine, inputs) = (Machine::new(), inputs());
    let pages = inputs.path().join("pages");
    let base = format!("sqlite:{}", machine.0.path().join("home/a/b/knowledge.sqlite").display());
    for place in ["", &format!(" --base {base}")] {
        let arguments = format!("{} --model FOLDER/toy{place}", pages.display());
        let import = machine.run("kb import", &arguments, inputs.path()).await;
        assert!(import.succeeded(), "{}", import.stderr);
        let info = machine.run("kb info", place.trim(), inputs.path()).await;
        assert!(info.succeeded() && info.stdout.contains("1 document"), "{}{}", info.stdout, info.stderr);
    }
}
