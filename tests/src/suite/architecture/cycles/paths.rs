//! Reads the paths that Rust code names: those of `use` declarations, and those written in place.

/// One name that a `use` declaration brings in.
#[derive(Debug, PartialEq)]
pub struct Import {
    /// The name that it has from then on; a glob import has none.
    pub name: Option<String>,
    /// Segments of its path; the first is empty where the path begins with `::`.
    pub path: Vec<String>,
}

/// Splits code without comments and text into words, `::` and single characters.
pub fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a token is a word, and not a number.
pub fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Reads the path that begins with the first token: its segments, and how many tokens it takes.
pub fn path(tokens: &[&str]) -> (Vec<String>, usize) {
    let mut segments = vec![tokens[0].to_owned()];
    let mut length = 1;
    while let [separator, name, ..] = tokens[length..]
        && separator == "::"
        && is_name(name)
    {
        segments.push(name.to_owned());
        length += 2;
    }
    (segments, length)
}

/// Reads the tree of a `use` declaration, given what follows `use`: its imports, and how many tokens it takes.
pub fn imports(tokens: &[&str]) -> (Vec<Import>, usize) {
    let mut found = Vec::new();
    let length = branch(tokens, &[], &mut found);
    (found, length)
}

/// Reads one branch of a `use` tree below `prefix`, and returns how many tokens it takes.
fn branch(tokens: &[&str], prefix: &[String], found: &mut Vec<Import>) -> usize {
    let mut path = prefix.to_vec();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match *token {
            "::" if path.is_empty() => path.push(String::new()),
            "::" => {}
            "*" => {
                found.push(Import { name: None, path });
                return at;
            }
            "{" => {
                while tokens[at] != "}" {
                    at += if tokens[at] == "," { 1 } else { branch(&tokens[at..], &path, found) };
                }
                return at + 1;
            }
            name => {
                // `self` at the end of a group is the group's own module.
                if name != "self" || path.is_empty() {
                    path.push(name.to_owned());
                }
                match tokens.get(at) {
                    Some(&"::") => {}
                    Some(&"as") => {
                        found.push(Import { name: Some(tokens[at + 1].to_owned()), path });
                        return at + 2;
                    }
                    _ => {
                        found.push(Import { name: path.last().cloned(), path });
                        return at;
                    }
                }
            }
        }
    }
    at
}

#[test]
fn use_tree_yields_every_name() {
    let code = "a::{self, b::C as D, e::{F, *}}, ::g::H; i";
    let tokens = tokens(code);
    let (mut found, length) = imports(&tokens);
    assert_eq!(tokens[length], ",");
    found.extend(imports(&tokens[length + 1..]).0);
    let found: Vec<_> =
        found.iter().map(|import| (import.name.as_deref().unwrap_or("*"), import.path.join("::"))).collect();
    let expected = [("a", "a"), ("D", "a::b::C"), ("F", "a::e::F"), ("*", "a::e"), ("H", "::g::H")]
        .map(|(n, p)| (n, p.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn path_ends_before_generics() {
    assert_eq!(path(&tokens("a::b::<C>::d")), (vec!["a".to_owned(), "b".to_owned()], 3));
}
