//! Tests of lists whose entries are texts or tables, and of tables of secrets.

use crate::{
    Origin,
    reader::Reader,
    tree::{Node, Table, Value},
};

fn node(value: Value) -> Node {
    Node { origin: Origin::Default, value }
}

fn text(text: &str) -> Node {
    node(Value::String(text.to_owned()))
}

fn table(members: impl IntoIterator<Item = (&'static str, Node)>) -> Node {
    node(Value::Table(members.into_iter().map(|(key, node)| (key.to_owned(), node)).collect()))
}

/// The name of a door, and how many keys it has.
type Door = (Option<String>, usize);

/// Reads the list `doors` of names and keys.
fn doors(value: Node) -> (Option<Vec<Door>>, Vec<String>) {
    let mut reader = Reader::new(Table::from([("doors".to_owned(), value)]));
    let doors = reader.rows_or_texts("doors", "name", |r| {
        let name = r.key("name", "Its name").required().text();
        (name, r.secrets("keys", "Its keys").len())
    });
    (doors, reader.problems.iter().map(ToString::to_string).collect())
}

#[test]
fn text_is_short_for_a_row() {
    let keys = table([("front", text("k-1")), ("back", text("k-2"))]);
    let list = Value::List(vec![text("north"), table([("name", text("south")), ("keys", keys)])]);
    let named = |name: &str, keys| (Some(name.to_owned()), keys);
    assert_eq!(doors(node(list)), (Some(vec![named("north", 0), named("south", 2)]), Vec::new()));
    let line = node(Value::Text("north, south".to_owned()));
    assert_eq!(doors(line), (Some(vec![named("north", 0), named("south", 0)]), Vec::new()));
}

#[test]
fn every_wrong_row_is_reported() {
    let empty = table([("front", text(" "))]);
    let list = Value::List(vec![
        node(Value::Integer(7)),
        table([("nmae", text("south"))]),
        table([("name", text("east")), ("keys", empty)]),
    ]);
    let (_, problems) = doors(node(list));
    let problems = problems.join("\n");
    for part in
        ["doors.0: must be a table", "doors.1.nmae: unknown key", "doors.2.keys.front: must not be empty"]
    {
        assert!(problems.contains(part), "{problems}\nlacks: {part}");
    }
    assert!(!problems.contains("k-1"), "{problems}");
}
