#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_triage::configuration::Settings;

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
fn triage_is_carried_over_and_the_rest_is_told() {
    let imported = import_triage_yml(YAML).unwrap();
    let settings: Settings = toml::from_str(&imported.toml).unwrap();
    assert_eq!(settings.categories.len(), 2);
    assert!(settings.categories[1].auto_publish && settings.preparser.enabled);
    let rule = serde_json::to_value(&settings.action_rules[0]).unwrap();
    assert_eq!(rule["conditions"][0]["value"], 14);
    assert_eq!(settings.actions[1].answer.as_deref(), Some("Bitte: warten"));
    let expected = [
        "line 1: mode is not carried over",
        "line 3: api.api_key is not carried over",
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
fn violations_are_told() {
    let error =
        import_triage_yml(&YAML.replace("no_action_name: Mensch", "no_action_name: Niemand")).unwrap_err();
    assert!(error.text.contains("no_action_name \"Niemand\" names no action"), "{error}");
}
