//! README says what is so.

use super::root;

const BEGIN: &str = "<!-- config reference -->\n";
const END: &str = "<!-- end of config reference -->\n";

#[test]
fn the_table_of_settings_is_the_one_that_the_host_prints() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once(BEGIN).unwrap();
    let (table, _) = rest.split_once(END).unwrap();
    let rows = bulkhead::config::reference()
        .into_iter()
        .map(|key| format!("| `{}` | {} | {} | {} |", key.path, key.default, key.unit, key.doc));
    let head = ["| key | default | unit | meaning |", "| --- | --- | --- | --- |"].map(str::to_owned);
    let printed: Vec<String> = head.into_iter().chain(rows).collect();
    let written: Vec<&str> = table.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(written, printed, "put the output of `bulkhead config reference` between README's markers");
}
