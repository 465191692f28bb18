//! Tests of the YAML parser: aliases, merged tables and rejected texts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

/// Prints a node in one line: scalars as they are, lists in brackets, tables in braces.
fn shown(node: &Node) -> String {
    match &node.value {
        Value::Scalar { text, plain: true } => text.clone(),
        Value::Scalar { text, plain: false } => format!("{text:?}"),
        Value::List(nodes) => format!("[{}]", nodes.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Table(members) => {
            let member = |(name, node): &(String, Node)| format!("{name}: {}", shown(node));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
    }
}

fn read(text: &str) -> String {
    documents(text).unwrap().iter().map(shown).collect::<Vec<_>>().join(" --- ")
}

#[test]
fn aliases_expand_to_their_anchors() {
    assert_eq!(
        read("a: &x {b: [1, '2']}\nc: *x\nd: [*x, *x]"),
        "{a: {b: [1, \"2\"]}, c: {b: [1, \"2\"]}, d: [{b: [1, \"2\"]}, {b: [1, \"2\"]}]}"
    );
    assert_eq!(read("- &x a\n- &x b\n- *x"), "[a, b, b]");
    assert_eq!(read("&k name: 1\nother: *k"), "{name: 1, other: name}");
    assert_eq!(read("a: &k x\n*k : 2"), "{a: x, x: 2}");
    assert_eq!(read("a: 1\n---\nb: 2"), "{a: 1} --- {b: 2}");
    assert_eq!(documents("a: &x\n  b: 1\nc: *x").unwrap()[0].line, 1);
}

#[test]
fn tables_are_merged_as_in_yaml() {
    let base = "base: &base {a: 1, b: 1}\nmore: &more {b: 2, c: 2}\n";
    let last = |text: &str| read(&format!("{base}{text}")).rsplit_once("x: ").unwrap().1.to_owned();
    assert_eq!(last("x: {<<: *base, b: 9}"), "{a: 1, b: 9}}");
    assert_eq!(last("x: {b: 9, <<: *base}"), "{a: 1, b: 9}}");
    assert_eq!(last("x:\n  <<: [*more, *base]\n  d: 3"), "{a: 1, b: 2, c: 2, d: 3}}");
    assert_eq!(last("x: {'<<': 1}"), "{<<: 1}}");
    assert_eq!(last("x: {a: 1, a: 2}"), "{a: 2}}");
}

#[test]
fn rejected_text_names_its_line() {
    let bomb = (1..12).fold("- &a0 [x]\n".to_owned(), |text, step| {
        let alias = format!("*a{}", step - 1);
        format!("{text}- &a{step} [{}]\n", [alias.as_str(); 10].join(", "))
    });
    let chain =
        (1..200).fold("- &a0 [x]\n".to_owned(), |text, step| format!("{text}- &a{step} [*a{}]\n", step - 1));
    for (text, line, words) in [
        ("a:\n  b: &x\n    c: *x", 3, "an alias is inside of its own anchor"),
        ("&x [*x]", 1, "an alias is inside of its own anchor"),
        ("a: *x", 1, "not valid YAML"),
        ("a: b\nc: [1\n", 3, "not valid YAML"),
        ("? [a]\n: b\n", 1, "a name must be plain text"),
        ("a: 1\n<<: 5", 2, "<< merges a table"),
        ("a: 1\n<<: [{b: 1}, 2]", 2, "<< merges a table"),
        (&bomb, 6, "aliases expand to more than 100000 values"),
        (&chain, 63, "is nested too deeply"),
        (&"[".repeat(200), 1, "is nested too deeply"),
    ] {
        let error = documents(text).unwrap_err();
        assert!(error.text.contains(words), "{text}: {error}");
        assert_eq!(error.line, line, "{text}: {error}");
    }
}
