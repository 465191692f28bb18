//! `bulkhead triage` refuses what would mean nothing, and reads what the old service read.

use super::*;
use bulkhead_tests::child::Launch;

const YAML: &str = "\
triage:
  categories:
    - {name: Sonstiges, auto_publish: off}
    - &asked {name: Fragen, auto_publish: on}
    - {<<: *asked, name: Lob}
  no_category_name: Sonstiges
  actions: [{name: Mensch, description: liest, type: NoAction}]
  no_action_name: Mensch
";

/// Code, standard output, standard error.
async fn triage(arguments: &[&str]) -> (Option<i32>, String, String) {
    let launch = Launch::bulkhead(&[&["triage"], arguments].concat()).env("HOME", "/nowhere");
    let finished = launch.finish().await;
    (finished.status.code(), finished.stdout, finished.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_names_labels_and_shares_are_checked() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("bulkhead.toml"), configured(folder.path(), RULES, "")).unwrap();
    let lines = [("ahoy mate", "harbour"), ("fair wind", "habour")]
        .map(|(text, category)| json!({ "text": text, "category": category }).to_string());
    std::fs::write(path("tickets.jsonl"), lines.join("\n")).unwrap();
    let (config, rules, tickets, head) =
        (path("bulkhead.toml"), path("rules.toml"), path("tickets.jsonl"), path("head.safetensors"));
    let data = folder.path().to_str().unwrap();
    let place = ["--config", &config, "--data-dir", data, "--triage", &rules];
    let train = [&["train"], &place[..]].concat();
    let evaluate = [&["evaluate"], &place[..], &["--head", &head, &tickets]].concat();

    let cases: [(&[&str], &[&str], i32, &str); 8] = [
        (&train, &[&tickets], 1, "\"habour\" in line 2; did you mean \"harbour\""),
        (&evaluate, &[], 1, "\"habour\" in line 2; did you mean \"harbour\""),
        (&train, &["--prompt", "foo"], 1, "the model has no prompt"),
        (&train, &["--name", "../../evil"], 2, "a head's name is"),
        (&train, &["--fail-over-error", "90"], 2, "a share is a number from 0 to 1"),
        (&evaluate, &["--fail-under=nan"], 2, "a share is a number from 0 to 1"),
        (&evaluate, &["--fail-under=-1"], 2, "a share is a number from 0 to 1"),
        (&evaluate, &["--fail-under", "90"], 2, "a share is a number from 0 to 1"),
    ];
    for (command, more, expected, words) in cases {
        let (code, _, stderr) = triage(&[command, more].concat()).await;
        assert_eq!(code, Some(expected), "{more:?}: {stderr}");
        assert!(stderr.contains(words), "{more:?}: {stderr}");
    }
    let allowed = [&evaluate[..], &["--allow-unknown", "--json"]].concat();
    let (code, report, stderr) = triage(&allowed).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["outside"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn redaction_is_measured_by_kind() {
    let launch = Launch::bulkhead(&["tickets", "redact", "--evaluate"]).env("HOME", "/nowhere");
    let finished = launch.finish().await;
    assert!(finished.succeeded(), "{}", finished.stderr);
    for kind in ["address: ", "name: ", "changed without need: "] {
        assert!(finished.stdout.lines().any(|line| line.starts_with(kind)), "{kind}: {}", finished.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn train_writes_only_toml_to_stdout() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("bulkhead.toml"), configured(folder.path(), RULES, "")).unwrap();
    std::fs::write(path("tickets.jsonl"), r#"{"text":"fair wind","category":"harbour"}"#).unwrap();
    let data = folder.path().to_str().unwrap();
    let (config, rules, tickets) = (path("bulkhead.toml"), path("rules.toml"), path("tickets.jsonl"));
    let place = ["train", "--config", &config, "--data-dir", data, "--triage", &rules, &tickets];
    let (code, stdout, stderr) = triage(&place).await;
    assert_eq!(code, Some(0), "{stderr}");
    let head = path("heads/triage.safetensors");
    assert_eq!(stdout, format!("\n[embedding.heads]\n\"triage\" = {head:?}\n"));
    for words in [
        "1 examples of greeting",
        "2 examples of harbour",
        "built-in texts of no category",
        "of held-out examples right",
        "expected calibration error 0.",
    ] {
        assert!(stderr.contains(words), "{stderr}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn miscalibrated_classifier_is_not_written() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("bulkhead.toml"), configured(folder.path(), RULES, "background = false")).unwrap();
    let data = folder.path().to_str().unwrap();
    let (config, rules) = (path("bulkhead.toml"), path("rules.toml"));
    let place = ["train", "--config", &config, "--data-dir", data, "--triage", &rules];
    // Without its only example a category is never predicted, so each held-out example is wrong.
    let (code, stdout, stderr) = triage(&[&place[..], &["--fail-over-error", "0.05"]].concat()).await;
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("the expected calibration error is 1.0000, it must be at most 0.05"), "{stderr}");
    assert!(!stderr.contains("built-in texts"), "{stderr}");
    assert!(!folder.path().join("heads").exists());
    assert_eq!(triage(&place).await.0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn yaml_of_old_service_loads() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, YAML).unwrap();
    let (code, toml, stderr) = triage(&["import", file.to_str().unwrap()]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let rules = bulkhead::services::triage::Rules::parse(&toml).unwrap();
    let publishes = rules.configuration().categories.iter().map(|category| category.auto_publish);
    assert_eq!(publishes.collect::<Vec<_>>(), [false, true, true]);

    std::fs::write(&file, YAML.replace("auto_publish: on", "auto_publish: of").replace("NoAction", "No"))
        .unwrap();
    let (code, _, stderr) = triage(&["import", file.to_str().unwrap()]).await;
    assert_eq!(code, Some(1), "{stderr}");
    for words in ["line 4: categories[1].auto_publish: is \"of\"", "line 7: actions[0].type: is \"No\""] {
        assert!(stderr.contains(words), "{stderr}");
    }
}
