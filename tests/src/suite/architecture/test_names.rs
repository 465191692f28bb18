//! Names of tests: unit, condition, result, in few words.

use super::{
    source::{Source, is_word, sources},
    words,
};

/// Most words of a name.
const WORDS: usize = 7;

/// The names of a source's tests: those of the functions after a test's attribute.
fn test_names(source: &Source) -> Vec<&str> {
    let (mut names, mut is_test) = (Vec::new(), false);
    for line in source.text.lines().map(str::trim_start) {
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if is_test
            && !line.starts_with(['#', '/'])
            && let Some((_, rest)) = line.split_once("fn ")
        {
            names.push(rest.split(|c| !is_word(c)).next().unwrap());
            is_test = false;
        }
    }
    names
}

#[test]
fn test_names_have_few_words() {
    let (mut long, mut count) = (Vec::new(), 0);
    for source in ["host", "components", "tests"].iter().flat_map(|folder| sources(folder)) {
        let names = test_names(&source);
        count += names.len();
        let is_long = |name: &&str| name.split('_').count() > WORDS;
        long.extend(
            names.into_iter().filter(is_long).map(|name| format!("{}: {name}", source.path.display())),
        );
    }
    assert!(long.is_empty(), "more than {WORDS} words:\n  {}", long.join("\n  "));
    assert!(count > 1000, "{count} tests");
}

#[test]
fn test_names_have_plain_words() {
    let mut wrong = Vec::new();
    for source in ["host", "components", "tests"].iter().flat_map(|folder| sources(folder)) {
        let is_wrong = |name: &&str| !words::found(&name.replace('_', " ")).is_empty();
        let names = test_names(&source).into_iter().filter(is_wrong);
        wrong.extend(names.map(|name| format!("{}: {name}", source.path.display())));
    }
    assert!(wrong.is_empty(), "words.rs lists words of these names:\n  {}", wrong.join("\n  "));
}

#[test]
fn names_of_tests_are_seen() {
    let text = "#[test]\nfn one_is_two() {}\nfn helper() {}\n    #[tokio::test(flavor = \"multi_thread\")]\n    /// A fn here.\n    \
                #[ignore]\n    async fn two() {}\n";
    let source = Source { path: "a.rs".into(), text: text.into() };
    assert_eq!(test_names(&source), ["one_is_two", "two"]);
}
