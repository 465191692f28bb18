//! Tests of the conversion of zammad-ai's YAML.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_triage_configuration::Settings;

use super::*;

const YAML: &str = "\
mode: production
api:
  api_key: secret
triage:
  categories:
    - name: Sonstiges
    - name: Fragen
      auto_publish: true
  no_category_name: Sonstiges
  actions:
    - name: Mensch
      description: liest
      type: NoAction
    - name: Warten
      description: ''
      type: StaticAnswer
      answer: 'Bitte: warten'
  no_action_name: Mensch
  action_rules:
    - category_name: Fragen
      action_name: Mensch
      conditions:
        - priority: 1
          field: days_since_request
          operator: less
          value: 14
          action_name: Warten
  prompts:
    type: string
    prompt_map:
      role: du bist
      categories: Fragen sind
preparser:
  enabled: true
  config:
    type: table
    keep_rows: [Anliegen]
";

#[test]
fn triage_is_converted_and_rest_reported() {
    let imported = import_triage_yml(YAML).unwrap();
    let settings: Settings = toml::from_str(&imported.toml).unwrap();
    assert_eq!(settings.categories.len(), 2);
    assert!(settings.categories[1].auto_publish && settings.preparser.enabled);
    let rule = serde_json::to_value(&settings.action_rules[0]).unwrap();
    assert_eq!(rule["conditions"][0]["value"], 14);
    assert_eq!(settings.actions[1].answer.as_deref(), Some("Bitte: warten"));
    let expected = [
        "line 1: mode is not carried over",
        "line 3: api.api_key is not carried over: set tickets.api_key",
        "line 29: triage.prompts is not carried over: give each category a description and examples",
        "category \"Fragen\" has neither description nor examples: it can never be chosen",
    ];
    assert_eq!(imported.notes, expected);
    assert!(!imported.toml.contains("secret"));
}

#[test]
fn processing_ids_of_digits_are_text() {
    let yaml =
        YAML.replace("days_since_request", "processing_id").replace("operator: less", "operator: equals");
    let settings: Settings = toml::from_str(&import_triage_yml(&yaml).unwrap().toml).unwrap();
    let rule = serde_json::to_value(&settings.action_rules[0]).unwrap();
    assert_eq!(rule["conditions"][0]["value"], "14");
}

#[test]
fn violations_are_reported() {
    let error =
        import_triage_yml(&YAML.replace("no_action_name: Mensch", "no_action_name: Niemand")).unwrap_err();
    assert!(error.text.contains("no_action_name \"Niemand\" names no action"), "{error}");
}

/// YAML in the style of PyYAML.
const SHARED: &str = "\
defaults: &defaults
  auto_publish: on
triage:
  categories:
    - name: Sonstiges
      auto_publish: 'no'
    - &asked
      <<: *defaults
      id: 7
      name: Fragen
    - <<: *asked
      name: 42
    - {name: Mehr, auto_publish: \"true\"}
    - {name: Nichts, auto_publish: ~}
  no_category_name: Sonstiges
  actions:
    - &clerk {name: Mensch, description: liest, type: NoAction}
  no_action_name: Mensch
  action_rules:
    - category_name: Fragen
      action_name: Mensch
      conditions: &late
        - {priority: 1, field: days_since_request, operator: greater, value: '1_000', action_name: Mensch}
        - {priority: 2, field: processing_id, operator: equals, value: 007, action_name: Mensch}
    - {category_name: '42', action_name: Mensch, conditions: *late}
";

#[test]
fn anchors_and_old_booleans_are_read() {
    let imported = import_triage_yml(SHARED).unwrap();
    let settings: Settings = toml::from_str(&imported.toml).unwrap();
    let categories: Vec<(&str, bool)> =
        settings.categories.iter().map(|category| (category.name.as_str(), category.auto_publish)).collect();
    assert_eq!(
        categories,
        [("Sonstiges", false), ("Fragen", true), ("42", true), ("Mehr", true), ("Nichts", false)]
    );
    let [first, second] = &settings.action_rules[..] else { panic!("two rules") };
    assert_eq!(first.conditions, second.conditions);
    let conditions = serde_json::to_value(&first.conditions).unwrap();
    assert_eq!((&conditions[0]["value"], &conditions[1]["value"]), (&1000.into(), &"007".into()));
    let expected = [
        "line 2: defaults.auto_publish is not carried over",
        "line 9: categories[1].id is not carried over",
        "line 9: categories[2].id is not carried over",
    ];
    assert_eq!(imported.notes[..3], expected);
}

#[test]
fn all_violations_have_lines() {
    let yaml = YAML
        .replace("auto_publish: true", "auto_publish: maybe")
        .replace("type: NoAction", "type: Nothing")
        .replace("field: days_since_request", "field: days")
        .replace("priority: 1", "priority: first")
        .replace("no_category_name: Sonstiges", "no_category_name: [Sonstiges]")
        .replace("      action_name: Mensch\n", "      action_name: Niemand\n");
    let error = import_triage_yml(&yaml).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    let expected = [
        "invalid triage configuration:",
        "- line 8: categories[1].auto_publish: is \"maybe\", it must be true or false",
        "- line 9: no_category_name: is a list, it must be text",
        "- line 13: actions[0].type: is \"Nothing\", it must be one of AIAnswer, NoAction, StaticAnswer",
        "- line 21: action_rules[0].action_name: the rule for category \"Fragen\" leads to the unknown action \"Niemand\"",
        "- line 23: action_rules[0].conditions[0].priority: is \"first\", it must be a whole number",
        "- line 24: action_rules[0].conditions[0].field: is \"days\", it must be one of days_since_request, processing_id",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn missing_triage_section_is_reported() {
    for yaml in ["", "triage:", "triage: null", "triage: []", "mode: production", "- a", "---\n---\n"] {
        let error = import_triage_yml(yaml).unwrap_err().to_string();
        assert!(
            error.starts_with("no table `triage`") && error.contains("no_category_name"),
            "{yaml}: {error}"
        );
    }
    let error = import_triage_yml("triage: {}").unwrap_err().to_string();
    assert!(error.contains("- categories: is missing, it must be a list"), "{error}");
}
